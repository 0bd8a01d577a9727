"""Examples of networks, fused in every way: one result, bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnarl.sw.compiler.sam.fuse.choices import FUSIONS
from gnarl.sw.runtime.run.device import Device

EXAMPLES = Path(__file__).parents[4] / "examples"


@pytest.mark.parametrize(
    ("example", "least"),
    [
        ("gcn.py:karate", 1),
        ("graphsage.py:karate", 1),
        ("pyg_gcn.py:karate", 1),
        ("pyg_gcn.py:karate_edges", 1),
        ("pyg_gcn.py:karate_sage", 1),
        ("autoencoder.py:small", 1),
        # Heads are reshaped between launches: the end of a decoder and the beginning of the next
        # one share a graph.
        ("decoder.py:small", 5),
    ],
)
def test_fused_as_unfused(example: str, least: int) -> None:
    """``least``: launches of the model in full."""
    found = {}
    with Device("sam_fp32", "model") as device:
        workload = device.workload(f"{EXAMPLES / example}")
        for fuse in FUSIONS:
            program = device.compile(workload, fuse=fuse)
            result = device.run(program, workload.inputs)
            assert device.verify(result).bit_exact
            (found[fuse],) = (np.asarray(each) for each in result.outputs.values())
            launches = len(program.launches)
    assert launches == least  # the last one's, in full
    for fuse in FUSIONS:
        np.testing.assert_array_equal(found[fuse].view(np.uint32), found["none"].view(np.uint32))

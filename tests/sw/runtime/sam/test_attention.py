"""The example of attention with a mask: on the model, fused and not, against PyTorch."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

from gnarl.sw.runtime.run.device import Device

EXAMPLE = Path(__file__).parents[4] / "examples" / "attention.py"
BY_HAND = 44_743
"""Cycles of the graph that ``bench/fuseflow_parts/attention_head.py`` builds by hand."""


def test_bigbird() -> None:
    module, inputs = runpy.run_path(str(EXAMPLE))["bigbird"]()
    with torch.no_grad():
        expected = module(*inputs).numpy()
    arrays = [each.numpy() for each in inputs]
    results = {}
    with Device("sam_fp32", "model") as device:
        for fuse in ("none", "layer", "full"):
            program = device.compile((module, inputs), fuse=fuse)
            run = device.run(program, dict(zip(("query", "key", "value"), arrays, strict=True)))
            assert device.verify(run).difference == ""
            results[fuse] = run.outputs["result"], run.cycles
    for found, _ in results.values():
        np.testing.assert_array_equal(found.view(np.uint32), results["none"][0].view(np.uint32))
        np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)
    assert results["full"][1] < 1.001 * BY_HAND < results["none"][1] / 2


@pytest.mark.parametrize("is_safe", [False, True])
def test_rows_without_entries(is_safe: bool) -> None:
    """Another mask than that of the compilation has some."""

    class Masked(torch.nn.Module):
        def forward(self, x, mask):
            weights = (x @ x.T).masked_fill(~mask, -torch.inf).softmax(-1)
            return (torch.nan_to_num(weights) if is_safe else weights) @ x

    noise = torch.Generator().manual_seed(0)
    x, mask = torch.randn(5, 3, generator=noise), torch.ones(5, 5, dtype=torch.bool)
    other = torch.rand(5, 5, generator=noise) < 0.4
    other[2] = False
    with Device("sam_fp32", "model") as device:
        for fuse in ("none", "full"):
            program = device.compile((Masked(), (x, mask)), fuse=fuse)
            run = device.run(program, {"x": x.numpy(), "mask": other.numpy()})
            assert device.verify(run).difference == ""
            found, expected = run.outputs["result"], Masked()(x, other).numpy()
            assert np.isnan(found).any() != is_safe
            np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)

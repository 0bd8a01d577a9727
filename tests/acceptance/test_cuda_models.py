"""The paper's models, whole: fused, emulated and compared with the golden model bit for bit."""

from __future__ import annotations

import json

import pytest

from tests.support.commands import gnarl
from tests.support.parameters import slow_but
from tests.support.workloads import workload_file

FEATURES = {"A": 1000, "B": 1200, "C": 800, "D": 1000, "E": 1000}
"""RecFlex, table I."""


@pytest.mark.parametrize("name", slow_but(["A"], FEATURES))
def test_a_model_of_the_paper(name: str) -> None:
    folder = workload_file(f"recflex/{name}/table_config.txt").parent
    batch = 64 if name == "A" else 16
    result = gnarl(
        "run", "cuda_sm90", folder, "--backend", "emulation", "--batch", str(batch), "--json"
    )
    report = json.loads(result.stdout)
    assert (result.exit_code, report["bit_exact"]) == (0, True)
    assert report["statistics"]["features"] == FEATURES[name]
    assert len(report["outputs"]) == FEATURES[name]

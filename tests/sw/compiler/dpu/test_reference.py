"""The paper's workloads on its large design: bit-exact on the RTL, in two thirds of its cycles."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.dpu_parts.table import REFERENCE_CYCLES
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.dag.load import load
from tests.support.workloads import workload_file

LARGEST = "dag/tretail.psdd"


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with Device("dpu_d3_b64") as found:
        yield found


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.slow) if path == LARGEST else path
        for path in REFERENCE_CYCLES
    ],
)
def test_workload_of_the_paper(device: Device, path: str):
    workload = load(workload_file(path))
    program = device.compile(workload)
    result = device.run(program, workload.inputs)
    verification = device.verify(result)
    assert verification.bit_exact
    assert verification.max_rel_error < 1e-3
    assert 3 * result.cycles <= 2 * REFERENCE_CYCLES[path]
    on_model = Device("dpu_d3_b64", "model").run(program, workload.inputs)
    assert on_model.cycles == result.cycles
    assert on_model.outputs["outputs"].tobytes() == result.outputs["outputs"].tobytes()

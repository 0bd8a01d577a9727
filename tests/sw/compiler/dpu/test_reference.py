"""The paper's workloads on its large design: bit-exact, in two thirds of its cycles."""

from __future__ import annotations

import pytest

from bench.dpu_parts.table import REFERENCE_CYCLES
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.workloads.dag.load import load
from tests.support.parameters import slow_but
from tests.support.workloads import workload_file

LARGEST = "dag/tretail.psdd"
DESIGN = load_configuration("dpu_d3_b64")
ONE_TREE = load_configuration("dpu_d3_b64", ["banks=8"])
"""One of the design's eight trees, whose simulator is built in a sixth of the time."""


def run_on_the_rtl(hardware: NamedConfiguration, path: str) -> None:
    """Runs a workload, which must do what the golden model and the interpreter do."""
    workload = load(workload_file(path))
    with Device(hardware) as device:
        program = device.compile(workload)
        result = device.run(program, workload.inputs)
        verification = device.verify(result)
    assert verification.bit_exact
    on_model = Device(hardware, "model").run(program, workload.inputs)
    assert on_model.cycles == result.cycles
    assert on_model.outputs["outputs"].tobytes() == result.outputs["outputs"].tobytes()


@pytest.mark.parametrize("path", slow_but({*REFERENCE_CYCLES} - {LARGEST}, REFERENCE_CYCLES))
def test_workload_of_the_paper(path: str):
    device, workload = Device(DESIGN, "model"), load(workload_file(path))
    result = device.run(device.compile(workload), workload.inputs)
    verification = device.verify(result)
    assert verification.bit_exact
    assert verification.max_rel_error < 1e-3
    assert 3 * result.cycles <= 2 * REFERENCE_CYCLES[path]


@pytest.mark.parametrize("path", ["dag/mnist.psdd", "dag/HB_bp_200_L.mtx"])
def test_one_tree_of_the_design_runs_as_its_model_says(path: str):
    run_on_the_rtl(ONE_TREE, path)


@pytest.mark.slow
@pytest.mark.parametrize("path", REFERENCE_CYCLES)
def test_the_design_runs_as_its_model_says(path: str):
    run_on_the_rtl(DESIGN, path)

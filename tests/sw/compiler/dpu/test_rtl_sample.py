"""A sample of compiled programs on the RTL, against the model in every word and cycle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.dag.dag import Dag
from tests.support.dpu.dags import SHAPES, input_values, seeded_dag, shape
from tests.sw.compiler.dpu.passes import named, workload

CONFIG = DpuConfig(
    depth=2,
    banks=8,
    registers=8,
    format="float16",
    pe_stages=2,
    instruction_words=1024,
    data_rows=128,
)
"""Two layers of slow PEs, whose results come late and at different times; and registers so few that
values are spilled."""


WITH_ALL_REGISTERS = replace(CONFIG, pe_stages=3, fetch_stages=6, write_stages=1, fault_stages=1)
"""Every register that a configuration can have, each of which moves cycles."""


@pytest.fixture(scope="module", params=[CONFIG, WITH_ALL_REGISTERS], ids=["slow", "all_registers"])
def rtl(request: pytest.FixtureRequest) -> Iterator[Device]:
    with Device(named(request.param), "rtl") as device:
        yield device


def require_same(rtl: Device, dag: Dag) -> None:
    """Compiles a DAG, and runs it with three sets of values on RTL and model."""
    program = rtl.compile(workload(dag))
    model = Device(named(DpuConfig.from_dict(program.config)), "model")
    for seed in range(3):
        inputs = input_values(dag, seed)
        found, expected = rtl.run(program, inputs), model.run(program, inputs)
        assert found.outputs["outputs"].tobytes() == expected.outputs["outputs"].tobytes()
        assert found.cycles == expected.cycles
        assert found.counters == expected.counters
        assert rtl.verify(found).difference == ""


@pytest.mark.parametrize("seed", range(8))
def test_random_dags(rtl: Device, seed: int):
    require_same(rtl, seeded_dag(int(np.random.default_rng(seed).integers(1, 200)), seed))


@pytest.mark.parametrize("name", SHAPES)
def test_odd_shapes(rtl: Device, name: str):
    require_same(rtl, shape(name))


def test_spills(rtl: Device):
    dag = seeded_dag(250, seed=1)
    assert rtl.compile(workload(dag)).statistics["spills"] > 0
    require_same(rtl, dag)

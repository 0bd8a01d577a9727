"""A sample of compiled programs on the RTL, against the model in every word and cycle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from hw.dpu.config import DpuConfig
from sw.compiler.dpu.compile import compile  # noqa: A004
from sw.runtime.device import Device
from sw.workloads.dag.dag import Dag
from tests.support.dags import SHAPES, input_values, seeded_dag, shape
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


@pytest.fixture(scope="module")
def rtl() -> Iterator[Device]:
    with Device(named(CONFIG), "rtl") as device:
        yield device


def require_same(rtl: Device, dag: Dag) -> None:
    """Compiles a DAG, and runs it with three sets of values on RTL and model."""
    program = compile(workload(dag), CONFIG)
    model = Device(named(CONFIG), "model")
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
    assert compile(workload(dag), CONFIG).statistics["spills"] > 0
    require_same(rtl, dag)

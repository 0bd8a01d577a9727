"""Orders of nodes: the same results, with fewer values at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import disassemble
from gnarl.sw.compiler.sram_compute.lower.schedule import SCHEDULES
from gnarl.sw.compiler.sram_compute.tdfg.graph import operands
from gnarl.sw.compiler.sram_compute.tdfg.interpret import run_graph
from gnarl.sw.compiler.sram_compute.tdfg.plan import plan, regions
from gnarl.sw.workloads.loops.python.source import read_file
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.sram_compute.lowered_nests import lowered

EXAMPLES = Path(__file__).parents[5] / "examples"


def matrix(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((rows, columns), np.float32)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_keep_the_results(schedule):
    (region,) = regions(plan(read_file(EXAMPLES / "conv2d.py")))
    found = []
    scalars = {name: np.float32(0.3) for name in ("corner", "edge", "middle")}
    for graph in (region.graph, schedule(region.graph)):
        for number, node in enumerate(graph.nodes):
            assert all(each < number for each in operands(node))
        arrays = {"a": matrix(6, 7), "b": np.zeros((6, 7), np.float32)}
        run_graph(graph, arrays, {"rows": 6, "columns": 7}, scalars)
        found.append(arrays["b"].tobytes())
    assert found[0] == found[1]


def test_nothing_is_loaded_twice_where_rows_suffice_in_some_order():
    pytest.importorskip("egglog")
    nest = read_file(EXAMPLES / "conv2d.py")
    scalars = {name: np.float32(0.3) for name in ("corner", "edge", "middle")}
    workload = LoopWorkload("conv2d", nest, {"a": matrix(64, 128), **scalars})
    (launch,) = lowered(workload, SramConfig()).launches
    opcodes = [each.opcode for _, each in disassemble(launch.sections["commands"])]
    assert (opcodes.count(Opcode.LOAD), opcodes.count(Opcode.STORE)) == (1, 1)

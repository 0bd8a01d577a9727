"""All passes in a row, configurations for hypothesis, and small DAGs for the compiler's tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from gnarl.hw.dpu.config import OUTPUT_INTERCONNECTS, DpuConfig
from gnarl.sw.compiler.dpu.binarise import BinaryDag, binarise
from gnarl.sw.compiler.dpu.encode import instructions
from gnarl.sw.compiler.dpu.memory import MemoryLayout, memory_layout
from gnarl.sw.compiler.dpu.schedule import Policy, Schedule, schedule
from gnarl.sw.runtime.target.configuration import NamedConfiguration
from gnarl.sw.runtime.target.registry import TARGETS
from gnarl.sw.workloads.dag.builder import DagBuilder
from gnarl.sw.workloads.dag.dag import Dag
from gnarl.sw.workloads.dag.workload import DagWorkload
from tests.support.dpu.dags import input_values

SMALL = DpuConfig(depth=2, banks=8, registers=8, data_rows=512)

FORMATS = ("float32", "float16", "bfloat16", "float8_e5m2", "float8_e4m3", "fixed16.8")


@dataclass(frozen=True)
class Passes:
    """What each pass made of a DAG."""

    config: DpuConfig
    binary: BinaryDag
    schedule: Schedule
    layout: MemoryLayout
    opcode: np.ndarray
    columns: dict[str, np.ndarray]


def run_passes(dag: Dag, config: DpuConfig, window: int = 0) -> Passes:
    """One attempt of ``compile``, with everything in between."""
    binary = binarise(dag, config)
    result = schedule(binary, config, Policy(window=window))
    layout = memory_layout(result, binary, config)
    return Passes(config, binary, result, layout, *instructions(result, layout, config))


def built(build: Callable[[DagBuilder], object], reassociate: bool = True) -> Dag:
    """The DAG that ``build`` adds to a builder."""
    builder = DagBuilder()
    build(builder)
    return builder.build(reassociate)[0]


def binary_dag(
    leaves: int,
    operations: Sequence[tuple[int, int, int]],
    outputs: list[int],
    group: list[int] | None = None,
) -> BinaryDag:
    """A binary DAG from ``(op, left, right)``; without ``group``, each operation is its own."""
    op, left, right = (np.array(part) for part in zip(*operations, strict=True))
    groups = list(range(len(op))) if group is None else group
    return BinaryDag(
        leaves,
        op.astype(np.uint8),
        left.astype(np.int32),
        right.astype(np.int32),
        np.array(groups, np.int32),
        np.arange(leaves + len(op), dtype=np.int32),
        np.array(outputs, np.int32),
    )


def workload(dag: Dag, seed: int = 1) -> DagWorkload:
    """``dag`` with random input values."""
    return DagWorkload("random", dag, input_values(dag, seed))


def named(config: DpuConfig, name: str = "dpu_test") -> NamedConfiguration:
    """``config`` as devices take it."""
    return NamedConfiguration(name, "", TARGETS["dpu"], config, {})


@st.composite
def configs(draw: st.DrawFn, formats: tuple[str, ...] = ("float32",)) -> DpuConfig:
    """Every kind of machine, small ones mostly; memories that the random DAGs fit in."""
    depth = draw(st.integers(1, 4))
    least = max(8 >> depth, 1)
    trees = draw(st.integers(least, 4 * least) | st.sampled_from([64 >> depth]))
    return DpuConfig(
        depth=depth,
        banks=trees << depth,
        registers=draw(st.sampled_from([8, 8, 9, 13, 32, 256])),
        format=draw(st.sampled_from(formats)),
        output_interconnect=draw(st.sampled_from(OUTPUT_INTERCONNECTS)),
        pe_stages=draw(st.sampled_from([1, 3, 10])),
        fetch_stages=draw(st.sampled_from([3, 6])),
        write_stages=draw(st.integers(0, 1)),
        fault_stages=draw(st.integers(0, 1)),
        instruction_words=1 << 15,
        data_rows=1 << 14,
        overlap=draw(st.booleans()),
    )

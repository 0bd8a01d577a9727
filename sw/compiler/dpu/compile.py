"""From a workload to a program: all passes, under several policies, and the best result."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING

import numpy as np

from hw.dpu.assembly import assemble
from hw.dpu.config import DpuConfig
from hw.dpu.isa import Opcode, instruction_word_bits
from hw.lib.errors import CapacityError
from sw.compiler.dpu.binarise import BinaryDag, binarise
from sw.compiler.dpu.bounds import lower_bounds
from sw.compiler.dpu.dag import Dag, Op
from sw.compiler.dpu.encode import instructions
from sw.compiler.dpu.memory import MemoryLayout, memory_layout
from sw.compiler.dpu.schedule import Policy, Schedule, schedule
from sw.runtime import dpu_sections  # as a module: it imports this package
from sw.runtime.program import Program

if TYPE_CHECKING:  # frontends import the compiler's input format
    from sw.compiler.frontend.dag_workload import DagWorkload

SEARCHED_OPERATIONS = 2_000_000
"""Operations scheduled, over all policies that are tried."""


def policies(dag: Dag, config: DpuConfig, seed: int) -> list[Policy]:
    """The policies to try, most promising first: fewer for larger DAGs, two at least."""
    registers = config.banks * config.registers
    windows = [registers, 0, 4 * registers, registers // 4]
    grid = [
        Policy(window=window, eager=eager, hurry=hurry, attempts=attempts)
        for attempts in (24, 64)
        for eager in (True, False)
        for hurry in (1.0, np.inf)
        for window in windows
    ]
    return grid[: max(2, SEARCHED_OPERATIONS // max(dag.operations, 1))]


def compile(  # noqa: A001
    workload: DagWorkload,
    config: DpuConfig,
    *,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Program:
    """A program for ``config`` that computes the workload's outputs from any values of its inputs.

    Deterministic for a given ``seed``. ``progress`` is called with the share done, 0 to 1.
    Raises ``CapacityError`` naming what the configuration has too little of.
    """
    dag = workload.dag
    tries = policies(dag, config, seed)
    best: tuple[int, int] | None = None
    chosen: tuple[BinaryDag, Schedule, MemoryLayout] | None = None
    failure: CapacityError | None = None

    def attempt(number: int) -> tuple[BinaryDag, Schedule, MemoryLayout]:
        policy = tries[number]
        binary = binarise(dag, config, hurry=policy.hurry)
        result = schedule(binary, config, policy)
        return binary, result, memory_layout(result, binary, config)

    with ThreadPoolExecutor(2) as pool:
        running = {pool.submit(attempt, number): number for number in range(len(tries))}
        for done, future in enumerate(as_completed(running)):
            try:
                found = future.result()
                rank = (found[1].length, running[future])
                if best is None or rank < best:
                    best, chosen = rank, found
            except CapacityError as error:
                failure = failure or error
            if progress:
                progress((done + 1) / len(tries))
    if chosen is None:
        raise failure or CapacityError("no policy was tried")
    return _program(workload, config, *chosen)


def _program(
    workload: DagWorkload,
    config: DpuConfig,
    binary: BinaryDag,
    result: Schedule,
    layout: MemoryLayout,
) -> Program:
    dag = workload.dag
    opcode, columns = instructions(result, layout, config)
    stream = assemble(config, opcode, columns)
    memory_bytes = config.instruction_words * instruction_word_bits(config) // 8
    if len(stream) > memory_bytes:
        needed = -(-len(stream) * 8 // instruction_word_bits(config))
        raise CapacityError(
            f"instruction_words = {config.instruction_words}: this DAG needs at least {needed}"
        )
    count = np.bincount(opcode, minlength=len(Opcode))
    executing = count[[Opcode.EXEC, Opcode.EXEC_LOAD, Opcode.EXEC_STORE]].sum()
    used_inputs = len(np.unique(layout.word_value))
    statistics = {
        "operations": binary.operations,
        "instructions": len(opcode),
        "instruction_bytes": len(stream),
        "memory_rows": layout.rows,
        "blocks": executing,
        "copies": result.copies,
        "loads": count[[Opcode.LOAD, Opcode.EXEC_LOAD]].sum(),
        "stores": count[[Opcode.STORE, Opcode.EXEC_STORE]].sum(),
        "nops": count[Opcode.NOP],
        "spills": result.spills,
        "lanes": result.cycles.used[: result.length].sum(),
        **lower_bounds(dag, config, used_inputs),
    }
    return Program(
        target=config.target,
        config=config.to_dict(),
        digest=config.digest,
        format=config.format,
        workload=workload.name,
        input_names=workload.input_names,
        output_names=workload.output_names,
        statistics={name: int(value) for name, value in statistics.items()},
        sections={
            "instructions": stream,
            "word_row": layout.word_row,
            "word_bank": layout.word_bank,
            "word_value": layout.word_value,
            "constants": dag.constants[dag.op == Op.CONST],
            "output_row": layout.output_row,
            "output_bank": layout.output_bank,
            "tree_op": binary.op,
            "tree_left": binary.left,
            "tree_right": binary.right,
            "output_value": binary.outputs,
            **dpu_sections.dag_sections(dag),
        },
    )

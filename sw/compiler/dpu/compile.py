"""Compiles a workload to a program: all passes, under several policies, and the best result."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace

import numpy as np

from gnarl.hw.dpu.assembly import assemble
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import Opcode, instruction_memory_bytes, instruction_word_bits
from gnarl.hw.dpu.listing import listing
from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.lib.formats import holds, range_of
from gnarl.sw.compiler.dpu import dumps, sections
from gnarl.sw.compiler.dpu.binarise import BinaryDag, binarise
from gnarl.sw.compiler.dpu.bounds import lower_bounds
from gnarl.sw.compiler.dpu.check import (
    EXECUTING,
    LOADING,
    STORING,
    check_binary,
    check_instructions,
)
from gnarl.sw.compiler.dpu.encode import instructions
from gnarl.sw.compiler.dpu.memory import MemoryLayout, memory_layout
from gnarl.sw.compiler.dpu.schedule import Policy, Schedule, TooLongError, schedule
from gnarl.sw.compiler.dpu.simplify import simplify
from gnarl.sw.compiler.passes import Pass, Trace, text_of
from gnarl.sw.program.program import Program
from gnarl.sw.workloads.dag.builder import check as check_dag
from gnarl.sw.workloads.dag.dag import Dag, Op
from gnarl.sw.workloads.dag.workload import DagWorkload
from gnarl.sw.workloads.refusals import refuse_first

PASSES = (
    Pass("simplify", "merges equal operations, flattens sums and products, drops what is unused"),
    Pass("binarise", "two operands an operation, combined in groups that fit a tree of PEs"),
    Pass("schedule", "cycle by cycle: groups to trees, values to banks, copies, spills"),
    Pass("memory", "rows of the data memory for inputs, spilled values and outputs"),
    Pass("encode", "registers, and the instructions' bytes"),
)

SEARCHED_OPERATIONS = 400_000
"""Operations scheduled, over all policies that are tried."""

MOST_TRIES = 16


def policies(operations: int, config: DpuConfig) -> list[Policy]:
    """The policies to try for a DAG of so many operations, two at least."""
    registers = config.banks * config.registers
    grid = [
        Policy(window=registers, attempts=256, split_threshold=0.0),
        Policy(window=0, attempts=256),
        Policy(window=registers // 4, attempts=64, split_threshold=0.0),
        Policy(window=0, attempts=512, split_threshold=np.inf),
        Policy(window=4 * registers, attempts=256, split_threshold=0.0),
        Policy(window=4 * registers, attempts=256, split_threshold=0.0, eager=0.0),
        Policy(window=registers, attempts=64, split_threshold=np.inf),
        Policy(window=0, attempts=256, split_threshold=0.0),
    ]
    return grid[: max(2, SEARCHED_OPERATIONS // max(operations, 1))]


def compile(  # noqa: A001
    workload: DagWorkload,
    config: DpuConfig,
    *,
    seed: int = 0,
    trace: Trace | None = None,
    reassociate: bool = True,
) -> Program:
    """A program for ``config`` that computes the workload's outputs from any values of its inputs.

    Deterministic for a given ``seed``. ``reassociate`` false forbids what the DAG may allow.
    ``trace`` gets the results of ``PASSES``, from binarisation on those of the shortest schedule.
    Raises ``CapacityError`` naming what the configuration has too little of, and ``WorkloadError``
    naming the first constant that its format does not hold.
    """
    trace = trace or Trace()
    refuse_first(
        ~holds(config.format, workload.dag.constants),
        lambda node: (
            f"{workload.place(node)}: constant = {workload.dag.constants[node]}: "
            f"{range_of(config.format)}"
        ),
    )
    if not reassociate:
        workload = replace(workload, dag=replace(workload.dag, reassociate=False))
    dag = simplify(workload.dag)
    trace.after("simplify", lambda: dumps.dag_texts(dag), lambda: check_dag(dag))
    return compile_simplified(workload, dag, config, seed=seed, trace=trace)


def compile_simplified(
    workload: DagWorkload, dag: Dag, config: DpuConfig, *, seed: int = 0, trace: Trace
) -> Program:
    """The passes after ``simplify``, whose result is ``dag``; or the workload's own, as it is."""
    search = _Search(dag, config, trace.progress)
    grid = policies(dag.operations, config)
    total = min(max(len(grid), SEARCHED_OPERATIONS // max(dag.operations, 1)), MOST_TRIES)
    search.run(grid, total)
    if search.best is None:
        raise search.failures[min(search.failures)]
    winner = grid[search.best[1]]
    variants = range(seed * MOST_TRIES + 1, seed * MOST_TRIES + 1 + total - len(grid))
    search.run([replace(winner, jitter=jitter) for jitter in variants], total)
    return _program(workload, dag, config, search.binary, search.schedule, search.layout, trace)


class _Search:
    """The shortest of several schedules; of equally short ones, the first in order."""

    binary: BinaryDag
    schedule: Schedule
    layout: MemoryLayout

    def __init__(self, dag: Dag, config: DpuConfig, progress: Callable[[float], None]) -> None:
        self.dag, self.config, self.progress = dag, config, progress
        self.limit = np.array([np.iinfo(np.int64).max])
        self.best: tuple[int, int] | None = None
        self.failures: dict[int, CapacityError] = {}
        self.started = 0
        self.finished = 0

    def attempt(self, policy: Policy) -> tuple[BinaryDag, Schedule, MemoryLayout]:
        """All passes under one policy."""
        binary = binarise(self.dag, self.config, split_threshold=policy.split_threshold)
        result = schedule(binary, self.config, policy, self.limit)
        layout = memory_layout(result, binary, self.config)
        self.limit[0] = min(self.limit[0], result.length)
        return binary, result, layout

    def run(self, tries: list[Policy], total: int) -> None:
        """Tries policies on two cores; what is longer than the best so far ends early."""
        pool = ThreadPoolExecutor(2)
        running = {
            pool.submit(self.attempt, policy): self.started + number
            for number, policy in enumerate(tries)
        }
        try:
            for future in as_completed(running):
                self._take(running[future], future)
                self.finished += 1
                self.progress(self.finished / total)
        except BaseException:
            # Interrupted: attempts end at their next cycle instead of at their end.
            self.limit[0] = -1
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        self.started += len(tries)

    def _take(self, number: int, future: Future[tuple[BinaryDag, Schedule, MemoryLayout]]) -> None:
        """Keeps the result of attempt ``number`` if it is the best so far."""
        try:
            attempt = future.result()
        except TooLongError:
            return
        except CapacityError as error:
            self.failures[number] = error
            return
        rank = (attempt[1].length, number)
        if self.best is None or rank < self.best:
            self.best = rank
            self.binary, self.schedule, self.layout = attempt


def _program(
    workload: DagWorkload,
    simple: Dag,
    config: DpuConfig,
    binary: BinaryDag,
    result: Schedule,
    layout: MemoryLayout,
    trace: Trace,
) -> Program:
    dag = workload.dag
    trace.after(
        "binarise", lambda: dumps.binary_texts(binary), lambda: check_binary(binary, config)
    )
    trace.after("schedule", lambda: dumps.schedule_texts(result))
    trace.after("memory", lambda: dumps.memory_texts(layout))
    opcode, columns = instructions(result, layout, config)
    stream = assemble(config, opcode, columns)
    trace.after(
        "encode",
        lambda: {"txt": text_of(listing(config, stream))},
        lambda: check_instructions(opcode, columns, layout, binary, config),
    )
    if len(stream) > instruction_memory_bytes(config):
        needed = -(-len(stream) * 8 // instruction_word_bits(config))
        raise CapacityError(
            f"instruction_words = {config.instruction_words}: this DAG needs at least {needed}"
        )
    count = np.bincount(opcode, minlength=len(Opcode))
    used_inputs = len(np.unique(layout.word_value))
    statistics = {
        "operations": binary.operations,
        "source_operations": dag.operations,
        "instructions": len(opcode),
        "instruction_bytes": len(stream),
        "memory_rows": layout.rows,
        "blocks": count[[*EXECUTING]].sum(),
        "copies": result.copies,
        "loads": count[[*LOADING]].sum(),
        "stores": count[[*STORING]].sum(),
        "nops": count[Opcode.NOP],
        "spills": result.spills,
        "lanes": result.cycles.used[: result.length].sum(),
        **lower_bounds(simple, config, used_inputs),
    }
    inputs, outputs = sections.tensors(workload, config.format)
    return Program.of_one_launch(
        config,
        workload.name,
        (inputs,),
        (outputs,),
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
            **sections.dag_sections(dag),
        },
        schema=sections.DPU_SCHEMA,
    )

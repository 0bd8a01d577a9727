"""Compiles a workload to a program: all passes, under several policies, and the best result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import Opcode
from gnarl.hw.dpu.listing import listing
from gnarl.hw.lib.formats import holds, range_of
from gnarl.sw.compiler.dpu import dumps, sections
from gnarl.sw.compiler.dpu.bounds import lower_bounds
from gnarl.sw.compiler.dpu.check import EXECUTING, LOADING, STORING, check_instructions
from gnarl.sw.compiler.dpu.encode import encoded
from gnarl.sw.compiler.dpu.room import require_room
from gnarl.sw.compiler.dpu.search import SEARCH, DpuOptions, DpuState
from gnarl.sw.compiler.dpu.simplify import simplify
from gnarl.sw.compiler.passes import AnyPass, Pass, Trace, made, run_passes, taken_by, text_of
from gnarl.sw.program.program import Program
from gnarl.sw.workloads.dag.builder import check as check_dag
from gnarl.sw.workloads.dag.dag import Op
from gnarl.sw.workloads.dag.workload import DagWorkload
from gnarl.sw.workloads.refusals import refuse_first

DpuPass = AnyPass[DpuState, DpuOptions]


def _encode(state: DpuState, options: DpuOptions) -> DpuState:
    result = encoded(made(state.schedule), made(state.layout), options.config)
    return replace(state, encoded=result)


def _check_encoded(state: DpuState, options: DpuOptions) -> None:
    opcode, columns, _ = made(state.encoded)
    check_instructions(opcode, columns, made(state.layout), made(state.binary), options.config)


PASSES: tuple[DpuPass, ...] = (
    Pass(
        "simplify",
        "merges equal operations, flattens sums and products, drops what is unused",
        lambda state, options: dumps.dag_texts(state.dag),
        run=lambda state, options: replace(state, dag=simplify(state.dag)),
        check=lambda state, options: check_dag(state.dag),
        optional=True,
    ),
    SEARCH,
    Pass(
        "encode",
        "registers, and the instructions' bytes",
        lambda state, options: {
            "txt": text_of(listing(options.config, made(state.encoded).stream))
        },
        run=_encode,
        check=_check_encoded,
    ),
)


def compile(  # noqa: A001
    workload: DagWorkload,
    config: DpuConfig,
    *,
    seed: int = 0,
    trace: Trace | None = None,
    reassociate: bool = True,
    passes: Sequence[DpuPass] = PASSES,
) -> Program:
    """A program for ``config`` that computes the workload's outputs from any values of its inputs.

    Deterministic for a given ``seed``. ``reassociate`` false forbids what the DAG may allow.
    ``trace`` gets the results of ``passes``, from binarisation on those of the shortest schedule.
    Raises ``CapacityError`` naming what the configuration has too little of, and ``WorkloadError``
    naming the first constant that its format does not hold, or what ``passes`` do not make.
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
    state = run_passes(passes, DpuState(workload.dag), DpuOptions(config, seed), trace)
    with taken_by("program"):
        require_room(len(made(state.encoded).stream), config)
        return _program(workload, config, state)


def _program(workload: DagWorkload, config: DpuConfig, state: DpuState) -> Program:
    dag, binary, result = workload.dag, made(state.binary), made(state.schedule)
    layout, (opcode, _, stream) = made(state.layout), made(state.encoded)
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
        "lanes": result.cycles.used.sum(),
        **lower_bounds(state.dag, config, used_inputs),
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

"""How a DPU's programs, memories and figures look to the runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from hw.dpu.assembly import disassemble
from hw.dpu.config import DpuConfig
from hw.dpu.isa import START_CYCLES, Opcode, PeOp, instruction_bytes, instruction_word_bits, opcodes
from hw.dpu.listing import listing as list_instructions
from hw.dpu.topology import pe_list
from hw.lib.errors import ProgramError, WorkloadError
from sw.compiler.frontend.rebind import values_from_file
from sw.compiler.frontend.workload import DagWorkload, from_networkx, load
from sw.golden.dpu import evaluate
from sw.golden.dpu import reference as reference_values
from sw.golden.words import to_words
from sw.runtime.dpu_sections import dag_of
from sw.runtime.model.dpu import run as interpret
from sw.runtime.program import Program
from sw.runtime.report import Chart
from sw.runtime.rows import MachineRun, Rows
from sw.runtime.timeline import Activity

_KINDS = {
    "exec": Opcode.EXEC,
    "exec + load": Opcode.EXEC_LOAD,
    "exec + store": Opcode.EXEC_STORE,
    "copy": Opcode.COPY,
    "load": Opcode.LOAD,
    "store": Opcode.STORE,
    "nop": Opcode.NOP,
}

_BOUNDS = {
    "critical path": "bound_critical_path",
    "operations / PEs": "bound_operations",
    "inputs / banks": "bound_inputs",
}


def workload(source: Any, seed: int = 0) -> DagWorkload:
    """The workload in a file, or that a directed networkx graph describes, or ``source`` itself.

    ``seed`` is for input values that the source lacks.
    """
    if isinstance(source, DagWorkload):
        return source
    if isinstance(source, nx.Graph):
        return from_networkx(source, seed=seed)
    return load(source, seed)


def input_values(
    program: Program, path: Path, defaults: np.ndarray | None, seed: int = 0
) -> np.ndarray:
    """Input values, float64 [n_inputs], from a file; see ``rebind.values_from_file``."""
    dag = dag_of(program.sections)
    return values_from_file(path, dag, program.input_names, defaults, seed)


def leaf_words(program: Program, inputs: np.ndarray) -> np.ndarray:
    """The words, uint32, of all inputs (float64 [n_inputs]) and then all constants.

    Raises ``WorkloadError`` that names an input or constant which the format does not hold.
    """
    values = np.concatenate([inputs, program.sections["constants"]])
    try:
        return to_words(values, program.format)
    except ValueError as error:
        raise WorkloadError(f"{program.workload}: {error}") from error


def image(program: Program, leaves: np.ndarray) -> dict[str, Rows]:
    """What to write before a start, by window."""
    config = DpuConfig.from_dict(program.config)
    row_bytes = instruction_word_bits(config) // 8
    stream = program.sections["instructions"]
    padded = np.zeros(-(-len(stream) // row_bytes) * row_bytes, np.uint8)
    padded[: len(stream)] = stream
    instructions = padded.view("<u4").reshape(-1, row_bytes // 4)

    rows, place = np.unique(program.sections["word_row"], return_inverse=True)
    data = np.zeros((len(rows), config.banks), np.uint32)
    data[place, program.sections["word_bank"]] = leaves[program.sections["word_value"]]
    return {
        "instructions": Rows(np.arange(len(instructions)), instructions),
        "data": Rows(rows, data),
    }


def result_rows(program: Program) -> dict[str, np.ndarray]:
    """What to read after the end: rows by window, int [n], ascending."""
    rows = program.sections["output_row"]
    return {"data": np.unique(rows[rows >= 0])}


def outputs(program: Program, leaves: np.ndarray, memory: Mapping[str, Rows]) -> np.ndarray:
    """The words, uint32 [k], of the outputs, from the rows that ``result_rows`` asks for."""
    row, bank = program.sections["output_row"], program.sections["output_bank"]
    stored = row >= 0
    words = np.empty(len(row), np.uint32)
    words[stored] = memory["data"].at(row[stored], bank[stored])
    words[~stored] = leaves[bank[~stored]]
    return words


def model(
    config: DpuConfig, image: Mapping[str, Rows], wanted: Mapping[str, np.ndarray]
) -> MachineRun:
    """Runs the instructions of ``image`` on the interpreter; the ``wanted`` rows at the end.

    Raises as ``sw.runtime.model.dpu.run`` does.
    """
    stream = np.ascontiguousarray(image["instructions"].words, "<u4").view(np.uint8).reshape(-1)
    data = np.zeros((config.data_rows, config.banks), np.uint32)
    data[image["data"].numbers] = image["data"].words
    done = interpret(config, stream, data)
    memory = {"data": Rows(wanted["data"], done.data[wanted["data"]])}
    return MachineRun(memory, done.cycles, done.counters)


def golden(program: Program, leaves: np.ndarray) -> np.ndarray:
    """The words, uint32 [k], that the outputs must have."""
    op, left, right = (program.sections[f"tree_{name}"] for name in ("op", "left", "right"))
    values = evaluate(op, left, right, leaves, program.format)
    return values[program.sections["output_value"]]


def reference(program: Program, inputs: np.ndarray) -> np.ndarray:
    """The outputs, float64 [k], of the source DAG in float64."""
    dag = dag_of(program.sections)
    return reference_values(dag, inputs)[dag.outputs]


def cycle_limit(program: Program) -> int:
    """Cycles after which a run that has not ended never will."""
    config = DpuConfig.from_dict(program.config)
    shortest = min(instruction_bytes(config, opcode) for opcode in opcodes(config))
    longest_run = len(program.sections["instructions"]) // shortest
    return START_CYCLES + longest_run + config.drain_cycles


def activity(program: Program) -> Activity:
    """What each cycle of a run is spent on; PEs that pass a word on are not busy.

    The machine issues an instruction a cycle and never waits, so the program tells all of it.
    """
    config = DpuConfig.from_dict(program.config)
    issued, columns, _ = disassemble(config, program.sections["instructions"])
    issue = START_CYCLES + np.arange(len(issued))
    cycles = START_CYCLES + len(issued) - 1 + config.drain_cycles
    kinds = {}
    for name, opcode in _KINDS.items():
        kinds[name] = np.zeros(cycles, bool)
        kinds[name][issue[issued == opcode]] = True
    busy = np.zeros(cycles, np.int64)
    layers = np.array([pe.layer for pe in pe_list(config)])
    # HALT, the last, computes nothing; so all others are through before the end.
    computes = columns["operation"][:-1] > PeOp.PASS_RIGHT
    for layer in range(1, config.depth + 1):
        # Pipelined PEs take an operation each cycle: it is counted when it enters.
        start = issue[:-1] + config.layer_latency(layer - 1)
        busy[start] += computes[:, layers == layer].sum(axis=1)
    return Activity("PEs", config.pes, busy, kinds)


def charts(program: Program, cycles: int) -> list[Chart]:
    """The figures of a run that its page shows."""
    statistics = program.statistics
    kinds = activity(program).kinds
    mix = [(name, int(np.count_nonzero(issued))) for name, issued in kinds.items()]
    mix.append(("fetch, drain", cycles - sum(count for _, count in mix)))
    bounds = [(label, statistics[name]) for label, name in _BOUNDS.items()]
    moved = [("bank conflicts, copied", statistics["copies"]), ("spilled", statistics["spills"])]
    factor = cycles / max(1, statistics["lower_bound"])
    return [
        Chart("Instructions, % of cycles", mix, cycles),
        Chart(f"Lower bounds, % of cycles: {factor:.2f} times the largest", bounds, cycles),
        Chart("Words moved between banks and memory", moved, 0),
    ]


def listing(program: Program) -> Iterator[str]:
    """The program's instructions, a line each. Raises ``ProgramError`` for a damaged stream."""
    config = DpuConfig.from_dict(program.config)
    try:
        yield from list_instructions(config, program.sections["instructions"])
    except ValueError as error:
        raise ProgramError(f"{program.workload}: {error}") from error


def units(config: DpuConfig) -> tuple[str, int]:
    """What computes, in the plural, and how many there are."""
    return "PEs", config.pes

"""From a program and values to the contents of memories, and back to values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hw.dpu.config import DpuConfig
from hw.dpu.isa import instruction_word_bits
from hw.lib.errors import WorkloadError
from sw.golden.words import to_words
from sw.program.program import Program
from sw.program.rows import Rows
from sw.runtime.result import Outputs

Inputs = Sequence[float] | np.ndarray | Mapping[str, float]


def input_values(program: Program, inputs: Inputs) -> np.ndarray:
    """Values in the order of the program's inputs, float64 [n_inputs].

    Raises ``WorkloadError`` that names the first input without a number.
    """
    names = program.input_names
    if isinstance(inputs, Mapping):
        known = set(names)
        unknown = [name for name in inputs if name not in known]
        if unknown:
            raise WorkloadError(f"{program.workload}: no input is called {unknown[0]!r}")
        missing = [name for name in names if name not in inputs]
        if missing:
            raise WorkloadError(f"{program.workload}: no value for input {missing[0]}")
        inputs = [inputs[name] for name in names]
    values = np.asarray(inputs, np.float64)
    if values.shape != (len(names),):
        raise WorkloadError(
            f"{program.workload}: inputs have shape {list(values.shape)}: must be [{len(names)}]"
        )
    if np.isnan(values).any():
        at = int(np.argmax(np.isnan(values)))
        raise WorkloadError(f"{program.workload}: input {names[at]} is NaN: must be a number")
    return values


def operands(program: Program, inputs: Inputs) -> np.ndarray:
    """The leaves: words, uint32, of all inputs and then all constants.

    Raises ``WorkloadError`` that names an input or constant which the format does not hold.
    """
    values = np.concatenate([input_values(program, inputs), program.sections["constants"]])
    try:
        return to_words(values, program.format)
    except ValueError:
        names = [f"input {name}" for name in program.input_names]
        names += ["constant"] * len(program.sections["constants"])
        for name, value in zip(names, values.tolist(), strict=True):
            _require_held(program, name, value)
        raise


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


def result_rows(program: Program, counters: Mapping[str, int]) -> dict[str, np.ndarray]:
    """What to read after the end: rows by window, int [n], ascending."""
    rows = program.sections["output_row"]
    return {"data": np.unique(rows[rows >= 0])}


def outputs(program: Program, leaves: np.ndarray, memory: Mapping[str, Rows]) -> Outputs:
    """The outputs, from the rows that ``result_rows`` asks for."""
    row, bank = program.sections["output_row"], program.sections["output_bank"]
    stored = row >= 0
    words = np.empty(len(row), np.uint32)
    words[stored] = memory["data"].at(row[stored], bank[stored])
    words[~stored] = leaves[bank[~stored]]
    return Outputs(program.output_names, words)


def _require_held(program: Program, name: str, value: float) -> None:
    try:
        to_words(np.array(value), program.format)
    except ValueError as error:
        held = str(error).partition(": ")[2]
        raise WorkloadError(f"{program.workload}: {name} = {value}: {held}") from error

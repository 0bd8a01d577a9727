"""Converts a program and values to the contents of memories, and these back to values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import instruction_word_bits
from gnarl.hw.lib.errors import WorkloadError, quoted
from gnarl.sw.compiler.dpu.sections import INPUTS, OUTPUTS, labels
from gnarl.sw.golden.words import RangeError, to_words, typed
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.rows import Rows
from gnarl.sw.program.tensor_spec import Array, Labels
from gnarl.sw.runtime.report.vanished import Given, elements


def bind(program: Program, inputs: Any) -> dict[str, Array]:
    """The input tensor, float64 [n_inputs].

    ``inputs`` are values in the order of the labels, numbers by label, or the tensor by its name.
    Infinities and NaN are numbers here: the formats hold them. Raises ``WorkloadError`` that names
    the first input without a number.
    """
    names = labels(program.inputs[0])
    if isinstance(inputs, Mapping):
        if list(inputs) == [INPUTS] and np.ndim(inputs[INPUTS]) == 1:
            inputs = inputs[INPUTS]
        else:
            inputs = _by_label(program.workload, inputs, names)
    values = np.asarray(inputs, np.float64)
    if values.shape != (len(names),):
        raise WorkloadError(
            f"{program.workload}: inputs have shape {list(values.shape)}: must be [{len(names)}]"
        )
    return {INPUTS: values}


def given(program: Program, inputs: Any) -> Iterator[Given]:
    """Inputs and constants, see ``Executor.given``."""
    (launch,), (spec,) = program.launches, program.inputs
    yield elements(spec, bind(program, inputs)[INPUTS])
    yield Given(launch.sections["constants"], spec.type, lambda _: "constant")


def leaves(launch: Launch, tensors: Mapping[str, Array]) -> np.ndarray:
    """Words, uint32, of all inputs and then all constants.

    Raises ``WorkloadError`` that names an input or constant which the format does not hold.
    """
    values = np.concatenate([np.asarray(tensors[INPUTS]), launch.sections["constants"]])
    try:
        return to_words(values, launch.config["format"])
    except RangeError as error:
        (at,) = error.index
        names = labels(launch.inputs[0])
        name = f"input {names[at]}" if at < len(names) else "constant"
        raise WorkloadError(f"{launch.name}: {name} = {error.value}: {error.reason}") from error


def image(launch: Launch, operands: np.ndarray) -> dict[str, Rows]:
    """What to write before a start, by window."""
    config = DpuConfig.from_dict(launch.config)
    row_bytes = instruction_word_bits(config) // 8
    stream = launch.sections["instructions"]
    padded = np.zeros(-(-len(stream) // row_bytes) * row_bytes, np.uint8)
    padded[: len(stream)] = stream
    instructions = padded.view("<u4").reshape(-1, row_bytes // 4)

    rows, place = np.unique(launch.sections["word_row"], return_inverse=True)
    data = np.zeros((len(rows), config.banks), np.uint32)
    data[place, launch.sections["word_bank"]] = operands[launch.sections["word_value"]]
    return {
        "instructions": Rows.first(instructions),
        "data": Rows(rows, data),
    }


def result_rows(launch: Launch, counters: Mapping[str, int]) -> dict[str, np.ndarray]:
    """What to read after the end: rows by window, int [n], ascending."""
    rows = launch.sections["output_row"]
    return {"data": np.unique(rows[rows >= 0])}


def outputs(launch: Launch, operands: np.ndarray, memory: Mapping[str, Rows]) -> dict[str, Array]:
    """The output tensor, from the rows that ``result_rows`` asks for."""
    row, bank = launch.sections["output_row"], launch.sections["output_bank"]
    stored = row >= 0
    words = np.empty(len(row), np.uint32)
    words[stored] = memory["data"].at(row[stored], bank[stored])
    words[~stored] = operands[bank[~stored]]
    return {OUTPUTS: typed(words, launch.config["format"])}


def _by_label(workload: str, inputs: Mapping[str, Any], names: Labels) -> np.ndarray:
    known = dict.fromkeys(names.tolist())
    for name in inputs:
        if name not in known:
            raise WorkloadError(f"{workload}: no input is called {quoted(name)}")
    for name in known:
        if name not in inputs:
            raise WorkloadError(f"{workload}: no value for input {name}")
    return np.fromiter((inputs[name] for name in known), np.float64, len(known))

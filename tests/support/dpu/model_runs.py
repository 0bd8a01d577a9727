"""Runs of DPU programs written by hand on the model, and what they are expected to come to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import ErrorCause
from gnarl.sw.golden.words import from_words, to_words
from gnarl.sw.program.rows import Rows
from gnarl.sw.runtime.dpu.model.interpreter import ModelError, ModelResult, run
from tests.support.dpu.programs import HALT, Instruction, program

CONFIG = DpuConfig(depth=2, banks=8, registers=8, instruction_words=16, data_rows=16)

# Numbers of banks, registers and rows that fields can hold and the machine lacks.
ODD = DpuConfig(
    depth=2, banks=12, registers=9, instruction_words=16, data_rows=9, output_interconnect="single"
)


def simulate(
    instructions: Sequence[Instruction], config: DpuConfig = CONFIG, halt: bool = True
) -> ModelResult:
    """Runs on the model, with data memory word [row, bank] = 10 row + bank."""
    rows, banks = np.mgrid[: config.data_rows, : config.banks]
    data = to_words(10.0 * rows + banks, config.format)
    end = [HALT] if halt else []
    return run(config, program(config, [*instructions, *end]), Rows.first(data))


def row(result: ModelResult, number: int, config: DpuConfig = CONFIG) -> list[float]:
    return from_words(result.data.words[number], config.format).tolist()


def fails(
    instructions: Sequence[Instruction],
    cause: ErrorCause,
    detail: int,
    instruction: int,
    after: int = 0,
    config: DpuConfig = CONFIG,
    halt: bool = True,
) -> None:
    """Expects an error ``after`` cycles after the issue of ``instruction``."""
    with pytest.raises(ModelError) as caught:
        simulate(instructions, config, halt)
    error = caught.value
    found = (error.cause, error.detail, error.instruction, error.cycle)
    assert found == (cause, detail, instruction, CONFIG.start_cycles + instruction + after)

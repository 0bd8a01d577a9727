"""The execute unit beside the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.encoding.execute_isa import Fault, Instruction
from tests.support.execute import interpreter as execute_interpreter
from tests.support.execute.machine import Machine, Result

LIMIT = 1500
"""Instructions of a run."""


def check(
    machine: Machine,
    program: Sequence[Instruction | tuple[int, ...]],
    memory: npt.NDArray[np.uint32] | None = None,
    *,
    words: Sequence[int] = (),
    tokens: Sequence[int] = (),
    **options: Any,
) -> Result:
    """Both end the same way; without a fault, memory, what is left in the queues, and the number of
    instructions are the same, too. ``memory`` is written."""
    if memory is None:
        memory = np.zeros(machine.memory_words, np.uint32)
    expected_memory = memory.copy()
    expected = execute_interpreter.run(
        list(program),
        expected_memory,
        lanes=machine.lanes,
        program_words=machine.program_words,
        words=words,
        tokens=tokens,
        limit=LIMIT,
    )
    result = machine.run(program, memory, words=words, tokens=tokens, **options)
    assert result.fault == expected.fault
    if expected.fault:
        assert result.pc == expected.pc
        return result
    assert np.array_equal(memory, expected_memory), np.flatnonzero(memory != expected_memory)
    assert (result.words, result.tokens) == (expected.words, expected.tokens)
    assert result.counts["issued"] + result.counts["joined"] == expected.issued
    assert result.counts["issued_vector"] == expected.issued_vector
    return result


def fault_of(
    machine: Machine, program: Sequence[Instruction | tuple[int, ...]], **options: Any
) -> tuple[Fault, int]:
    result = check(machine, program, **options)
    return result.fault, result.pc

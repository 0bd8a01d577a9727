"""Programs with corners: the execute unit and its model do what the interpreter of tests does."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gnarl.hw.lib.encoding.execute_isa import Instruction
from gnarl.sw.execute.values import execute
from gnarl.sw.execute.values.output import Output
from tests.hw.lib.execute.compare import LIMIT, check
from tests.hw.lib.execute.test_execute_unit import PACES
from tests.support.errors import noted
from tests.support.execute import interpreter
from tests.support.execute.corner_programs import KINDS, CornerProgram, corner_program
from tests.support.execute.machine import Machine


def is_endless(case: CornerProgram, machine: Machine) -> bool:
    """Whether a run does not end, as it waits for words or goes round."""
    try:
        interpreted(case, machine.lanes, machine.program_words)
    except interpreter.Starved:
        return True
    except AssertionError as error:
        assert str(error) == f"{LIMIT} instructions, and no end"
        return True
    return False


def interpreted(
    case: CornerProgram, lanes: int, program_words: int
) -> tuple[interpreter.Outcome, np.ndarray]:
    memory = case.memory.copy()
    outcome = interpreter.run(
        list(case.program),
        memory,
        lanes=lanes,
        program_words=program_words,
        words=case.words,
        tokens=case.tokens,
        limit=LIMIT,
    )
    return outcome, memory


def check_on_unit(machine: Machine, seed: int) -> str:
    """Behind a run that is reset in the middle. What came of it: a fault's name, or nothing."""
    before, case = corner_program(seed + 1), corner_program(seed)
    pace = PACES[seed % len(PACES)]
    with noted(f"{seed}: {', '.join(sorted(case.kinds))}"):
        if is_endless(case, machine):
            return "endless"
        queues = {"words": before.words, "tokens": before.tokens}
        try:
            machine.run(before.program, before.memory, **queues, pace=pace, limit=seed % 97 + 1)
        except AssertionError as error:
            assert str(error).startswith("not done in")
        queues = {"words": case.words, "tokens": case.tokens}
        found = check(machine, case.program, case.memory, **queues, pace=pace, seed=seed)
    return found.fault.name


def check_on_model(seed: int, lanes: int = 4) -> None:
    case = corner_program(seed, lanes=lanes)
    program = [each.words() if isinstance(each, Instruction) else each for each in case.program]
    queued, memory = Output(words=case.words, tokens=case.tokens), case.memory.copy()

    def ran() -> None:
        execute.run(np.array(program, np.uint32), memory, lanes, queued, limit=100 * LIMIT)

    with noted(f"{seed}: {', '.join(sorted(case.kinds))}"):
        try:
            outcome, expected = interpreted(case, lanes, len(program))
        except interpreter.Starved:
            with pytest.raises(execute.DeadlockError):
                ran()
            return
        except AssertionError:
            with pytest.raises((execute.EndlessError, execute.DeadlockError)):
                ran()
            return
        if outcome.fault:
            with pytest.raises(execute.FaultError) as caught:
                ran()
            assert (caught.value.fault, caught.value.pc) == (outcome.fault, outcome.pc)
        elif outcome.words or outcome.tokens:
            with pytest.raises(execute.LeftError):
                ran()
        else:
            ran()
        np.testing.assert_array_equal(memory, expected)


def test_programs_on_the_unit(machine: Machine) -> None:
    counts = Counter(check_on_unit(machine, seed) for seed in range(24))
    assert set(counts) >= {"NONE", "ADDRESS", "CONTROL"}


@pytest.mark.slow
def test_many_programs_on_the_unit(machine: Machine) -> None:
    counts = Counter(check_on_unit(machine, seed) for seed in range(24, 20_000))
    assert counts["NONE"] > 10_000


def test_programs_on_the_model() -> None:
    for seed in range(40):
        check_on_model(seed)


@pytest.mark.slow
def test_many_programs_on_the_model() -> None:
    for seed in range(40, 20_000):
        check_on_model(seed)


def test_every_kind_of_corner_is_drawn() -> None:
    """Each in 10 of 100 at least; no kind has no name."""
    counts = Counter(kind for seed in range(100) for kind in corner_program(seed).kinds)
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 10

"""Loops of stream engines that go beyond the limit of cycles: not done, but with the same end."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import COUNT_BITS, STRIP, Opcode, When
from gnarl.hw.sram_compute.memory_map import ErrorCause
from gnarl.hw.sram_compute.program import Command, command
from gnarl.sw.runtime.machine.cycle_limit import CycleLimitError
from gnarl.sw.runtime.sram_compute.model import streams
from gnarl.sw.runtime.sram_compute.model.check import StoppedError
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.sram_compute.near_commands import near, reads, stream, system

MOST = (1 << COUNT_BITS) - 1
LIMIT = 1 << 28


@pytest.fixture(scope="module")
def config() -> SramConfig:
    found = load_configuration("sram_b2").config
    assert isinstance(found, SramConfig)
    return found


def outcome(config: SramConfig, commands: Sequence[Command], limit: int) -> Any:
    """How a run ends: with so many cycles, at a limit, or in an error."""
    try:
        return system(config, commands).run(0, limit).cycles
    except CycleLimitError:
        return "limit"
    except StoppedError as error:
        return error.cause, error.detail


@pytest.mark.parametrize(
    "body",
    [
        [reads(0, 0)],
        [reads(0, 0, when=4)],
        [reads(0, 0, when=12)],
        [command(Opcode.OPERATION, slot=0, operation=ExecuteOpcode.FDIV)],
        [command(Opcode.OPERATION, slot=0, operation=ExecuteOpcode.STORE, stream=0)],
    ],
)
def test_what_does_not_end_is_not_done(
    config: SramConfig, monkeypatch: pytest.MonkeyPatch, body: Sequence[Command]
):
    def strip(*_: Any) -> None:
        raise AssertionError("an operation was done")

    monkeypatch.setattr(streams.Streaming, "_strip", strip)
    commands = [stream(0, 3, 0, 0, 0), *body, near(MOST, MOST, MOST)]
    assert outcome(config, commands, LIMIT) == "limit"


@pytest.mark.parametrize("limit", (1, 100))
def test_loops_may_begin_beyond_the_limit(config: SramConfig, limit: int):
    commands = [reads(0, 0, when=12), stream(0, 3, 0, 0, 0), near(32, 2, 1)]
    assert outcome(config, [*commands] * 9, limit) == "limit"


def test_a_limit_comes_before_the_second_strip(config: SramConfig):
    """Operations are of the first row alone, of which no row has more."""
    body = [reads(slot, 0, when=1 << When.FIRST_Y) for slot in range(2)]
    commands = [stream(0, 3, 0, 0, 0), *body, near(MOST, 3, 3, last=1)]
    assert {outcome(config, commands, limit) for limit in range(1, 200)} == {"limit"}


def test_negative_strides_stay_inside(config: SramConfig):
    commands = [stream(0, 640, 0, -1, 0), reads(0, 0), near(32, 600, MOST)]
    assert outcome(config, commands, LIMIT) == "limit"


@pytest.mark.parametrize(
    "setting",
    [
        [],
        [stream(0, 0, 0, -1, 0)],
        [stream(0, -1, 0, 0, 0)],
        [stream(0, 0, 1 << 20, 0, 0)],
        [stream(0, 0, 0, 0, 0, is_indirect=1)],
        [stream(0, 0, 0, 0, 0, is_transposed=1, row=120)],
    ],
)
def test_an_error_comes_before_the_limit(config: SramConfig, setting: Sequence[Command]):
    commands = [*setting, reads(0, 0), near(MOST, MOST, MOST)]
    assert outcome(config, commands, LIMIT) == (ErrorCause.STREAM, 0)


def random_loop(random: Random) -> list[Command]:
    """Random loops that are short and long, streams that are inside and leave arrays at some
    time."""
    commands = [
        stream(
            number,
            random.choice((0, 40, 1000, random.getrandbits(14), -1)),
            *(random.choice((0, 0, 1, -1, 32, random.randint(-300, 300))) for _ in range(3)),
            is_indirect=int(random.random() < 0.1),
            length=random.randint(0, 9),
            is_transposed=int(random.random() < 0.2),
            row=random.randint(0, 110),
        )
        for number in range(random.randint(1, 2))
    ]
    slots = random.randint(1, 3)
    for slot in range(slots):
        when = random.choice((0, 0, 0, random.getrandbits(4)))
        kind = random.random()
        if kind < 0.5:
            commands.append(reads(slot, random.randint(0, 1), when=when))
        else:
            operation = ExecuteOpcode.STORE if kind < 0.8 else ExecuteOpcode.ADD
            commands.append(
                command(
                    Opcode.OPERATION,
                    slot=slot,
                    operation=operation,
                    stream=random.randint(0, 1),
                    when=when,
                )
            )
    counts = [random.choice((1, 2, 5, 33, 70, MOST)) for _ in range(3)]
    fields = {
        "first": random.randint(0, min(STRIP, counts[0]) - 1),
        "span": random.choice((0, 0, 2)),
    }
    return [*commands, near(*counts, last=slots - 1, first_z=0, **fields)]


def check_seed(config: SramConfig, monkeypatch: pytest.MonkeyPatch, seed: int) -> Any:
    """The end is the one of doing it all."""
    random = Random(seed)
    commands, limit = random_loop(random), random.choice((100, 300, 1000, 3000))
    found = outcome(config, commands, limit)
    with monkeypatch.context() as patch:
        patch.setattr(streams, "is_beyond", lambda *_: False)
        assert found == outcome(config, commands, limit), seed
    return found


def test_the_end_is_that_of_doing_it_all(config: SramConfig, monkeypatch: pytest.MonkeyPatch):
    ends = [check_seed(config, monkeypatch, seed) for seed in range(60)]
    assert ends.count("limit") > 10
    assert sum(isinstance(end, tuple) for end in ends) > 5


@pytest.mark.slow
@pytest.mark.parametrize("first", range(60, 2060, 100))
def test_many_ends_are(config: SramConfig, monkeypatch: pytest.MonkeyPatch, first: int):
    for seed in range(first, first + 100):
        check_seed(config, monkeypatch, seed)

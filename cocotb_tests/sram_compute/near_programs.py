"""Programs of stream engines, at random."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import (
    NEAR_OPERATIONS,
    REGISTERS,
    STREAMS,
    STRIP,
    WORD_BITS,
    Opcode,
    When,
)
from gnarl.hw.sram_compute.program import Command, command

_COMPUTING = [each for each in NEAR_OPERATIONS if each != ExecuteOpcode.STORE]

_INDICES = 64
"""Indices are below this."""


def near(operations: Sequence[dict[str, Any]], **fields: Any) -> list[Command]:
    """Sets operations, from slot 0 on, and runs them."""
    found = [command(Opcode.OPERATION, slot=slot, **each) for slot, each in enumerate(operations)]
    usual: dict[str, Any] = {"counts": (1, 1, 1), "last": len(operations) - 1}
    return [*found, command(Opcode.NEAR, **usual | fields)]


def clearing_engines() -> list[Command]:
    """All registers and transposers become 0."""
    zeros: list[dict[str, Any]] = [
        {
            "operation": ExecuteOpcode.AND.value,
            "d": register,
            "a": register,
            "b_source": 1,
            "is_whole": 1,
        }
        for register in range(REGISTERS)
    ]
    turn = {"operation": ExecuteOpcode.OR.value, "d_is_turned": 1}
    return near([*zeros, turn])


class RandomStreams:
    """Commands of stream engines, of which each has a meaning, and lines that they copy, from
    ``first_line`` of memory on."""

    def __init__(self, config: SramConfig, chance: random.Random, first_line: int) -> None:
        self._config = config
        self._chance = chance
        self._first_line = first_line

    def copy(self) -> Command:
        config, chance = self._config, self._chance
        lines = chance.randrange(1, 9)
        bank_lines = config.banks * config.bank_words // LINE_WORDS
        return command(
            Opcode.COPY,
            is_store=chance.randrange(2),
            line=chance.randrange(self._first_line, config.memory_lines - lines + 1),
            words=chance.randrange(bank_lines - lines + 1),
            lines=lines,
        )

    def copy_all(self) -> Command:
        """All words of banks to memory."""
        lines = self._config.banks * self._config.bank_words // LINE_WORDS
        return command(Opcode.COPY, is_store=1, line=self._first_line, lines=lines)

    def loop(self) -> list[Command]:
        config, chance = self._config, self._chance
        counts = (chance.randrange(1, 40 * config.banks), chance.choice((1, 1, 2, 3)), 1)
        counts = (counts[0], counts[1], chance.choice((1, 1, 2)))
        strips = -(-counts[0] // STRIP)
        span = chance.choice((0, 0, -(-strips // config.banks)))
        first = chance.choice((0, chance.randrange(min(STRIP, counts[0]))))
        numbers = chance.sample(range(STREAMS), 4)
        streams = [self._stream(number, counts) for number in numbers]
        operations: list[dict[str, Any]] = []
        for _ in range(chance.randrange(2, 8)):
            operations += self._operations(streams)
        fields: dict[str, Any] = {"counts": counts, "span": span, "first": first}
        fields |= {"owner": numbers[0], "is_final": chance.randrange(2)}
        fields["first_z"] = chance.randrange(counts[2])
        return [*streams, *near(operations, **fields)]

    def _stream(self, number: int, counts: tuple[int, int, int]) -> Command:
        config, chance = self._config, self._chance
        is_indirect = chance.random() < 0.3
        is_transposed = chance.random() < 0.3
        strides = [chance.choice((1, 1, 1, 0, 2, -1)), *chance.choices((0, 1, 7, 32, -5), k=2)]
        extents = [count - 1 for count in counts]
        places = config.banks * config.bank_words
        if is_transposed:
            strides, places = [0 if is_indirect else 1, 0, 0], config.tiles * config.bitlines
            extents[0] |= STRIP - 1
        scale = chance.randrange(1, 4)
        ends = [stride * extent for stride, extent in zip(strides, extents, strict=True)]
        low = -sum(end for end in ends if end < 0)
        high = sum(end for end in ends if end > 0) + (scale * _INDICES if is_indirect else 0)
        base = chance.randrange(low, places - high)
        if chance.random() < 0.5 and base & -STRIP >= low:
            base &= -STRIP
        return command(
            Opcode.STREAM,
            stream=number,
            is_indirect=is_indirect,
            is_transposed=is_transposed,
            row=chance.randrange(config.wordlines - STRIP + 1),
            base=base,
            strides=[stride % (1 << WORD_BITS) for stride in strides],
            length=chance.randrange(_INDICES, 100),
            scale=scale,
        )

    def _operations(self, streams: Sequence[Command]) -> list[dict[str, Any]]:
        """One, and what makes indices for it."""
        chance = self._chance
        fields: dict[str, Any] = {
            name: chance.randrange(REGISTERS) for name in ("d", "a", "b", "c")
        }
        fields |= {
            "operation": chance.choice(_COMPUTING).value,
            "b_source": chance.choice((0, 0, 0, 1, 2)),
            "immediate": chance.choice((chance.getrandbits(32), chance.getrandbits(31) % 40)),
            "is_whole": chance.random() < 0.2,
            "when": 1 << chance.choice(list(When)) if chance.random() < 0.2 else 0,
            "a_is_turned": chance.random() < 0.1,
        }
        kind = chance.choice(("register", "register", "read", "read", "store"))
        if fields["operation"] == ExecuteOpcode.FDIV:
            kind, fields["a_is_turned"] = "register", False
        if kind == "register":
            fields["offset"] = chance.choice((0, 0, 1, 5, 16))
            return [fields | {"d_is_turned": chance.random() < 0.1}]
        stream = chance.choice(streams)
        fields["stream"] = stream.fields["stream"]
        if kind == "store":
            fields["operation"] = ExecuteOpcode.STORE.value
        else:
            fields |= {"reads": 1, "d_is_turned": chance.random() < 0.2}
        if not stream.fields["is_indirect"]:
            return [fields]
        index = {
            "operation": ExecuteOpcode.AND.value,
            "d": fields["a"],
            "a": chance.randrange(REGISTERS),
            "b_source": 1,
            "immediate": _INDICES - 1,
            "is_whole": 1,
        }
        return [index, fields]

"""Commands as words."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Shape
from amaranth.lib import data

from gnarl.hw.sram_compute.isa import COMMANDS, UNITS, Opcode
from gnarl.hw.sram_compute.program import Command, assemble, command, disassemble


def random_value(chance: random.Random, shape: Any) -> Any:
    if isinstance(shape, data.ArrayLayout):
        return tuple(random_value(chance, shape.elem_shape) for _ in range(shape.length))
    return chance.getrandbits(Shape.cast(shape).width)


def random_command(chance: random.Random, opcode: Opcode) -> Command:
    fields = {
        name: random_value(chance, field.shape)
        for name, field in COMMANDS[opcode]
        if name != "opcode"
    }
    return command(opcode, **fields)


def test_words_that_were_made_by_hand():
    found = assemble(
        [
            command(Opcode.LOAD, layout=3, row=64, n=32),
            command(Opcode.COMPUTE, entry=5, n=8, bases=(1, 2, 3, 0, 256)),
            command(Opcode.END),
        ]
    )
    assert found.tolist() == [
        [8 | 3 << 4 | 64 << 8 | 32 << 17, 0, 0, 0],
        [2 | 5 << 4 | 8 << 18 | 1 << 24, 2 << 1 | 3 << 10, 1 << 4, 0],
        [1, 0, 0, 0],
    ]


STREAM = command(
    Opcode.STREAM,
    stream=9,
    is_indirect=1,
    row=257,
    base=1,
    strides=(2, 3, (1 << 28) - 1),
    length=5,
    scale=6,
)
OPERATION = command(
    Opcode.OPERATION,
    slot=17,
    operation=2,
    d=8,
    a=1,
    b=2,
    c=3,
    offset=5,
    reads=1,
    stream=9,
    d_is_turned=1,
    b_source=1,
    is_whole=1,
    when=9,
    immediate=(1 << 32) - 1,
)
NEAR = command(Opcode.NEAR, last=3, first=1, counts=(1, 2, 3), owner=9, span=6, first_z=7)
COPY = command(Opcode.COPY, is_store=1, line=3, words=5, lines=7)
CORE = command(Opcode.CORE, first=33)

BITS_BY_HAND: list[tuple[Command, tuple[tuple[int, int], ...]]] = [
    (CORE, ((11, 0), (33, 4))),
    (COPY, ((12, 0), (1, 4), (3, 5), (5, 25), (7, 49))),
    (
        STREAM,
        (
            *((13, 0), (9, 4), (1, 8), (257, 10), (1, 19)),
            *((2, 47), (3, 75), ((1 << 28) - 1, 103), (5, 131), (6, 159)),
        ),
    ),
    (
        OPERATION,
        (
            *((14, 0), (17, 4), (2, 9), (8, 15), (1, 19), (2, 23), (3, 27), (5, 31), (1, 36)),
            *((9, 37), (1, 42), (1, 43), (1, 45), (9, 46), ((1 << 32) - 1, 50)),
        ),
    ),
    (NEAR, ((15, 0), (3, 4), (1, 9), (1, 14), (2, 34), (3, 54), (9, 74), (6, 78), (7, 95))),
]
"""Commands, and what they have from which bit on."""


@pytest.mark.parametrize(
    "one, parts", BITS_BY_HAND, ids=["CORE", "COPY", "STREAM", "OPERATION", "NEAR"]
)
def test_fields_are_at_the_bits_that_files_have_them_at(
    one: Command, parts: tuple[tuple[int, int], ...]
):
    found = assemble([one])
    bits = int.from_bytes(found.astype("<u4").tobytes(), "little")
    assert bits == sum(value << at for value, at in parts)


def test_units():
    assert {opcode.name: count for opcode, count in UNITS.items()} == {
        "END": 1,
        "COMPUTE": 1,
        "MOVE": 2,
        "FILL": 2,
        "SHIFT": 2,
        "BROADCAST": 3,
        "LAYOUT": 2,
        "LOAD": 1,
        "STORE": 1,
        "SYNC": 1,
        "CORE": 1,
        "COPY": 1,
        "STREAM": 2,
        "OPERATION": 1,
        "NEAR": 1,
    }


def test_disassembling_gives_what_was_assembled():
    chance = random.Random(3)
    commands = [random_command(chance, chance.choice(list(Opcode))) for _ in range(200)]
    found = list(disassemble(assemble(commands)))
    assert [each for _, each in found] == commands
    places = np.cumsum([0, *(UNITS[each.opcode] for each in commands)])
    assert [place for place, _ in found] == places[:-1].tolist()


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"^n\[0\] = 64: must be from 0 to 63$"):
        assemble([command(Opcode.LOAD, n=64)])


def test_fields_that_a_command_lacks_are_refused():
    with pytest.raises(
        ValueError, match="^LOAD has no field a; there are layout, row, n, hollow, before, after$"
    ):
        command(Opcode.LOAD, a=1)


def test_what_is_no_command_ends_a_listing():
    units = assemble([command(Opcode.SYNC), command(Opcode.BROADCAST)])
    assert [each.opcode for _, each in disassemble(units[:-1])] == [Opcode.SYNC]
    units[0] = 0
    assert list(disassemble(units)) == []

"""Commands as words."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Shape
from amaranth.lib import data

from hw.sram_compute.isa import COMMANDS, UNITS, Opcode
from hw.sram_compute.program import Command, assemble, command, disassemble


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
    with pytest.raises(ValueError, match="^LOAD has no field a; there are layout, row, n$"):
        command(Opcode.LOAD, a=1)


def test_what_is_no_command_ends_a_listing():
    units = assemble([command(Opcode.SYNC), command(Opcode.BROADCAST)])
    assert [each.opcode for _, each in disassemble(units[:-1])] == [Opcode.SYNC]
    units[0] = 0
    assert list(disassemble(units)) == []

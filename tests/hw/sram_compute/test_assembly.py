"""Commands as text."""

from __future__ import annotations

import random

import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sram_compute.assembly import command_of, line_of
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import command
from tests.hw.sram_compute.test_program import random_command

CONFIG = SramConfig()


def test_lines():
    add = CONFIG.operations["float32.add"]
    multiply = CONFIG.operations["multiply"]
    lines = {
        "end": command(Opcode.END),
        "load layout=3 row=64 n=32": command(Opcode.LOAD, layout=3, row=64, n=32),
        "move d=32 n=8 distance=1 bitlines=1:2:2 tiles=0:1:4:8:2": command(
            Opcode.MOVE,
            d=32,
            n=8,
            distance=1,
            bitlines_start=1,
            bitlines_strides=(2, 0, 0),
            bitlines_counts=(1, 0, 0),
            tiles_strides=(1, 8, 0),
            tiles_counts=(3, 1, 0),
        ),
        "compute float32.add bases=0,32,64,0,96": command(
            Opcode.COMPUTE, entry=CONFIG.rom.entry(add), bases=(0, 32, 64, 0, 96)
        ),
        "operation fadd slot=3 d=2 a=1 b=5 immediate=7": command(
            Opcode.OPERATION, slot=3, operation=24, d=2, a=1, b=5, immediate=7
        ),
        "compute multiply n=8": command(Opcode.COMPUTE, entry=CONFIG.rom.entry(multiply, 8), n=8),
    }
    for line, given in lines.items():
        assert line_of(CONFIG, given) == line
        assert command_of(CONFIG, line) == given


def test_what_lines_say_is_what_they_were_made_of():
    chance = random.Random(4)
    for _ in range(300):
        given = random_command(chance, chance.choice(list(Opcode)))
        assert command_of(CONFIG, line_of(CONFIG, given)) == given


@pytest.mark.parametrize(
    "line, text",
    [
        (
            "jump",
            "jump: no such command; there are end, compute, move, fill, shift, broadcast, layout, "
            "load, store, sync, core, copy, stream, operation, near",
        ),
        ("load row", "row: must be a field and its value, as n=8"),
        ("load row=1 row=2", "row: is given twice"),
        ("compute entry=7 move n=8", "entry: is given twice"),
        ("load a=1", "a: load has no such field"),
        ("load opcode=1", "opcode: load has no such field"),
        ("load row=x", "row=x: must be whole numbers"),
        ("load row=512", "row: must be from 0 to 511"),
        ("layout sizes=1,2", "sizes: must be 3 numbers, not 2"),
        (
            "fill tiles=0:1",
            "tiles=0:1: must be a start, and up to 3 strides and numbers of places",
        ),
        ("operation fadd operation=24", "operation: is given twice"),
        (
            "operation halt",
            "halt: no such operation; there are add, sub, and, or, xor, shift_left, shift_right, "
            "min, max, less, fabs, select, mul, to_float, fadd, fsub, fmul, fmin, fmax, fdiv, "
            "fless, fless_equal, fequal, store",
        ),
        ("compute multiply", "width 0 of multiply: must be from 1 to 32"),
    ],
)
def test_what_is_no_command_is_refused(line, text):
    with pytest.raises(WorkloadError) as caught:
        command_of(CONFIG, line)
    assert str(caught.value) == text

"""What a ``STORE`` leaves as it is in memory, and a ``LOAD`` in rows, on RTL and in the model,
against NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cocotb_tests.sram_compute.programs import pattern
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import Command, assemble, command
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.sram_compute.machine import MORE_LINES, End, ending, program
from tests.support.sram_compute.programs import FIRST_LINE

NAMED = load_configuration("sram_b2", ["banks=1", "arrays=2", "formats=[]"])
SIZES = 2, 2, 2
"""Of an array: all that tiles have room for."""

KEPT = 0xA5A5_0F0F

LINES = int(np.prod(SIZES))
WORDS = SIZES[2], SIZES[1], SIZES[0] * LINE_WORDS

MARGINS = {
    "none": ((0, 0, 0), (0, 0, 0)),
    "words of the first line": ((5, 0, 0), (0, 0, 0)),
    "words of the last line": ((0, 0, 0), (3, 0, 0)),
    "a line and words of the next": ((LINE_WORDS + 1, 0, 0), (2, 0, 0)),
    "the first row": ((0, 1, 0), (0, 0, 0)),
    "the last row": ((0, 0, 0), (0, 1, 0)),
    "the first plane": ((0, 0, 1), (0, 0, 0)),
    "the last plane": ((0, 0, 0), (0, 0, 1)),
    "all but a word": ((7, 1, 0), (LINE_WORDS * SIZES[0] - 8, 0, 1)),
    "all": ((0, 2, 0), (0, 0, 0)),
}
"""``before`` and ``after``."""


@pytest.fixture(scope="module", params=["model", "rtl"])
def device(request: pytest.FixtureRequest) -> Iterator[Device[Any]]:
    with Device(NAMED, request.param) as found:
        yield found


def layout(number: int, base: int) -> Command:
    return command(
        Opcode.LAYOUT,
        layout=number,
        element=2,
        base=base,
        sizes=SIZES,
        line_strides=(SIZES[0], SIZES[0] * SIZES[1]),
        tile=(5, 1, 0),
        tile_strides=(0, 1),
    )


def run(device: Device[Any], before: tuple[int, ...], after: tuple[int, ...]) -> End:
    """Runs a transfer of lines that go through tiles to those behind them."""
    commands = [
        layout(0, FIRST_LINE),
        layout(1, FIRST_LINE + LINES),
        command(Opcode.LOAD, layout=0, row=0, n=32),
        command(Opcode.STORE, layout=1, row=0, n=32, before=before, after=after),
        command(Opcode.END),
    ]
    return ending(device, program(NAMED.config, assemble(commands)), 1)


def inner(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[slice, ...]:
    """The words of an array between margins."""
    return tuple(
        slice(first, extent - left)
        for first, extent, left in zip(before[::-1], WORDS, after[::-1], strict=True)
    )


@pytest.mark.parametrize("name", MARGINS)
def test_margins_stay_as_they_are(device: Device[Any], name: str):
    before, after = MARGINS[name]
    found = run(device, before, after)
    lines = np.random.default_rng(1).integers(0, 1 << 32, (MORE_LINES, LINE_WORDS), np.uint32)
    source, target = (lines[at : at + LINES].reshape(WORDS) for at in (0, LINES))
    inside = inner(before, after)
    target[inside] = source[inside]
    np.testing.assert_array_equal(np.frombuffer(found.memory, np.uint32), lines.reshape(-1))
    with Device(NAMED, "model") as model:
        assert found == run(model, before, after)


@pytest.mark.parametrize("name", MARGINS)
def test_lines_between_margins_stay_as_they_are(device: Device[Any], name: str):
    before, after = MARGINS[name]

    def run_hollow(device: Device[Any]) -> End:
        everywhere = pattern("bitlines", 0, (1, 64)) | pattern("tiles", 0, (1, 2))
        commands = [
            layout(0, FIRST_LINE),
            layout(1, FIRST_LINE + LINES),
            command(Opcode.FILL, d=0, n=32, value=KEPT, **everywhere),
            command(Opcode.LOAD, layout=0, row=0, n=32, hollow=1, before=before, after=after),
            command(Opcode.STORE, layout=1, row=0, n=32),
            command(Opcode.END),
        ]
        return ending(device, program(NAMED.config, assemble(commands)), 1)

    found = run_hollow(device)
    lines = np.random.default_rng(1).integers(0, 1 << 32, (MORE_LINES, LINE_WORDS), np.uint32)
    source, target = (lines[at : at + LINES].reshape(WORDS) for at in (0, LINES))
    is_inner = np.zeros(WORDS, bool)
    is_inner[inner(before, after)] = True
    is_left_out = is_inner.reshape(-1, LINE_WORDS).all(axis=1).repeat(LINE_WORDS).reshape(WORDS)
    target[:] = np.where(is_left_out, np.uint32(KEPT), source)
    np.testing.assert_array_equal(np.frombuffer(found.memory, np.uint32), lines.reshape(-1))
    with Device(NAMED, "model") as model:
        assert found == run_hollow(model)

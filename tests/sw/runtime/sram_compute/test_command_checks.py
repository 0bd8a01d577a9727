"""Commands that no machine is given."""

from __future__ import annotations

from typing import Any

import pytest

from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import Command, assemble, command
from gnarl.sw.runtime.sram_compute.command_checks import check_commands
from gnarl.sw.runtime.target.configuration import load_configuration

CONFIG = load_configuration("sram_b2").config
MOST = (1 << 20) - 1


def compute(name: str, n: int, bases: tuple[int, ...], **fields: Any) -> Command:
    entry = CONFIG.rom.entry(CONFIG.operations[name], n)
    return command(Opcode.COMPUTE, **{"entry": entry, "n": n, "bases": bases} | fields)


REFUSED = {
    "rows beyond the last": (
        compute("add", 32, (100, 0, 32, 0, 0)),
        "bases: A = 100: needs rows 100 to 131: must be within 128",
    ),
    "rows that are written beyond the last": (
        compute("multiply_full", 32, (0, 32, 65, 0, 0)),
        "bases: D = 65: needs rows 65 to 128: must be within 128",
    ),
    "a width that the program is not for": (
        command(Opcode.COMPUTE, entry=CONFIG.rom.entry(CONFIG.operations["add"], 8)),
        "n = 0: must be from 1 to 32, for which the operation is that begins at entry ",
    ),
    "what begins nowhere": (
        compute("add", 8, (0, 32, 64, 0, 0), entry=len(CONFIG.rom.words) - 1),
        f"entry = {len(CONFIG.rom.words) - 1}: no operation begins there",
    ),
    "more elements than bitlines": (
        command(Opcode.LAYOUT, element=2, sizes=(MOST, 1, 1), tile=(6, 0, 0)),
        f"sizes = {MOST},1,1: {MOST * 16} elements: must be at most 256, the bitlines of all tiles",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str):
    given, text = REFUSED[name]
    with pytest.raises(ProgramError) as caught:
        check_commands(CONFIG, assemble([command(Opcode.SYNC), given]))
    assert str(caught.value).startswith(f"unit 1: {text}")


@pytest.mark.parametrize(
    "given",
    [
        compute("add", 32, (96, 0, 32, 0, 0)),
        compute("move", 1, (127, 127, 127, 127, 127)),
        command(Opcode.COMPUTE, entry=len(CONFIG.rom.words)),
        command(Opcode.COMPUTE, n=33),
        command(Opcode.LAYOUT, element=2, sizes=(4, 4, 1), tile=(6, 0, 0)),
    ],
)
def test_taken_or_left_to_the_hardware(given: Command):
    check_commands(CONFIG, assemble([given]))

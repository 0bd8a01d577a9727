"""Commands to banks. Source: Infinity Stream, section 4.2."""

from __future__ import annotations

from amaranth.lib import data
from gnarl.hw.lib.encoding.enum import EnumType, IntEnum
from gnarl.hw.sram_compute.bank.mover import move_layout
from gnarl.hw.sram_compute.bank.sequencer import program_layout
from gnarl.hw.sram_compute.pattern import pattern_layout


class CommandKind(IntEnum, metaclass=EnumType, shape=1):
    """What banks do for a command. ``COMPUTE``: a microprogram, on all arrays. ``MOVE``: rows shift
    by ``distance`` bitlines within their tiles, or become constants."""

    COMPUTE = 0
    MOVE = 1


def bank_command_layout(
    wordlines: int, bitlines: int, tiles: int, microinstructions: int
) -> data.StructLayout:
    """A command to all banks, which have ``tiles`` arrays together.

    program
        of a ``COMPUTE``.
    move, distance
        of a ``MOVE``: what the mover does, and by how many bitlines up rows shift, around the end.
    bitlines, tiles
        which bitlines of which tiles a ``MOVE`` changes.
    """
    return data.StructLayout(
        {
            "kind": CommandKind,
            "program": program_layout(wordlines, microinstructions),
            "move": move_layout(wordlines),
            "distance": range(bitlines),
            "bitlines": pattern_layout(bitlines),
            "tiles": pattern_layout(tiles),
        }
    )

"""Rows of the TMU's programs, damaged, or at random."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache

import numpy as np
import numpy.typing as npt
from amaranth.lib import data

from gnarl.hw.lib.encoding.execute_isa import INSTRUCTION, OPERAND, Opcode
from gnarl.hw.tmu import access_isa as isa
from gnarl.hw.tmu.access_isa import Event, StreamKind
from gnarl.hw.tmu.config import TmuConfig
from tests.support.damaged_fields import damage_field, fields_of, set_field

Words = npt.NDArray[np.uint32]

_LAYOUTS: Mapping[str, data.StructLayout] = {
    "layers": isa.LAYER,
    "units": isa.UNIT,
    "streams": isa.STREAM,
    "events": isa.EVENT,
    "instructions": INSTRUCTION,
}


def damaged_rows(rng: random.Random, given: Mapping[str, Words]) -> dict[str, Words]:
    """With one to three fields damaged, or rows that are others."""
    sections = {name: given[name].copy() for name in _LAYOUTS}
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice(("layers", "units", "streams", "streams", "events", "instructions"))
        damage_field(rng, sections[name], _LAYOUTS[name])
    return sections


def random_rows(config: TmuConfig, rng: random.Random, words: int) -> dict[str, Words]:
    """Rows of all sections; arrays begin below ``words``."""
    sections: dict[str, Words] = {}
    depth = rng.randint(0, config.layers)
    lanes, streams = config.lanes, config.streams
    counts = {
        "layers": config.layers,
        "units": config.layers * lanes,
        "streams": config.layers * lanes * streams,
        "events": rng.randint(0, isa.EVENT_STEPS),
        "instructions": rng.randint(1, 20),
    }
    in_use = {
        "layers": range(depth),
        "units": [place * lanes for place in range(depth)],
        "streams": [
            place * lanes * streams + number
            for place in range(depth)
            for number in range(rng.randint(1, streams))
        ],
        "events": range(counts["events"]),
        "instructions": range(counts["instructions"]),
    }
    for name, layout in _LAYOUTS.items():
        rows = sections[name] = np.zeros((counts[name], layout.size // 32), np.uint32)
        for row in in_use[name]:
            for first, width in fields_of(layout):
                set_field(rows[row], first, width, _drawn(rng, width))
    for place, row in enumerate(sections["streams"]):
        if place in in_use["streams"]:
            number = place % streams
            kind = StreamKind.INDUCTION if number == 0 else rng.choice((2, 2, 3, 4, 5))
            set_field(row, *_place(isa.STREAM, "kind"), int(kind))
            set_field(row, *_place(isa.STREAM, "queued"), 1)
            set_field(
                row, *_place(isa.STREAM, "queue"), place // (lanes * streams) * 10 + 2 * number
            )
            set_field(row, *_place(isa.STREAM, "base"), rng.randrange(words))
            for name in "ab":
                source = rng.choice((0, 0, 0, 1, 1, 2)) if number else 0
                set_field(row, *_place(isa.STREAM, name), source)
    for row in sections["units"][: depth * lanes : lanes]:
        set_field(row, *_place(isa.UNIT, "stride"), rng.choice((1, 1, 2, rng.randrange(1, 4096))))
        set_field(row, *_place(isa.UNIT, "lower"), 0)
        set_field(row, *_place(isa.UNIT, "upper"), 0)
    for row in sections["layers"][:depth]:
        for place in range(len(Event)):
            first = isa.LAYER["steps"].offset + place * isa.STEPS.size
            set_field(row, first, 8, rng.randint(0, counts["events"]))
            set_field(row, first + 8, 8, rng.choice((0, 0, 1, 2)))
        set_field(row, *_place(isa.LAYER, "mode"), rng.choice((1, 1, 2, 3)))
        set_field(row, *_place(isa.LAYER, "units"), 1)
        set_field(row, *_place(isa.LAYER, "slots"), rng.choice((1, 2)))
    for row in sections["instructions"][:-1]:
        set_field(row, *_place(INSTRUCTION, "opcode"), int(rng.choice([*Opcode])))
        if rng.random() < 0.9:
            set_field(row, *_place(INSTRUCTION, "immediate"), rng.randrange(counts["instructions"]))
        for name in "abc":
            source = rng.choice((0, 0, 1, 1, 2, 3, 4, 5))
            set_field(row, INSTRUCTION[name].offset + OPERAND["source"].offset, 3, source)
    sections["instructions"][-1] = 0
    return sections


@cache
def _place(layout: data.StructLayout, name: str) -> tuple[int, int]:
    return layout[name].offset, layout[name].width


def _drawn(rng: random.Random, width: int) -> int:
    if rng.random() < 0.05:
        return rng.getrandbits(width)
    return rng.choice((0, 0, 0, 0, 1, 1, rng.randint(0, 9)))

"""Rows of the TMU's programs, damaged, or at random."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache

import numpy as np
import numpy.typing as npt
from amaranth.lib import data

from hw.lib.execute_isa import INSTRUCTION, OPERAND, Opcode
from hw.tmu import access_isa as isa
from hw.tmu.access_isa import Event, StreamKind
from hw.tmu.config import TmuConfig

Words = npt.NDArray[np.uint32]

_LAYOUTS: Mapping[str, data.StructLayout] = {
    "layers": isa.LAYER,
    "units": isa.UNIT,
    "streams": isa.STREAM,
    "events": isa.EVENT,
    "instructions": INSTRUCTION,
}


def damaged_rows(rng: random.Random, given: Mapping[str, Words]) -> dict[str, Words]:
    """One field, or two or three, of rows that mean something are extreme, next to what they were,
    those of another row, or arbitrary; or a row is another one."""
    sections = {name: given[name].copy() for name in _LAYOUTS}
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice(("layers", "units", "streams", "streams", "events", "instructions"))
        rows, layout = sections[name], _LAYOUTS[name]
        used = np.flatnonzero(rows.any(axis=1)).tolist()
        if not used:
            continue
        row = rng.choice(used) if rng.random() < 0.95 else rng.randrange(len(rows))
        if rng.random() < 0.1:
            rows[row] = rows[rng.choice(used)]
            continue
        fields = _fields(layout)
        first, width = rng.choice(fields)
        other = _get(rows[rng.choice(used)], first, width)
        _set(rows[row], first, width, _replaced(rng, _get(rows[row], first, width), width, other))
    return sections


def _replaced(rng: random.Random, value: int, width: int, other: int) -> int:
    most = (1 << width) - 1
    extreme = (0, 1, most, most >> 1, most - 1, 1 << width - 1)
    return rng.choice(
        (
            rng.choice(extreme),
            value + 1,
            value - 1,
            value ^ 1 << rng.randrange(width),
            rng.randint(0, 6),
            rng.getrandbits(width),
            other,
        )
    )


@cache
def _fields(layout: data.StructLayout) -> list[tuple[int, int]]:
    """First bit and bits of all fields, of those within others too."""
    found: list[tuple[int, int]] = []
    for _, field in layout:
        inner = field.shape
        if isinstance(inner, data.StructLayout):
            found += [(field.offset + first, width) for first, width in _fields(inner)]
        elif isinstance(inner, data.ArrayLayout):
            for place in range(inner.length):
                begin = field.offset + place * isa.STEPS.size
                found += [(begin + first, width) for first, width in _fields(isa.STEPS)]
        else:
            found.append((field.offset, field.width))
    return found


def _get(row: Words, first: int, width: int) -> int:
    return _bits(row) >> first & (1 << width) - 1


def _set(row: Words, first: int, width: int, value: int) -> None:
    mask = (1 << width) - 1
    bits = _bits(row) & ~(mask << first) | (value & mask) << first
    row[:] = [bits >> 32 * word & 0xFFFF_FFFF for word in range(len(row))]


def _bits(row: Words) -> int:
    return int.from_bytes(row.astype("<u4").tobytes(), "little")


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
            for first, width in _fields(layout):
                _set(rows[row], first, width, _drawn(rng, width))
    for place, row in enumerate(sections["streams"]):
        if place in in_use["streams"]:
            number = place % streams
            kind = StreamKind.INDUCTION if number == 0 else rng.choice((2, 2, 3, 4, 5))
            _set(row, *_place(isa.STREAM, "kind"), int(kind))
            _set(row, *_place(isa.STREAM, "queued"), 1)
            _set(row, *_place(isa.STREAM, "queue"), place // (lanes * streams) * 10 + 2 * number)
            _set(row, *_place(isa.STREAM, "base"), rng.randrange(words))
            for name in "ab":
                source = rng.choice((0, 0, 0, 1, 1, 2)) if number else 0
                _set(row, *_place(isa.STREAM, name), source)
    for row in sections["units"][: depth * lanes : lanes]:
        _set(row, *_place(isa.UNIT, "stride"), rng.choice((1, 1, 2, rng.randrange(1, 4096))))
        _set(row, *_place(isa.UNIT, "lower"), 0)
        _set(row, *_place(isa.UNIT, "upper"), 0)
    for row in sections["layers"][:depth]:
        for place in range(len(Event)):
            first = isa.LAYER["steps"].offset + place * isa.STEPS.size
            _set(row, first, 8, rng.randint(0, counts["events"]))
            _set(row, first + 8, 8, rng.choice((0, 0, 1, 2)))
        _set(row, *_place(isa.LAYER, "mode"), rng.choice((1, 1, 2, 3)))
        _set(row, *_place(isa.LAYER, "units"), 1)
        _set(row, *_place(isa.LAYER, "slots"), rng.choice((1, 2)))
    for row in sections["instructions"][:-1]:
        _set(row, *_place(INSTRUCTION, "opcode"), int(rng.choice([*Opcode])))
        if rng.random() < 0.9:
            _set(row, *_place(INSTRUCTION, "immediate"), rng.randrange(counts["instructions"]))
        for name in "abc":
            source = rng.choice((0, 0, 1, 1, 2, 3, 4, 5))
            _set(row, INSTRUCTION[name].offset + OPERAND["source"].offset, 3, source)
    sections["instructions"][-1] = 0
    return sections


@cache
def _place(layout: data.StructLayout, name: str) -> tuple[int, int]:
    return layout[name].offset, layout[name].width


def _drawn(rng: random.Random, width: int) -> int:
    if rng.random() < 0.05:
        return rng.getrandbits(width)
    return rng.choice((0, 0, 0, 0, 1, 1, rng.randint(0, 9)))

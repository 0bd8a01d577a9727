"""Access programs as rows of words, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from amaranth.lib import data
from gnarl.hw.lib.encoding.bit_fields import BitField, bit_fields, packed, unpacked
from gnarl.hw.tmu import access_isa as isa
from gnarl.hw.tmu.access_isa import (
    AluOperation,
    Event,
    EventKind,
    Mode,
    Source,
    StreamKind,
    stream_row,
    unit_row,
)
from gnarl.hw.tmu.config import TmuConfig


@dataclass(frozen=True)
class Operand:
    """An operand of a unit or a stream, see ``Source``."""

    source: Source = Source.IMMEDIATE
    lane: int = 0
    stream: int = 0


IMMEDIATE = Operand()


def own(stream: int) -> Operand:
    """Stream ``stream`` of the unit."""
    return Operand(Source.OWN, 0, stream)


def parent(stream: int, lane: int = 0) -> Operand:
    """Stream ``stream`` of unit ``lane`` of the layer around."""
    return Operand(Source.PARENT, lane, stream)


@dataclass(frozen=True)
class Stream:
    """A row of ``isa.STREAM``."""

    kind: StreamKind = StreamKind.NONE
    operation: AluOperation = AluOperation.ADD
    a: Operand = IMMEDIATE
    b: Operand = IMMEDIATE
    queued: bool = False
    cached: bool = True
    temporal: bool = True
    queue: int = 0
    immediate: int = 0
    scale: int = 1
    base: int = 0
    length: int = 0


@dataclass(frozen=True)
class Unit:
    """A row of ``isa.UNIT``, and its streams by number."""

    lower: Operand = IMMEDIATE
    upper: Operand = IMMEDIATE
    stride: int = 1
    accumulates: bool = False
    ordered: bool = False
    lower_immediate: int = 0
    upper_immediate: int = 0
    streams: tuple[Stream, ...] = ()


@dataclass(frozen=True)
class Layer:
    """A row of ``isa.LAYER``, its units by lane, and the steps of its events."""

    mode: Mode
    units: tuple[Unit, ...]
    slots: int
    toggle: int = 0
    events: Mapping[Event, tuple[EventStep, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class EventStep:
    """A row of ``isa.EVENT``."""

    kind: EventKind
    layer: int = 0
    lane: int = 0
    stream: int = 0
    address: int = 0
    token: int = 0


@dataclass(frozen=True)
class AccessProgram:
    """Layers, the outermost first."""

    layers: tuple[Layer, ...]

    def rows(self, config: TmuConfig) -> dict[str, npt.NDArray[np.uint32]]:
        """uint32 [rows, words] of ``layers``, ``units``, ``streams`` and ``events``.

        The program keeps to the configuration's numbers of layers, lanes and streams.
        """
        layers = np.zeros((config.layers, isa.LAYER.size // 32), np.uint32)
        units = np.zeros((config.layers * config.lanes, isa.UNIT.size // 32), np.uint32)
        streams = np.zeros((len(units) * config.streams, isa.STREAM.size // 32), np.uint32)
        events: list[list[int]] = []
        for place, layer in enumerate(self.layers):
            values = {"mode": layer.mode, "slots": layer.slots, "toggle": layer.toggle}
            steps = []
            for event in Event:
                event_rows = [
                    _words(isa.EVENT, _values(one)) for one in layer.events.get(event, ())
                ]
                steps.append({"first": len(events), "count": len(event_rows)})
                events += event_rows
            layers[place] = _words(isa.LAYER, values | {"units": len(layer.units), "steps": steps})
            for lane, unit in enumerate(layer.units):
                units[unit_row(config, place, lane)] = _words(isa.UNIT, _values(unit, "streams"))
                for number, stream in enumerate(unit.streams):
                    row = stream_row(config, place, lane, number)
                    streams[row] = _words(isa.STREAM, _values(stream))
        steps_of_all = np.array(events, np.uint32).reshape(-1, isa.EVENT.size // 32)
        return {"layers": layers, "units": units, "streams": streams, "events": steps_of_all}

    @classmethod
    def decoded(
        cls, rows: Mapping[str, npt.NDArray[np.uint32]], config: TmuConfig
    ) -> AccessProgram:
        """Inverse of ``rows``; layers end before the first that is ``OFF``.

        Raises ``ValueError`` for a mode, kind, operation or source that is none, a stride of 0,
        more units than lanes, and steps that are no rows.
        """
        layers = []
        for place, row in enumerate(rows["layers"]):
            fields = _fields(isa.LAYER, row)
            if fields["mode"] == Mode.OFF:
                break
            units = []
            if fields["units"] > config.lanes:
                raise ValueError(
                    f"layer {place}: units = {fields['units']}: must be at most {config.lanes}"
                )
            for lane in range(fields["units"]):
                first = stream_row(config, place, lane, 0)
                streams = [
                    Stream(**_fields(isa.STREAM, row))
                    for row in rows["streams"][first : first + config.streams]
                ]
                while streams and not rows["streams"][first + len(streams) - 1].any():
                    streams.pop()
                unit = _fields(isa.UNIT, rows["units"][unit_row(config, place, lane)])
                if unit["stride"] == 0:
                    raise ValueError(f"layer {place}, unit {lane}: stride = 0: must be at least 1")
                units.append(Unit(**unit, streams=tuple(streams)))
            events = {
                event: _steps(rows["events"], f"layer {place}, {event.name}", **steps)
                for event, steps in zip(Event, fields["steps"], strict=True)
                if steps["count"]
            }
            layers.append(
                Layer(fields["mode"], tuple(units), fields["slots"], fields["toggle"], events)
            )
        return cls(tuple(layers))


_KINDS = {isa.STREAM: StreamKind, isa.EVENT: EventKind}
_FLAGS = ("accumulates", "ordered", "queued", "cached", "temporal")


def _steps(
    rows: npt.NDArray[np.uint32], place: str, first: int, count: int
) -> tuple[EventStep, ...]:
    if first + count > len(rows):
        raise ValueError(
            f"{place}: steps {first} to {first + count - 1}: must be below {len(rows)}, the rows"
        )
    return tuple(EventStep(**_fields(isa.EVENT, row)) for row in rows[first : first + count])


def _fields(layout: data.StructLayout, row: npt.NDArray[np.uint32]) -> Mapping[str, Any]:
    return _fields_of_row(layout, int.from_bytes(row.astype("<u4").tobytes(), "little"))


@lru_cache(maxsize=1 << 12)
def _fields_of_row(layout: data.StructLayout, bits: int) -> Mapping[str, Any]:
    values: dict[str, Any] = {}
    for name, value in unpacked(_known(layout), bits).items():
        if isinstance(value, dict):
            values[name] = Operand(Source(value["source"]), value["lane"], value["stream"])
        elif name == "kind":
            values[name] = _KINDS[layout](value)
        elif name == "operation":
            values[name] = AluOperation(value)
        elif name == "mode":
            values[name] = Mode(value)
        elif name == "steps":
            values[name] = [
                unpacked(_known(isa.STEPS), value >> place * isa.STEPS.size)
                for place in range(len(Event))
            ]
        elif name in _FLAGS:
            values[name] = bool(value)
        elif name != "padding":
            values[name] = value
    return values


@cache
def _known(layout: data.StructLayout) -> Mapping[str, BitField]:
    return bit_fields(layout)


def _values(row: Any, *without: str) -> dict[str, Any]:
    return {
        name: asdict(value) if isinstance(value, Operand) else value
        for name, value in ((one.name, getattr(row, one.name)) for one in fields(row))
        if name not in without
    }


def _words(layout: data.StructLayout, values: Mapping[str, Any]) -> list[int]:
    known = _known(layout)
    numbers = {name: value for name, value in values.items() if name in known}
    if "steps" in numbers:
        numbers["steps"] = sum(
            packed(_known(isa.STEPS), one) << place * isa.STEPS.size
            for place, one in enumerate(numbers["steps"])
        )
    bits = packed(known, numbers)
    return [bits >> shift & 0xFFFF_FFFF for shift in range(0, layout.size, 32)]

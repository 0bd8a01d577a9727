"""DLC: a program of the access unit, and one of the execute unit. Source: Ember, section IV.

The module holds one ``dlc.access`` and one ``func.func`` whose arguments are the arrays, and whose
body is of ``dlc.case``: what the execute unit does at a token. ``start`` comes first, without a
token; the case ``end`` ends the run, or ``start`` if it is alone. In a case are operations of
arith, math, memref, scf and vector, and ``slc.pop``, ``slc.get`` and ``slc.set``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Dialect, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.traits import NoTerminator

from gnarl.hw.tmu.access_isa import AluOperation, Event, EventKind, Mode, Source, StreamKind
from gnarl.hw.tmu.access_program import EventStep, Layer, Operand, Stream, Unit

START, END = "start", "end"


@irdl_op_definition
class LayerOp(IRDLOperation):
    """A layer as ``gnarl.hw.tmu.access_program.Layer`` has it; tokens of events are names of cases,
    and bases of streams names of arrays, plus words."""

    name = "dlc.layer"

    mode = prop_def(StringAttr)
    slots = prop_def(IntAttr)
    toggle = prop_def(IntAttr)
    units = prop_def(ArrayAttr)
    events = prop_def(DictionaryAttr)


@irdl_op_definition
class AccessOp(IRDLOperation):
    """Layers, the outermost first."""

    name = "dlc.access"

    layers = region_def("single_block")

    traits = traits_def(NoTerminator())

    def __init__(self, layers: Region) -> None:
        super().__init__(regions=[layers])


@irdl_op_definition
class CaseOp(IRDLOperation):
    """What the execute unit does at the token ``token``."""

    name = "dlc.case"

    token = prop_def(StringAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    def __init__(self, token: str, body: Region) -> None:
        super().__init__(properties={"token": StringAttr(token)}, regions=[body])


DLC = Dialect("dlc", [LayerOp, AccessOp, CaseOp], [])

_ENUMS = {
    "kind": (StreamKind, EventKind),
    "operation": (AluOperation,),
    "source": (Source,),
}


def layer_op(layer: Layer, tokens: Sequence[str], arrays: Mapping[tuple[int, int], str]) -> LayerOp:
    """The operation of a layer. ``tokens``: names of tokens by their numbers; ``arrays``: of the
    array that stream s of unit u reads, by (u, s), whose base is then a number of words in it."""
    units = []
    for number, unit in enumerate(layer.units):
        streams = [
            _plain(stream, {"array": StringAttr(arrays.get((number, place), ""))})
            for place, stream in enumerate(unit.streams)
        ]
        units.append(_plain(unit, {"streams": ArrayAttr(streams)}))
    events = {}
    for event, steps in layer.events.items():
        plain_steps = []
        for step in steps:
            is_token = step.kind == EventKind.TOKEN
            more = {"token": StringAttr(tokens[step.token])} if is_token else {}
            plain_steps.append(_plain(step, more))
        events[event.name.lower()] = ArrayAttr(plain_steps)
    return LayerOp(
        properties={
            "mode": StringAttr(layer.mode.name.lower()),
            "slots": IntAttr(layer.slots),
            "toggle": IntAttr(layer.toggle),
            "units": ArrayAttr(units),
            "events": DictionaryAttr(events),
        }
    )


def layer_of(op: LayerOp, tokens: Mapping[str, int], bases: Mapping[str, int]) -> Layer:
    """Inverse of ``layer_op``, with numbers of tokens and first words of arrays."""
    units = []
    for unit in op.units:
        values = unit.data
        streams = []
        for stream in values["streams"]:
            array = stream.data.get("array")
            relative: Stream = _made(Stream, stream.data)
            base = relative.base + (bases[array.data] if isinstance(array, StringAttr) else 0)
            streams.append(Stream(**{**vars(relative), "base": base}))
        unit_fields = vars(_made(Unit, values))
        units.append(Unit(**{**unit_fields, "streams": tuple(streams)}))
    events = {}
    for name, steps in op.events.data.items():
        event_steps = []
        for step in steps:  # type: ignore[attr-defined]
            token = step.data.get("token")
            token_number = tokens[token.data] if isinstance(token, StringAttr) else 0
            values = {key: value for key, value in step.data.items() if key != "token"}
            event_steps.append(
                EventStep(**{**vars(_made(EventStep, values)), "token": token_number})
            )
        events[Event[name.upper()]] = tuple(event_steps)
    return Layer(Mode[op.mode.data.upper()], tuple(units), op.slots.data, op.toggle.data, events)


def _plain(value: Any, more: Mapping[str, Attribute]) -> DictionaryAttr:
    """Fields that differ from their defaults, and ``more``."""
    fields_given: dict[str, Attribute] = {}
    plain = type(value)() if type(value) is not EventStep else EventStep(EventKind.WORD)
    for field in fields(value):
        own = getattr(value, field.name)
        if field.name in more or (own == getattr(plain, field.name) and field.name != "kind"):
            continue
        if isinstance(own, Operand):
            fields_given[field.name] = _plain(own, {})
        elif field.name in _ENUMS:
            fields_given[field.name] = StringAttr(own.name.lower())
        else:
            fields_given[field.name] = IntAttr(int(own))
    return DictionaryAttr(
        {**fields_given, **{name: each for name, each in more.items() if _says(each)}}
    )


def _says(attribute: Attribute) -> bool:
    return not isinstance(attribute, StringAttr) or attribute.data != ""


def _made(kind: Any, values: Mapping[str, Any]) -> Any:
    values_by_field = {}
    for field in fields(kind):
        attribute = values.get(field.name)
        if isinstance(attribute, DictionaryAttr):
            values_by_field[field.name] = _made(Operand, attribute.data)
        elif isinstance(attribute, StringAttr):
            enums = _ENUMS[field.name]
            chosen = enums[-1] if kind is EventStep else enums[0]
            values_by_field[field.name] = chosen[attribute.data.upper()]
        elif isinstance(attribute, IntAttr):
            is_flag = isinstance(getattr(kind, field.name, None), bool)
            values_by_field[field.name] = bool(attribute.data) if is_flag else attribute.data
    return kind(**values_by_field)

"""Programs of both units as text."""

from __future__ import annotations

from collections.abc import Iterator

from gnarl.hw.lib.encoding.execute_isa import Instruction
from gnarl.hw.lib.encoding.execute_listing import listing as execute_listing
from gnarl.hw.tmu.access_isa import UNBOUNDED, Source, StreamKind
from gnarl.hw.tmu.access_program import EventStep, Operand, Stream, Unit
from gnarl.sw.compiler.tmu.sections import access_of
from gnarl.sw.program.program import Launch


def listing(launch: Launch) -> Iterator[str]:
    """A line for each layer, unit, stream and step of an event, and for each instruction."""
    for place, layer in enumerate(access_of(launch).layers):
        yield f"# layer {place}: {layer.mode.name.lower()}, {layer.slots} slots"
        for lane, unit in enumerate(layer.units):
            yield f"#   unit {lane}: {_bounds(unit)}"
            for number, stream in enumerate(unit.streams):
                yield f"#     stream {number}: {_stream(stream)}"
        for event, steps in layer.events.items():
            yield f"#   {event.name.lower()}: {', '.join(map(_step, steps))}"
    words = launch.sections["instructions"].tolist()
    instructions = [Instruction.decoded(tuple(each)) for each in words]
    yield from execute_listing(instructions)


def _operand(operand: Operand, immediate: int) -> str:
    if operand.source == Source.IMMEDIATE:
        return str(immediate)
    if operand.source == Source.OWN:
        return f"stream {operand.stream}"
    lane = f" of unit {operand.lane}" if operand.lane else ""
    return f"parent's stream {operand.stream}{lane}"


def _bounds(unit: Unit) -> str:
    lower = _operand(unit.lower, unit.lower_immediate)
    upper = _operand(unit.upper, unit.upper_immediate)
    more = ", accumulates" if unit.accumulates else ""
    more += ", ordered" if unit.ordered else ""
    return f"from {lower} to {upper} by {unit.stride}{more}"


def _stream(stream: Stream) -> str:
    a, b = (_operand(each, stream.immediate) for each in (stream.a, stream.b))
    word = f"{stream.base} + ({a}) x {stream.scale} + ({b})"
    length = "any" if stream.length == UNBOUNDED else str(stream.length)
    text = {
        StreamKind.INDUCTION: "induction variable",
        StreamKind.MEMORY: f"memory {word}, {length} words",
        StreamKind.ADDRESS: f"address {word}, {length} words",
        StreamKind.ALU: f"{stream.operation.name.lower()} of {a} and {b}",
        StreamKind.FORWARD: f"forward {a}",
    }.get(stream.kind, "none")
    if stream.kind == StreamKind.MEMORY:
        text += "" if stream.cached else ", past the cache"
        text += "" if stream.temporal else ", not temporal"
    return f"{text}, queue at {stream.queue}" if stream.queued else text


def _step(step: EventStep) -> str:
    kind = step.kind.name.lower()
    if kind == "token":
        return f"token {step.token}"
    if kind == "mask":
        return f"mask of layer {step.layer}"
    lane = f" of unit {step.lane}" if step.lane else ""
    where = f" at its stream {step.address}" if kind == "store" else ""
    return f"{kind} of layer {step.layer}{lane}, stream {step.stream}{where}"

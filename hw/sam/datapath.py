"""What the rest of a machine sees of its blocks, whether a graph's or a fabric's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.stream.queue import Queue
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.memory.arrays import array_ports
from gnarl.hw.sam.memory_map import arrays_of
from gnarl.hw.sam.step import is_data
from gnarl.hw.sam.unit import Unit, settings_of

COUNT_BITS = 32
"""Bits of what a writer says it has written."""


class Datapath(wiring.Component):
    """Blocks and the streams between them. They start after a reset, and go until all is done.

    Subclasses put blocks and streams into a module and call ``connect_units``.

    Members
    -------
    settings
        in: an array of numbers, in the order of ``settings_of``; absent if there are none.
    ports
        out: ``ports.UNIT_ARRAY``, a ``ReadPort`` or ``WritePort`` for each array; absent if there
        are none.
    moves
        out: a bit for each output in use, in the units' order: it gives a token in this cycle.
    operations
        out: a bit for each unit that computes: a value of its operations moves in this cycle;
        absent if there are none.
    offers, faults
        out: a bit for each unit: it offers a token that is not taken; it sees something impossible.
    requests
        out: a bit for each array, in the units' order: it takes a request in this cycle; absent if
        there are none.
    done
        out: all writers that are at work are done.
    counts
        out: an array of what writers have written, in the units' order; absent if they do not say.
    """

    def __init__(self, config: SamConfig, units: Sequence[Unit], **members: Any) -> None:
        self.config = config
        self.units = tuple(units)
        counts = sum(len(unit.counts) for unit in units)
        moves = sum(len(unit.outputs) for unit in units)
        signature: dict[str, Any] = {
            "moves": Out(moves),
            "offers": Out(len(self.units)),
            "faults": Out(len(self.units)),
            "done": Out(1),
        }
        if operations := sum(bool(unit.operations) for unit in units):
            signature["operations"] = Out(operations)
        if settings := len(settings_of(units)):
            signature["settings"] = In(data.ArrayLayout(config.index_bits, settings))
        if counts:
            signature["counts"] = Out(data.ArrayLayout(COUNT_BITS, counts))
        if arrays := sum(len(unit.arrays) for unit in units):
            signature["requests"] = Out(arrays)
            signature["ports"] = Out(array_ports(arrays_of(config, units), config.index_bits))
        super().__init__(signature | members)

    def given_by(self, m: Module, component: Any, name: str, output: str) -> Any:
        """What an output of a block or unit called ``name`` gives, as the streams' latency has it:
        with 2 cycles from registers, which end the way through its logic."""
        source = getattr(component, output)
        if self.config.stream_latency == 1:
            return source
        queue = Queue(source.payload.shape(), 2)
        m.submodules[f"given_{name}_{output}"] = queue
        wiring.connect(m, source, queue.i)
        return queue.o

    def connect_units(self, m: Module, components: Sequence[Any]) -> None:
        """Everything but streams, of the component of each unit, whose members have the names of
        its outputs, settings, arrays and counts."""
        moves: list[Value] = []
        operations: list[Value] = []
        requests: list[Value] = []
        offers: list[Value] = []
        faults: list[Value] = []
        done: list[Value] = []
        counts: list[Value] = []
        settings = iter(range(len(settings_of(self.units))))
        for unit, component in zip(self.units, components, strict=True):
            outputs = [getattr(component, output) for output in unit.outputs]
            moves += [output.valid & output.ready for output in outputs]
            offers.append(Cat(output.valid & ~output.ready for output in outputs).any())
            if unit.operations:
                values = getattr(component, unit.operations)
                operations.append(values.valid & values.ready & is_data(values))
            faults.append(getattr(component, "fault", Const(0, 1)))
            counts += [getattr(component, count) for count in unit.counts]
            if unit.writes:
                done.append(component.done)
            for setting in unit.settings:
                m.d.comb += getattr(component, setting).eq(self.settings[next(settings)])
            for array in unit.arrays:
                inner = getattr(component, f"mem_{array.name}")
                outer = getattr(self.ports, unit.window(array))
                wiring.connect(m, inner, wiring.flipped(outer))
                request = outer.write if array.writes else outer.address
                requests.append(request.valid & request.ready)
        m.d.comb += [
            self.moves.eq(Cat(moves)),
            self.offers.eq(Cat(offers)),
            self.faults.eq(Cat(faults)),
            *([self.operations.eq(Cat(operations))] if operations else []),
            *([self.requests.eq(Cat(requests))] if requests else []),
            self.done.eq(Cat(done).all()),
            *(self.counts[place].eq(count) for place, count in enumerate(counts)),
        ]

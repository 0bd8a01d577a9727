"""Leads the stream engines through a loop. Source: Infinity Stream, section 5.1 (SE_core)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.cut_points import named
from gnarl.hw.lib.encoding.execute_isa import FLOAT_STAGES
from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.lib.memory.ram import TwoPortRam
from gnarl.hw.lib.select import at_index
from gnarl.hw.sram_compute import isa
from gnarl.hw.sram_compute.isa import DIMENSIONS, SLOTS, STREAMS, STRIP, When
from gnarl.hw.sram_compute.streams.stream_engine import DIVIDE_CYCLES
from gnarl.hw.sram_compute.streams.stream_step import (
    ADDRESS,
    BEGIN,
    COMPUTE,
    FETCH,
    LOOP,
    RESULT,
    STEP_BITS,
    STRIP_NUMBER,
)

STREAM = data.StructLayout(
    {name: field.shape for name, field in isa.STREAM if name not in ("opcode", "stream")}
)

OPERATION = data.StructLayout(
    {name: field.shape for name, field in isa.OPERATION if name not in ("opcode", "slot")}
)

_STEP = data.StructLayout(
    {"valid": 1, "step": unsigned(STEP_BITS), "operation": OPERATION, "stream": STREAM, "is_set": 1}
)
"""A step in one of the stages of engines."""


class _State(enum.Enum):
    IDLE = 0
    OWNER = 1
    ROTATE = 2
    FETCH = 3
    DECODE = 4
    SUM_X = 5
    SUM_Y = 6
    SUM_Z = 7
    OFFER = 8


class StreamSequencer(wiring.Component):
    """Prepares an operation on a strip of each bank, while engines do the one before, a step a
    cycle.

    An operation takes two cycles where it is left out, and is offered three behind its first where
    it accesses nothing, else six. What stores from the transposer begins when all before it is
    through.

    Parameters: ``banks``.

    Members
    -------
    command, sets_stream, sets_operation, start
        in: an ``isa.STREAM``, ``OPERATION`` or ``NEAR``, and pulses.
    is_complete
        out: the operations that the ``NEAR`` in ``command`` names are all set.
    busy
        out: from the cycle behind ``start`` on.
    is_final
        out: that of the ``NEAR`` that runs.
    loop, begin, fetch, address, compute, result, divides, advance
        out: as of ``StreamEngine``.
    access, access_done
        out, in: there is a step for the network; it is through.
    begins
        out: an operation on a strip does.
    stream
        out: the one of the step at ``address``.
    """

    def __init__(self, banks: int, command_bits: int) -> None:
        self._banks = banks
        super().__init__(
            {
                "command": In(command_bits),
                "sets_stream": In(1),
                "sets_operation": In(1),
                "start": In(1),
                "is_complete": Out(1),
                "busy": Out(1),
                "is_final": Out(1),
                "loop": Out(LOOP),
                "begin": Out(BEGIN),
                "fetch": Out(FETCH),
                "address": Out(ADDRESS),
                "compute": Out(COMPUTE),
                "result": Out(RESULT),
                "divides": Out(1),
                "advance": Out(1),
                "access": Out(1),
                "access_done": In(1),
                "begins": Out(1),
                "stream": Out(unsigned(4)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        operation, stream, is_set = self._tables(m)
        state, near = Signal(_State), Signal(isa.NEAR)
        offers, taken = Signal(), Signal()
        begins = self._prepare(m, state, near, operation, stream, is_set, taken)
        m.d.comb += offers.eq(state == _State.OFFER)
        is_through = self._step(m, operation, stream, is_set, offers, taken)
        m.d.comb += [
            self.begins.eq(taken),
            self.begin.enable.eq(taken),
            self.begin.origin.eq(begins["origin"]),
            self.begin.strip.eq(begins["strip"]),
            self.begin.stride.eq(stream.strides[0]),
            self.loop.first.eq(near.first),
            self.loop.count.eq(near.counts[0]),
            self.loop.span.eq(near.span),
            self.loop.rotation.eq(begins["rotation"]),
            self.is_final.eq(near.is_final),
            self.busy.eq((state != _State.IDLE) | ~is_through),
        ]
        return m

    def _tables(self, m: Module) -> tuple[data.View, data.View, Signal]:
        """The operation and the stream that were read last, and whether that was ever set, without
        which it is 0."""
        m.submodules.operations = operations = TwoPortRam(SLOTS, OPERATION.size)
        m.submodules.streams = streams = TwoPortRam(STREAMS, STREAM.size)
        self._operations, self._streams = operations, streams
        set_slots, set_streams, is_set = Signal(SLOTS), Signal(STREAMS), Signal()
        new_stream = data.View(isa.STREAM, self.command[: isa.STREAM.size])
        new_operation = data.View(isa.OPERATION, self.command[: isa.OPERATION.size])
        near = data.View(isa.NEAR, self.command[: isa.NEAR.size])
        needed = named(m, "needed", ((2 << near.last) - 1)[:SLOTS])
        operation, stream = Signal(OPERATION), Signal(STREAM)
        m.d.comb += [
            streams.write_address.eq(new_stream.stream),
            streams.write_enable.eq(self.sets_stream),
            streams.write_data.eq(Cat(Value.cast(new_stream[name]) for name, _ in STREAM)),
            operations.write_address.eq(new_operation.slot),
            operations.write_enable.eq(self.sets_operation),
            operations.write_data.eq(Cat(Value.cast(new_operation[name]) for name, _ in OPERATION)),
            Value.cast(operation).eq(operations.read_data),
            Value.cast(stream).eq(Mux(is_set, streams.read_data, 0)),
            self.is_complete.eq((set_slots & needed) == needed),
        ]
        with m.If(self.sets_stream):
            m.d.sync += set_streams.eq(set_streams | (1 << new_stream.stream))
        with m.If(self.sets_operation):
            m.d.sync += set_slots.eq(set_slots | (1 << new_operation.slot))
        with m.If(streams.read_enable):
            m.d.sync += is_set.eq(at_index(list(set_streams), streams.read_address))
        return operation, stream, is_set

    def _prepare(
        self,
        m: Module,
        state: Signal,
        near: data.View,
        operation: data.View,
        stream: data.View,
        is_set: Value,
        taken: Value,
    ) -> dict[str, Signal]:
        """Goes through the loop: the next operation's first element, its strip's number, and the
        bank that has the first strip."""
        bank_bits = (self._banks - 1).bit_length()
        slot = Signal(range(SLOTS))
        x, y, z = (Signal(20, name=name) for name in ("group", "y", "z"))
        origin, rotation = Signal(isa.WORD_BITS), Signal(6)
        strip, last_x = Signal(STRIP_NUMBER), Signal(isa.COUNT_BITS)
        ends_slots, ends_y, ends_x, ends_z = (
            Signal(name=f"ends_{name}") for name in ("slots", "y", "x", "z")
        )
        factor, product = Signal(isa.WORD_BITS), Signal(isa.WORD_BITS)
        term = Signal(range(DIMENSIONS))
        owner_bits = Signal(isa.WORD_BITS)
        m.d.comb += [
            strip.eq(Mux(near.span == 0, x << bank_bits, x)),
            last_x.eq(
                Mux(
                    near.span == 0,
                    ((near.counts[0] - 1)[:20] >> STEP_BITS) >> bank_bits,
                    near.span - 1,
                )
            ),
            ends_slots.eq(slot == near.last),
            ends_y.eq(y + 1 == near.counts[1]),
            ends_x.eq(x == last_x),
            ends_z.eq(z + 1 == near.counts[2]),
            product.eq(factor * at_index([*stream.strides, stream.strides[0]], term)),
            owner_bits.eq(stream.base + product),
            self._streams.read_address.eq(Mux(state == _State.OWNER, near.owner, operation.stream)),
            self._operations.read_address.eq(slot),
            self._operations.read_enable.eq(state == _State.FETCH),
        ]
        met = {
            When.FIRST_X: x == 0,
            When.LAST_X: ends_x,
            When.FIRST_Y: y == 0,
            When.LAST_Y: ends_y,
        }
        runs = Cat(~operation.when[bit] | holds for bit, holds in met.items()).all()
        accesses = operation.reads | (operation.operation == ExecuteOpcode.STORE)
        goes_on = Signal()
        with m.Switch(state):
            with m.Case(_State.IDLE):
                with m.If(self.start):
                    new = data.View(isa.NEAR, self.command[: isa.NEAR.size])
                    m.d.sync += [near.eq(new), z.eq(new.first_z), state.eq(_State.OWNER)]
            with m.Case(_State.OWNER):
                m.d.comb += self._streams.read_enable.eq(1)
                m.d.sync += state.eq(_State.ROTATE)
            with m.Case(_State.ROTATE):
                m.d.comb += [factor.eq(z), term.eq(2)]
                m.d.sync += [
                    rotation.eq(Mux(is_set, owner_bits[STEP_BITS : STEP_BITS + bank_bits], 0)),
                    state.eq(_State.FETCH),
                ]
            with m.Case(_State.FETCH):
                m.d.sync += state.eq(_State.DECODE)
            with m.Case(_State.DECODE):
                m.d.comb += self._streams.read_enable.eq(runs & accesses)
                m.d.comb += goes_on.eq(~runs)
                with m.If(runs):
                    m.d.sync += state.eq(Mux(accesses, _State.SUM_X, _State.OFFER))
            with m.Case(_State.SUM_X):
                m.d.comb += [factor.eq(strip << STEP_BITS), term.eq(0)]
                m.d.sync += [origin.eq(stream.base + product), state.eq(_State.SUM_Y)]
            with m.Case(_State.SUM_Y):
                m.d.comb += [factor.eq(y), term.eq(1)]
                m.d.sync += [origin.eq(origin + product), state.eq(_State.SUM_Z)]
            with m.Case(_State.SUM_Z):
                m.d.comb += [factor.eq(z), term.eq(2)]
                m.d.sync += [origin.eq(origin + product), state.eq(_State.OFFER)]
            with m.Case(_State.OFFER):
                m.d.comb += goes_on.eq(taken)
        self._go_on(m, state, goes_on, [slot, y, x, z], [ends_slots, ends_y, ends_x, ends_z])
        return {"origin": origin, "strip": strip, "rotation": rotation}

    def _go_on(
        self,
        m: Module,
        state: Signal,
        goes_on: Signal,
        counters: Sequence[Signal],
        ends: Sequence[Signal],
    ) -> None:
        """To the next operation; behind the last one of the loop body on to the next iteration."""
        slot, y, x, z = counters
        ends_slots, ends_y, ends_x, ends_z = ends
        with m.If(goes_on):
            m.d.sync += [slot.eq(slot + 1), state.eq(_State.FETCH)]
            with m.If(ends_slots):
                m.d.sync += [slot.eq(0), y.eq(y + 1)]
                with m.If(ends_y):
                    m.d.sync += [y.eq(0), x.eq(x + 1)]
                    with m.If(ends_x):
                        m.d.sync += [x.eq(0), z.eq(z + 1), state.eq(_State.OWNER)]
                        with m.If(ends_z):
                            m.d.sync += state.eq(_State.IDLE)

    def _step(
        self,
        m: Module,
        operation: data.View,
        stream: data.View,
        is_set: Value,
        offers: Value,
        taken: Value,
    ) -> Value:
        """Takes operations up, and goes through their steps; whether all are through."""
        fetch, address, access, come, compute = (
            Signal(_STEP, name=f"{name}_step")
            for name in ("fetch", "address", "access", "come", "compute")
        )
        results = [Signal(_STEP, name=f"result_{stage}") for stage in range(FLOAT_STAGES)]
        advance, ends = self.advance, Signal()
        is_quotient, waited = Signal(), Signal(range(DIVIDE_CYCLES))
        m.d.sync += waited.eq(Mux(is_quotient & ~advance, waited + 1, 0))
        is_empty = ~Cat(each.valid for each in (fetch, address, access, come, compute)).any()
        drains = (operation.operation == ExecuteOpcode.STORE) & operation.a_is_turned
        m.d.comb += [
            is_quotient.eq(access.valid & (access.operation.operation == ExecuteOpcode.FDIV)),
            self.divides.eq(is_quotient & (waited == 0)),
            advance.eq(
                ~access.valid | Mux(is_quotient, waited == DIVIDE_CYCLES - 1, self.access_done)
            ),
            ends.eq((fetch.step == STRIP - 1) & advance),
            taken.eq(offers & (~fetch.valid | ends) & (~drains | is_empty)),
        ]
        with m.If(advance):
            m.d.sync += [
                address.eq(fetch),
                access.eq(address),
                fetch.step.eq(fetch.step + 1),
                fetch.valid.eq(fetch.valid & ~ends),
            ]
        with m.If(taken):
            m.d.sync += [
                fetch.valid.eq(1),
                fetch.step.eq(0),
                fetch.operation.eq(operation),
                fetch.stream.eq(stream),
                fetch.is_set.eq(is_set),
            ]
        m.d.sync += [
            come.eq(access),
            come.valid.eq(access.valid & advance),
            compute.eq(come),
            *(
                after.eq(before)
                for before, after in zip([compute, *results], results, strict=False)
            ),
        ]
        self._control(m, fetch, address, access, compute, results[-1])
        in_results = Cat(each.valid for each in results).any()
        return is_empty & ~in_results

    def _control(
        self,
        m: Module,
        fetch: data.View,
        address: data.View,
        access: data.View,
        compute: data.View,
        result: data.View,
    ) -> None:
        """What engines are told in each stage."""
        of_fetch, of_address = fetch.operation, address.operation
        step_a = named(m, "step_a", (fetch.step + of_fetch.offset)[:STEP_BITS])
        stores = of_address.operation == ExecuteOpcode.STORE
        m.d.comb += [
            self.fetch.a.eq(Cat(step_a, of_fetch.a)),
            self.fetch.b.eq(Cat(fetch.step, of_fetch.b)),
            self.fetch.c.eq(Cat(fetch.step, of_fetch.c)),
            self.address.step.eq(address.step),
            self.address.accesses.eq(address.valid & (of_address.reads | stores)),
            self.address.stores.eq(stores),
            self.address.is_set.eq(address.is_set),
            self.address.is_uniform.eq(
                ~stores
                & (address.stream.strides[0] == 0)
                & ~address.stream.is_indirect
                & ~address.stream.is_transposed
            ),
            *(
                self.address[name].eq(address.stream[name])
                for name in ("is_indirect", "is_transposed", "row", "length", "scale")
            ),
            *(
                self.address[name].eq(of_address[name])
                for name in ("a_is_turned", "b_source", "immediate")
            ),
            self.stream.eq(of_address.stream),
            self.access.eq(access.valid),
            self.compute.step.eq(compute.step),
            *(
                self.compute[name].eq(compute.operation[name])
                for name in ("operation", "reads", "a_is_turned")
            ),
            self.compute.turns.eq(compute.valid & compute.operation.d_is_turned),
            self.result.place.eq(Cat(result.step, result.operation.d)),
            self.result.writes.eq(
                result.valid
                & ~result.operation.d_is_turned
                & (result.operation.operation != ExecuteOpcode.STORE)
            ),
            self.result.is_whole.eq(result.operation.is_whole),
            self.result.operation.eq(result.operation.operation),
        ]

"""The stream engine of a bank. Source: Infinity Stream, section 5.1."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.encoding.execute_isa import FLOAT_STAGES
from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.lib.encoding.execute_times import BITS_PER_CYCLE
from gnarl.hw.lib.execute.lane import Lane
from gnarl.hw.lib.float.div import FloatDivider
from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.lib.memory.cleared_ram import ClearedRam
from gnarl.hw.lib.operation import Operation
from gnarl.hw.lib.select import at_index
from gnarl.hw.sram_compute import isa
from gnarl.hw.sram_compute.isa import REGISTERS, STRIP, Second
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
from gnarl.hw.sram_compute.streams.word_network import access_layout
from gnarl.hw.sram_compute.streams.word_place import bitline_place, place_layout, word_place

_FLOAT_SUMS = {
    ExecuteOpcode.FADD: Operation.ADD,
    ExecuteOpcode.FSUB: Operation.SUB,
    ExecuteOpcode.FMIN: Operation.MIN,
    ExecuteOpcode.FMAX: Operation.MAX,
}


def _divider() -> FloatDivider:
    return FloatDivider(FLOAT_FORMATS["float32"], BITS_PER_CYCLE)


DIVIDE_CYCLES = _divider().latency + 1
"""Cycles of a step that divides, in the place of an access."""


class StreamEngine(Instanced):
    """Registers of strips, a lane, a divider, a transposer and the addresses of a bank's elements;
    all engines do the same step at a time, as the ``StreamSequencer`` has it.

    Stages of a step, each a cycle: registers are read (``fetch``); its place is found (``address``)
    and the access made, which may take longer; the word comes; ``compute``, and ``FLOAT_STAGES``
    behind it ``result``.

    Parameters: ``wordlines``, ``bitlines``, ``arrays`` of a bank, ``banks``.

    Members
    -------
    number
        in: of the bank.
    loop, begin, fetch, address, compute, result
        in: ``LOOP`` to ``RESULT``.
    divides
        in: the step that would make its access now divides, in the first of ``DIVIDE_CYCLES``.
    advance
        in: whether steps in front of the access go on.
    access
        out: an ``access_layout``.
    operand
        in: the word that was read, with ``compute``.
    is_bad
        out: the step at ``address`` has no place.
    """

    def __init__(self, wordlines: int, bitlines: int, arrays: int, banks: int) -> None:
        self._wordlines = wordlines
        self._bitlines = bitlines
        self._arrays = arrays
        self._banks = banks
        super().__init__(
            {
                "number": In(range(max(2, banks))),
                "loop": In(LOOP),
                "begin": In(BEGIN),
                "fetch": In(FETCH),
                "address": In(ADDRESS),
                "compute": In(COMPUTE),
                "result": In(RESULT),
                "divides": In(1),
                "advance": In(1),
                "access": Out(access_layout(wordlines, bitlines, arrays, banks)),
                "operand": In(32),
                "is_bad": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.registers = registers = ClearedRam(REGISTERS * STRIP, 32, 3)
        m.d.comb += registers.read_enable.eq(self.advance)
        read = {}
        for number, name in enumerate("abc"):
            m.d.comb += registers.read_addresses[number].eq(self.fetch[name])
            read[name] = registers.read_data[number]
        turned = [Signal(32, name=f"turned_{word}") for word in range(STRIP)]

        element, strip, is_there, mask = self._elements(m)
        second = Signal(32)
        m.d.comb += second.eq(read["b"])
        with m.Switch(self.address.b_source):
            with m.Case(Second.IMMEDIATE):
                m.d.comb += second.eq(self.address.immediate)
            with m.Case(Second.X):
                m.d.comb += second.eq(Cat(self.address.step, strip))
        self._find_place(m, element, read["a"], second, turned, is_there, mask)

        # What waits for the access, and then for its word.
        words = {"a": read["a"], "b": second, "c": read["c"], "there": is_there}
        words["has_word"] = Mux(self.address.is_uniform, is_there, self._accesses(is_there, mask))
        held = {name: Signal.like(value, name=f"held_{name}") for name, value in words.items()}
        come = {name: Signal.like(value, name=f"come_{name}") for name, value in words.items()}
        ready = {name: Signal.like(value, name=f"ready_{name}") for name, value in words.items()}
        with m.If(self.advance):
            m.d.sync += [held[name].eq(value) for name, value in words.items()]
        m.d.sync += [come[name].eq(value) for name, value in held.items()]
        m.d.sync += [ready[name].eq(value) for name, value in come.items()]
        m.submodules.divider = divider = _divider()
        quotient = Signal(32)
        m.d.comb += [
            divider.i.valid.eq(self.divides),
            divider.i.payload.dividend.eq(held["a"]),
            divider.i.payload.divisor.eq(held["b"]),
            divider.o.ready.eq(1),
        ]
        with m.If(divider.o.valid):  # and not again before the result is written
            m.d.sync += quotient.eq(divider.o.payload)
        self._compute(m, ready, turned, registers, quotient)
        return m

    def _elements(self, m: Module) -> tuple[Signal, Signal, Signal, Signal]:
        """The elements of the step at ``address``: the number of the word or bitline, but for an
        index; the number of the strip; whether its element is one of the loop's, and which of the
        strip's are."""
        loop, begin, banks = self.loop, self.begin, self._banks
        own, mine = Signal(STRIP_NUMBER), Signal(isa.WORD_BITS)
        behind = Signal(range(max(2, banks)))
        m.d.comb += [
            behind.eq((self.number - loop.rotation)[: (banks - 1).bit_length()]),
            own.eq(Mux(loop.span == 0, behind, self.number * loop.span)),
        ]
        m.d.sync += mine.eq((own * begin.stride) << STEP_BITS)
        next_element, stride = Signal(isa.WORD_BITS), Signal(isa.WORD_BITS)
        next_strip, next_step = Signal(STRIP_NUMBER), Signal(STEP_BITS)
        next_mask = Signal(STRIP)
        element, strip = Signal(isa.WORD_BITS), Signal(STRIP_NUMBER)
        mask, is_there = Signal(STRIP), Signal()
        whole, rest = loop.count[STEP_BITS:], loop.count[:STEP_BITS]
        ones = (1 << STRIP) - 1
        m.d.comb += next_mask.eq(
            Mux(next_strip == 0, (ones << loop.first)[:STRIP], ones)
            & Mux(
                next_strip < whole,
                ones,
                Mux(next_strip == whole, ~(ones << rest)[:STRIP], 0),
            )
        )
        with m.If(self.advance):
            m.d.sync += [
                element.eq(next_element),
                strip.eq(next_strip),
                mask.eq(next_mask),
                is_there.eq(at_index(list(next_mask), next_step)),
                next_element.eq(next_element + stride),
                next_step.eq(next_step + 1),
            ]
        with m.If(begin.enable):
            m.d.sync += [
                next_element.eq(begin.origin + mine),
                stride.eq(begin.stride),
                next_strip.eq(begin.strip + own),
                next_step.eq(0),
            ]
        return element, strip, is_there, mask

    def _accesses(self, is_there: Value, mask: Value) -> Value:
        """Rows of bits are no elements: all are accessed, if there is any element."""
        address = self.address
        is_one = address.is_uniform & (address.step == 0)
        is_any = (address.is_transposed | is_one) & mask.any()
        is_own = ~address.is_transposed & ~address.is_uniform & is_there
        return address.accesses & (is_any | is_own)

    def _find_place(
        self,
        m: Module,
        element: Value,
        index: Value,
        second: Value,
        turned: list[Signal],
        is_there: Value,
        mask: Value,
    ) -> None:
        address, arrays, banks = self.address, self._arrays, self._banks
        layout = place_layout(self._wordlines, self._bitlines, arrays, banks)
        place = Signal(isa.WORD_BITS)
        row = Signal(10)
        words = banks * arrays * self._wordlines * self._bitlines // 32
        bitlines = banks * arrays * self._bitlines
        is_beyond = Mux(
            address.is_transposed,
            (place >= bitlines) | (row >= self._wordlines),
            place >= words,
        )
        bad_index = address.is_indirect & (index >= address.length)
        accesses = Signal()
        m.d.comb += [
            place.eq(element + Mux(address.is_indirect, index[: isa.WORD_BITS] * address.scale, 0)),
            row.eq(address.row + address.step),
            accesses.eq(self._accesses(is_there, mask)),
            self.is_bad.eq(accesses & (~address.is_set | bad_index | is_beyond)),
        ]
        column = Signal(STRIP)
        m.d.comb += column.eq(Cat(at_index(list(word), address.step) for word in turned))
        of_word = word_place(layout, place, arrays, banks)
        of_bitline = bitline_place(layout, place, row, arrays, banks)
        access = self.access
        with m.If(self.advance):
            m.d.sync += [
                access.enable.eq(accesses & ~self.is_bad),
                access.write.eq(
                    Mux(
                        address.stores,
                        Mux(address.is_transposed, mask, Const((1 << 32) - 1, 32)),
                        0,
                    )
                ),
                access.data.eq(Mux(address.a_is_turned, column, second)),
                access.line.eq(place >> (LINE_WORDS - 1).bit_length()),
                access.is_transposed.eq(address.is_transposed),
                *(
                    access.place[name].eq(
                        Mux(address.is_transposed, of_bitline[name], of_word[name])
                    )
                    for name, _ in layout
                ),
            ]

    def _compute(
        self,
        m: Module,
        words: dict[str, Signal],
        turned: list[Signal],
        registers: ClearedRam,
        quotient: Value,
    ) -> None:
        compute, result = self.compute, self.result
        m.submodules.lane = lane = Lane(FLOAT_STAGES)
        left = Signal(32)
        column = Signal(STRIP)
        m.d.comb += [
            column.eq(Cat(at_index(list(word), compute.step) for word in turned)),
            left.eq(words["a"]),
            lane.opcode.eq(compute.operation),
            lane.a.eq(left),
            lane.b.eq(words["b"]),
            lane.chosen.eq(words["c"].any()),
            lane.left.eq(left),
            lane.right.eq(words["b"]),
        ]
        with m.If(compute.reads):
            m.d.comb += left.eq(Mux(words["has_word"], self.operand, 0))
        with m.Elif(compute.a_is_turned):
            m.d.comb += left.eq(column)
        for step, turned_word in enumerate(turned):
            with m.If(compute.turns & (compute.step == step)):
                m.d.sync += turned_word.eq(left)
        with m.Switch(compute.operation):
            for opcode, operation in _FLOAT_SUMS.items():
                with m.Case(opcode):
                    m.d.comb += lane.operation.eq(operation)

        integer, is_there = lane.integer, words["there"]
        for stage in range(FLOAT_STAGES - 1):
            after = Signal(32, name=f"integer_{stage}", reset_less=True)
            m.d.sync += after.eq(integer)
            integer = after
        for stage in range(FLOAT_STAGES):
            there = Signal(name=f"there_{stage}")
            m.d.sync += there.eq(is_there)
            is_there = there
        word = self._choose_result(m, lane, integer, quotient)
        m.d.comb += [
            registers.write_address.eq(result.place),
            registers.write_enable.eq(result.writes & (is_there | result.is_whole)),
            registers.write_data.eq(word),
        ]

    def _choose_result(self, m: Module, lane: Lane, integer: Value, quotient: Value) -> Signal:
        """The result of the operation that ends."""
        word = Signal(32)
        m.d.comb += word.eq(integer)
        with m.Switch(self.result.operation):
            with m.Case(*_FLOAT_SUMS):
                m.d.comb += word.eq(lane.total)
            with m.Case(ExecuteOpcode.FMUL):
                m.d.comb += word.eq(lane.multiplied)
            with m.Case(ExecuteOpcode.FDIV):
                m.d.comb += word.eq(quotient)
            with m.Case(ExecuteOpcode.TO_FLOAT):
                m.d.comb += word.eq(lane.converted)
            with m.Case(ExecuteOpcode.MUL):
                m.d.comb += word.eq(lane.product)
        return word

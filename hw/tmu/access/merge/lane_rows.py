"""The rows of all units of a layer, and of their streams, in memories that the host writes."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.memory.ram import TwoPortRam
from gnarl.hw.tmu.access_isa import OPERAND, STREAM, UNIT, Source, StreamKind

UNIT_WORDS = UNIT.size // 32
STREAM_WORDS = STREAM.size // 32

OPERANDS = data.ArrayLayout(OPERAND, 2)
"""A unit's ``lower`` and ``upper``, or a stream's ``a`` and ``b``."""


def word_signature(rows: int, words: int) -> wiring.Signature:
    """A port that writes ``data`` to a word of a row where ``enable``."""
    return wiring.Signature(
        {
            "enable": Out(1),
            "row": Out(range(rows)),
            "word": Out(range(words)),
            "data": Out(32),
        }
    )


class LaneRows(Instanced):
    """Rows are read a cycle after they are asked for. A reset leaves them as they are.

    Stream n of unit k has place k x ``streams`` + n, of which the first of a unit stands for its
    bounds where operands are meant.

    Members
    -------
    unit_words, stream_words
        in: ``word_signature``, rows by lane and by place, one word of both together a cycle.
    operand_place, operands
        in, and out: ``OPERANDS`` of a place.
    lane, unit, coordinate
        in, and out: a unit, and its stream 1.
    place, stream
        in, and out: a stream.
    works
        out: places of streams from 2 on whose values are to be found.
    needs
        out: for each place, whether its operands are the parent's.
    queued
        out: streams that have a queue in any unit.
    """

    def __init__(self, lanes: int, streams: int) -> None:
        self._lanes = lanes
        self._streams = streams
        places = lanes * streams
        super().__init__(
            {
                "unit_words": In(word_signature(lanes, UNIT_WORDS)),
                "stream_words": In(word_signature(places, STREAM_WORDS)),
                "operand_place": In(range(places)),
                "operands": Out(OPERANDS),
                "lane": In(range(lanes)),
                "unit": Out(UNIT),
                "coordinate": Out(STREAM),
                "place": In(range(places)),
                "stream": Out(STREAM),
                "works": Out(places),
                "needs": Out(data.ArrayLayout(2, places)),
                "queued": Out(streams),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lanes, streams = self._lanes, self._streams
        firsts = range(0, lanes * streams, streams)
        unit, row = self.unit_words, self.stream_words

        is_coordinate, lane = Signal(), Signal(range(lanes))
        for number, first in enumerate(firsts):
            with m.If(row.row == first + 1):
                m.d.comb += [is_coordinate.eq(1), lane.eq(number)]
        self._add_memory(m, "unit", lanes, unit, unit.row, unit.enable, self.lane, self.unit)
        writes = row.enable & is_coordinate
        self._add_memory(m, "coordinate", lanes, row, lane, writes, self.lane, self.coordinate)
        places = lanes * streams
        self._add_memory(m, "stream", places, row, row.row, row.enable, self.place, self.stream)

        # What has to be known of all rows at once is kept beside them.
        is_unit, is_stream = Signal(), Signal()
        operands = Signal(OPERANDS)
        place = Signal(range(places))
        begins = Signal(STREAM)
        bounds = Signal(UNIT)
        is_first = Cat(row.row == first for first in firsts).any()
        m.d.comb += [
            begins.as_value().eq(row.data),
            bounds.as_value().eq(unit.data),
            is_unit.eq(unit.enable & (unit.word == 0)),
            is_stream.eq(row.enable & (row.word == 0)),
            place.eq(Mux(is_unit, unit.row * streams, row.row)),
            operands[0].eq(Mux(is_unit, bounds.lower.as_value(), begins.a.as_value())),
            operands[1].eq(Mux(is_unit, bounds.upper.as_value(), begins.b.as_value())),
        ]
        has_operands = Signal()
        m.d.comb += has_operands.eq(is_unit | (is_stream & ~is_first))
        m.submodules.operands = memory = TwoPortRam(places, OPERANDS.size)
        m.d.comb += [
            memory.write_address.eq(place),
            memory.write_enable.eq(has_operands),
            memory.write_data.eq(operands.as_value()),
            memory.read_address.eq(self.operand_place),
            memory.read_enable.eq(1),
            self.operands.as_value().eq(memory.read_data),
        ]
        self._note_rows(m, begins, is_stream, operands, place, has_operands)
        return m

    def _note_rows(
        self,
        m: Module,
        begins: Any,
        is_stream: Signal,
        operands: Any,
        place: Signal,
        has_operands: Signal,
    ) -> None:
        """Notes of each row what it ``begins`` with, if it ``is_stream``, and whose operands are
        the parent's."""
        streams, row = self._streams, self.stream_words
        places = self._lanes * streams
        kind = begins.kind
        is_value = kind.matches(StreamKind.MEMORY, StreamKind.ALU, StreamKind.ADDRESS)
        queued = Signal(places, reset_less=True)
        works: list[Value] = []
        needs = Signal.like(self.needs, reset_less=True)
        for number in range(places):
            work = Signal(name=f"works_{number}", reset_less=True)
            works.append(work if number % streams >= 2 else Const(0))
            with m.If(is_stream & (row.row == number)):
                m.d.sync += [
                    queued[number].eq(begins.queued),
                    work.eq(is_value | (kind == StreamKind.FORWARD)),
                ]
            with m.If(has_operands & (place == number)):
                m.d.sync += needs[number].eq(Cat(one.source == Source.PARENT for one in operands))
        m.d.comb += [
            self.works.eq(Cat(works)),
            self.needs.eq(needs),
            self.queued.eq(Cat(queued[number::streams].any() for number in range(streams))),
        ]

    def _add_memory(
        self,
        m: Module,
        name: str,
        rows: int,
        words: Any,
        write_row: Value,
        writes: Value,
        row: Value,
        output: Any,
    ) -> None:
        """A memory of rows that are written word by word."""
        read = []
        for word in range(len(output.as_value()) // 32):
            m.submodules[f"{name}_{word}"] = ram = TwoPortRam(rows, 32)
            m.d.comb += [
                ram.write_address.eq(write_row),
                ram.write_enable.eq(writes & (words.word == word)),
                ram.write_data.eq(words.data),
                ram.read_address.eq(row),
                ram.read_enable.eq(1),
            ]
            read.append(ram.read_data)
        m.d.comb += output.as_value().eq(Cat(read))

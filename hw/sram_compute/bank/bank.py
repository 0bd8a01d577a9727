"""A bank: arrays in lockstep, their controller, and a port for words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.integer.count_ones import count_ones
from gnarl.hw.lib.select import at_index
from gnarl.hw.lib.stream.bypass_queue import BypassQueue
from gnarl.hw.sram_compute.array.shifting_array import ShiftingArray, picks_layout, rotated
from gnarl.hw.sram_compute.bank.bank_command import bank_command_layout
from gnarl.hw.sram_compute.bank.issue_stage import IssueStage
from gnarl.hw.sram_compute.bank.mover import MERGE
from gnarl.hw.sram_compute.bank.tensor_controller import TensorController

WORD_BITS = 32

READS = 3
"""Words that may be under way: one is read, one is selected, one waits."""

ROW_CYCLES = 2
"""From a row's read at the row port to the row."""


def word_request_layout(
    wordlines: int, bitlines: int, arrays: int, *, pairs: bool = False
) -> data.StructLayout:
    """A word of a row: of bitlines ``WORD_BITS`` x ``group`` and on. ``write``: its bits that are
    set become those of ``data``; where it is 0, the word is read.

    With ``pairs``, one that ``is_pair`` is half of the bitlines of that array, which is even, and
    half of the same of the next array: the low ones, or the high ones if it ``is_high``. ``write``
    has them where they are in each array, ``data`` and what is read one behind the other."""
    fields = {
        "array": range(max(2, arrays)),
        "row": range(wordlines),
        "group": range(bitlines // WORD_BITS),
        "write": WORD_BITS,
        "data": WORD_BITS,
    }
    return data.StructLayout(fields | {"is_pair": 1, "is_high": 1} if pairs else fields)


class RowPort(wiring.Signature):
    """Rows of a bank's arrays, a read and a write a cycle, of different rows.

    Members: ``read_enable``, ``read_row``; ``array``, ``distance`` out: in the cycle behind the
    read: whose row it is to be, and by how many bitlines up, around the end; ``row`` in: the row,
    ``ROW_CYCLES`` behind the read. ``write_enable``, ``write_row``, ``mask``, ``arrays`` out: bits
    of ``mask`` of that row of those arrays become those of ``data``; or if they go ``by_bits``,
    bits of each array at ``places`` become those that it has ``received``. ``takes``, ``picks``
    out, ``sent`` in: as of ``ShiftingArray``, the first in the cycle behind the read.
    """

    def __init__(self, wordlines: int, bitlines: int, arrays: int, tree_bits: int) -> None:
        super().__init__(
            {
                "read_enable": Out(1),
                "read_row": Out(range(wordlines)),
                "array": Out(range(max(2, arrays))),
                "distance": Out(range(bitlines)),
                "row": In(bitlines),
                "write_enable": Out(1),
                "write_row": Out(range(wordlines)),
                "mask": Out(bitlines),
                "arrays": Out(arrays),
                "data": Out(bitlines),
                "by_bits": Out(1),
                "places": Out(picks_layout(bitlines, tree_bits)),
                "received": Out(data.ArrayLayout(tree_bits, arrays)),
                "takes": Out(1),
                "picks": Out(picks_layout(bitlines, tree_bits)),
                "sent": In(data.ArrayLayout(tree_bits, arrays)),
            }
        )


class Bank(Instanced):
    """``arrays`` arrays, which all do the same row operations.

    Words are read and written one a cycle while no command is under way, in the order of requests.
    Rows are, too; not in cycles in which words are.

    Parameters: as of ``TensorController``; ``tree_bits``; ``pairs``: words may be pairs.

    Members: ``first_tile``, ``command``, ``busy``, ``computes`` and ``moves``, as of
    ``TensorController``; ``request``, a stream in of ``word_request_layout``; ``response``, a
    stream out of the words that were read; ``rows``, a ``RowPort`` in; ``bits_moved`` out: bits
    that a move took from one bitline to another, in the cycle before.
    """

    def __init__(
        self,
        wordlines: int,
        bitlines: int,
        arrays: int,
        tree_bits: int,
        tiles: int,
        rom: Sequence[int],
        skips: bool,
        pairs: bool = False,
    ) -> None:
        self._pairs = pairs
        self._wordlines = wordlines
        self._bitlines = bitlines
        self._arrays = arrays
        self._tree_bits = tree_bits
        self._tiles = tiles
        self._rom = rom
        self._skips = skips
        command = bank_command_layout(wordlines, bitlines, tiles, len(rom))
        self._request = word_request_layout(wordlines, bitlines, arrays, pairs=pairs)
        super().__init__(
            {
                "first_tile": In(range(tiles)),
                "command": In(stream.Signature(command)),
                "busy": Out(1),
                "computes": Out(1),
                "moves": Out(1),
                "bits_moved": Out(range(arrays * bitlines + 1)),
                "request": In(stream.Signature(self._request)),
                "response": Out(stream.Signature(unsigned(WORD_BITS))),
                "rows": In(RowPort(wordlines, bitlines, arrays, tree_bits)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.controller = controller = TensorController(
            self._wordlines, self._bitlines, self._arrays, self._tiles, self._rom, self._skips
        )
        m.submodules.stage = stage = IssueStage(self._wordlines)
        arrays = [
            ShiftingArray(self._wordlines, self._bitlines, self._tree_bits)
            for _ in range(self._arrays)
        ]
        wiring.connect(m, controller.command, wiring.flipped(self.command))
        mask, enabled = Signal(self._bitlines), Signal(self._arrays)
        inward, row = Signal.like(controller.inward), Signal(self._bitlines)
        moves_bits = Signal()
        m.d.comb += [
            controller.first_tile.eq(self.first_tile),
            controller.any_predicate.eq(Cat(each.any_predicate for each in arrays).any()),
            self.busy.eq(controller.busy),
            self.computes.eq(controller.computes),
            self.moves.eq(controller.moves),
            stage.read.eq(controller.read),
            stage.operation.eq(controller.operation),
            inward.eq(controller.inward),
            self.bits_moved.eq(Mux(moves_bits, count_ones(mask) * count_ones(enabled), 0)),
        ]
        m.d.sync += [
            mask.eq(controller.mask),
            enabled.eq(controller.enabled),
            moves_bits.eq(
                controller.operation.enable
                & controller.operation.is_inward
                & ~controller.inward.is_constant
            ),
        ]
        for number, array in enumerate(arrays):
            m.submodules[f"array_{number}"] = array
            m.d.comb += [
                array.read.eq(stage.read),
                array.compute.eq(stage.compute),
                array.inward.eq(inward),
                array.mask.eq(mask),
                array.is_enabled.eq(enabled[number]),
            ]
        halves = self._access_words(m, arrays, stage, inward, row, mask, enabled)
        for number, array in enumerate(arrays):
            outside: Value = row
            if self._pairs:
                is_pair = self.request.valid & self.request.payload.is_pair
                outside = Mux(is_pair, halves[number % 2], row)
            m.d.comb += array.outside.eq(outside)
        self._access_rows(m, arrays, stage, inward, row, mask, enabled)
        return m

    def _access_words(
        self,
        m: Module,
        arrays: list[ShiftingArray],
        stage: IssueStage,
        inward: data.View,
        row: Signal,
        mask: Signal,
        enabled: Signal,
    ) -> list[Value]:
        """Gives the rows that even and odd arrays take of a pair."""
        m.submodules.words = words = BypassQueue(unsigned(WORD_BITS), READS)
        wiring.connect(m, words.o, wiring.flipped(self.response))
        request, is_read = self.request.payload, Signal()
        read_array, read_group = Signal.like(request.array), Signal.like(request.group)
        under_way = Signal(range(READS + 1))
        accepted = self.request.valid & self.request.ready
        groups, writes = self._bitlines // WORD_BITS, request.write.any()
        read_words = [
            at_index(
                [array.row.word_select(group, WORD_BITS) for group in range(groups)], read_group
            )
            for array in arrays
        ]
        m.d.comb += [
            self.request.ready.eq(~self.busy & (under_way != READS)),
            row.eq(request.data.replicate(groups)),
            words.i.valid.eq(is_read),
            words.i.payload.eq(self._read_word(m, read_words, read_array)),
        ]
        m.d.sync += [
            is_read.eq(accepted & ~writes),
            read_array.eq(request.array),
            read_group.eq(request.group),
            under_way.eq(
                under_way + (accepted & ~writes) - (self.response.valid & self.response.ready)
            ),
        ]
        with m.If(accepted):
            operation = stage.operation
            m.d.comb += [
                stage.read.enable.eq(1),
                stage.read.a.eq(request.row),
                stage.read.b.eq(request.row),
                *_merge(operation, writes, request.row),
                inward.is_outside.eq(1),
            ]
            m.d.sync += [
                mask.eq(
                    Cat(Mux(request.group == group, request.write, 0) for group in range(groups))
                ),
                enabled.eq((Mux(request.is_pair, 3, 1) if self._pairs else 1) << request.array),
            ]
        half = WORD_BITS // 2
        parts = request.data[:half], request.data[half:]
        return [each.replicate(2 * groups) for each in parts]

    def _read_word(self, m: Module, words: list[Value], array: Signal) -> Value:
        """The word of an array that was asked for in the cycle before, or of two."""
        if not self._pairs:
            return at_index(words, array)
        is_pair, is_high = Signal(), Signal()
        request, half = self.request.payload, WORD_BITS // 2
        m.d.sync += [is_pair.eq(request.is_pair), is_high.eq(request.is_high)]
        parts = [at_index(words[first::2], array[1:]) for first in (0, 1)]
        halves = [Mux(is_high, each[half:], each[:half]) for each in parts]
        return Mux(is_pair, Cat(*halves), Mux(array[0], parts[1], parts[0]))

    def _access_rows(
        self,
        m: Module,
        arrays: list[ShiftingArray],
        stage: IssueStage,
        inward: data.View,
        row: Signal,
        mask: Signal,
        enabled: Signal,
    ) -> None:
        rows = self.rows
        m.d.sync += rows.row.eq(
            rotated(m, at_index([array.row for array in arrays], rows.array), rows.distance)
        )
        for number, array in enumerate(arrays):
            m.d.comb += [
                array.takes.eq(rows.takes),
                array.picks.eq(rows.picks),
                rows.sent[number].eq(array.sent),
                array.places.eq(rows.places),
                array.received.eq(rows.received[number]),
            ]
        with m.If(rows.read_enable):
            m.d.comb += [stage.read.enable.eq(1), stage.read.a.eq(rows.read_row)]
        with m.If(rows.write_enable):
            m.d.comb += [
                stage.read.enable.eq(1),
                stage.read.b.eq(rows.write_row),
                *_merge(stage.operation, Const(1), rows.write_row),
                inward.is_outside.eq(~rows.by_bits),
                inward.by_bits.eq(rows.by_bits),
                row.eq(rows.data),
            ]
            m.d.sync += [mask.eq(rows.mask), enabled.eq(rows.arrays)]


def _merge(operation: data.View, enable: Value, row: Value) -> list[Any]:
    """An operation that merges what comes from outside with ``row``."""
    return [
        operation.enable.eq(enable),
        operation.is_inward.eq(1),
        operation.write.eq(MERGE),
        operation.write_enable.eq(1),
        operation.d.eq(row),
    ]

"""Steps of a shift whose arrays send bits all at once."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.cut_points import named
from gnarl.hw.lib.integer.count_ones import count_ones
from gnarl.hw.lib.integer.lowest_one import lowest_one, position
from gnarl.hw.sram_compute.array.shifting_array import picks_layout
from gnarl.hw.sram_compute.isa import WIDTH_BITS
from gnarl.hw.sram_compute.network.row_network import row_step_layout
from gnarl.hw.sram_compute.network.tree_port import chunks


class PackedShift(wiring.Component):
    """All arrays send the lowest ``tree_bits`` of the bits that change, of one row after another,
    then the next ones. A row takes a cycle, or one for each chunk of ``TreePort`` in which bits go
    to another bank.

    Source: Infinity Stream, section 5.2: an H-tree brings the bits that change, not arrays.

    Parameters: as of ``row_step_layout``.

    Members
    -------
    a, d, n, between
        in: of the ``isa.SHIFT``.
    bitlines, tiles
        in: masks of those that change.
    start, sends, ends
        in, out, out: a step comes in each cycle behind ``start``, while it ``sends``, until the
        last one with ``ends``; all of the above are held as long.
    step, turn, foreign
        out: as of ``RowNetwork``; the latter two stay until the next ``start``.
    bits
        out: how many bits an array sends in this step.
    """

    def __init__(
        self,
        banks: int,
        arrays: int,
        wordlines: int,
        bitlines: int,
        tree_bits: int,
        network_bits: int,
    ) -> None:
        self._banks = banks
        self._arrays = arrays
        self._bitlines = bitlines
        self._tree_bits = tree_bits
        self._chunks = chunks(arrays, tree_bits, network_bits)
        size = (banks, arrays, wordlines, bitlines, tree_bits, network_bits)
        super().__init__(
            {
                "a": In(range(wordlines)),
                "d": In(range(wordlines)),
                "n": In(unsigned(WIDTH_BITS)),
                "between": In(range(banks * arrays)),
                "bitlines": In(bitlines),
                "tiles": In(banks * arrays),
                "start": In(1),
                "sends": Out(1),
                "ends": Out(1),
                "step": Out(row_step_layout(*size)),
                "turn": Out(range(max(2, arrays))),
                "foreign": Out(arrays),
                "bits": Out(range(tree_bits + 1)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        step, arrays = self.step, self._arrays
        places = Signal(picks_layout(self._bitlines, self._tree_bits))
        left, row = Signal(self._bitlines), Signal(WIDTH_BITS)
        crossing, remaining = Signal(self._chunks), Signal(self._chunks)
        chunk, rest, begins = Signal(self._chunks), Signal(self._chunks), Signal()
        ends_row, ends_places, picks = Signal(), Signal(), Signal()
        neighbours, foreign = self._aim(m)
        picked, others = self._lowest(m, Mux(self.start, self.bitlines, left))
        tiles = [self.tiles.word_select(bank, arrays) for bank in range(self._banks)]
        size = arrays // self._chunks
        used = reduce(or_, tiles) & foreign
        in_chunk = Cat(bit.replicate(size) for bit in chunk)
        m.d.comb += [
            chunk.eq(lowest_one(remaining)),
            rest.eq(remaining & ~chunk),
            ends_row.eq(self.sends & (rest == 0)),
            ends_places.eq(ends_row & (row + 1 == self.n)),
            picks.eq(self.start | ends_places),
            self.ends.eq(ends_places & (left == 0)),
            self.bits.eq(count_ones(Cat(places[lane].any() for lane in range(self._tree_bits)))),
            step.enable.eq(self.sends),
            step.first.eq(begins),
            step.last.eq(1),
            step.by_bits.eq(1),
            step.read_row.eq(self.a + row),
            step.write_row.eq(self.d + row),
            step.places.eq(places),
            step.chunk.eq(position(chunk)),
        ]
        for bank, own in enumerate(tiles):
            taken = named(m, f"taken_{bank}", own & self.foreign & in_chunk)
            m.d.comb += [
                step.targets[bank].eq(taken | Mux(begins, own & ~self.foreign, 0)),
                step.sources[bank].eq(Mux(taken.any(), neighbours[bank], bank)),
            ]
        with m.If(self.sends):
            m.d.sync += [
                begins.eq(ends_row),
                remaining.eq(Mux(ends_row, crossing, rest)),
                row.eq(row + ends_row),
            ]
        with m.If(picks):
            m.d.sync += [
                *(places[lane].eq(bit) for lane, bit in enumerate(picked)),
                left.eq(others),
                row.eq(0),
                self.sends.eq(~self.ends),
            ]
        with m.If(self.start):
            needed = Cat(used.word_select(part, size).any() for part in range(self._chunks))
            m.d.sync += [
                self.foreign.eq(foreign),
                crossing.eq(needed),
                remaining.eq(needed),
                begins.eq(1),
            ]
        return m

    def _lowest(self, m: Module, mask: Value) -> tuple[list[Value], Value]:
        """The lowest ``tree_bits`` bits of a mask, each by itself, and the others."""
        found = list[Value]()
        for lane in range(self._tree_bits):
            found.append(named(m, f"lowest_{lane}", lowest_one(mask)))
            mask = named(m, f"others_{lane}", mask & ~found[-1])
        return found, mask

    def _aim(self, m: Module) -> tuple[list[Value], Value]:
        """The bank that each takes from; and which arrays take its bits, those of the bank before
        theirs, or of the one behind. Sets by how many arrays bits go up."""
        array_bits, banks = (self._arrays - 1).bit_length(), self._banks
        turn, away = self.between[:array_bits], self.between[array_bits:]
        with m.If(self.start):
            m.d.sync += self.turn.eq(turn)
        if banks == 1:
            return [Const(0)], Const(0, self._arrays)
        wrapped = named(m, "wrapped", ((1 << turn) - 1)[: self._arrays])
        neighbours: list[Value] = [
            Mux(away == 0, Const((bank - 1) % banks), Const((bank + 1) % banks))
            for bank in range(banks)
        ]
        return neighbours, Mux(away == 0, wrapped, ~wrapped)

"""The ways of rows from tile to tile, within banks and between them."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.cut_points import named
from gnarl.hw.sram_compute.array.shifting_array import picks_layout, rotated
from gnarl.hw.sram_compute.bank.bank import ROW_CYCLES, RowPort
from gnarl.hw.sram_compute.network.exchange_port import ExchangePort
from gnarl.hw.sram_compute.network.tree_port import TreePort, chunks

SEND_CYCLES = ROW_CYCLES + 1
"""From a row's read until it is sent, which is its write, too."""


def row_step_layout(
    banks: int, arrays: int, wordlines: int, bitlines: int, tree_bits: int, network_bits: int
) -> data.StructLayout:
    """What is done with a row of each bank in a cycle.

    enable
        whether anything is.
    first, last, flit
        the cycle is the row's first, its last; the number of the part that is sent.
    read_row, array
        the row that is read, and in which array of all banks.
    write_row, targets
        the row and the tiles that it goes to.
    sources
        of each bank, the one whose row it takes.
    by_bits
        whether arrays send bits, each to the one ``turn`` further on, instead of whole rows.
    places
        which bits: a ``picks_layout`` of bitlines that change.
    chunk
        which part of those that all arrays send goes over the network.
    """
    return data.StructLayout(
        {
            "enable": 1,
            "first": 1,
            "last": 1,
            "flit": range(bitlines // network_bits),
            "read_row": range(wordlines),
            "array": range(max(2, arrays)),
            "write_row": range(wordlines),
            "targets": data.ArrayLayout(arrays, banks),
            "sources": data.ArrayLayout(range(max(2, banks)), banks),
            "by_bits": 1,
            "places": picks_layout(bitlines, tree_bits),
            "chunk": range(max(2, chunks(arrays, tree_bits, network_bits))),
        }
    )


class RowNetwork(wiring.Component):
    """Does steps of rows, one in each cycle. The network has no queues: a bank takes from one other
    at most in a cycle. In one exchange all steps go by bits, or none does.

    Latency: ``SEND_CYCLES`` from a row's first step until its first part is sent, and from its last
    step until it is written.

    Parameters: as of ``row_step_layout``.

    Members
    -------
    step
        in: a ``row_step_layout``.
    distance
        in: by how many bitlines up all rows are brought, around the end.
    mask, moves
        in: which bitlines change, and as ``bit_packer.PackPlan`` has them. Both, and
        ``distance``, are held until the last row is written.
    turn, foreign
        in: as of ``TreePort``, of all banks; held as long.
    busy
        out: rows are under way.
    received
        out: of the banks, those that take a row of another in this cycle, the last part of it.
    rows0, rows1, …
        out: a ``RowPort`` of each bank.
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
        self._network_bits = network_bits
        self._step = row_step_layout(banks, arrays, wordlines, bitlines, tree_bits, network_bits)
        stages = (bitlines - 1).bit_length()
        rows = RowPort(wordlines, bitlines, arrays, tree_bits)
        super().__init__(
            {
                "step": In(self._step),
                "distance": In(range(bitlines)),
                "mask": In(bitlines),
                "moves": In(data.ArrayLayout(bitlines, stages)),
                "turn": In(range(max(2, arrays))),
                "foreign": In(arrays),
                "busy": Out(1),
                "received": Out(banks),
                **{f"rows{bank}": Out(rows) for bank in range(banks)},
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        steps = [self.step]
        for cycle in range(SEND_CYCLES):
            steps.append(Signal(self._step, name=f"step_{cycle + 1}"))
            m.d.sync += steps[-1].eq(steps[-2])
        read, select, load, send = steps
        m.d.comb += self.busy.eq(select.enable | load.enable | send.enable)
        links = Signal(data.ArrayLayout(self._network_bits, self._banks))
        picks = Signal(picks_layout(self._bitlines, self._tree_bits))
        places = [select.places[lane] for lane in range(self._tree_bits)]
        back = (-self.distance)[: len(self.distance)]
        changed = Signal(self._bitlines)
        m.d.comb += changed.eq(reduce(or_, (send.places[lane] for lane in range(self._tree_bits))))
        for lane, place in enumerate(places):
            m.d.comb += picks[lane].eq(named(m, f"picks_{lane}", rotated(m, place, back)))
        for bank in range(self._banks):
            port = ExchangePort(self._bitlines, self._banks, self._network_bits)
            m.submodules[f"port_{bank}"] = port
            tree = TreePort(self._arrays, self._banks, self._tree_bits, self._network_bits)
            m.submodules[f"tree_{bank}"] = tree
            rows, targets = getattr(self, f"rows{bank}"), send.targets[bank]
            writes = send.enable & (send.last | send.by_bits) & targets.any()
            m.d.comb += [
                rows.read_enable.eq(read.enable & read.first),
                rows.read_row.eq(read.read_row),
                rows.array.eq(select.array),
                rows.distance.eq(self.distance),
                port.number.eq(bank),
                port.row.eq(rows.row),
                port.load.eq(load.enable & load.first),
                port.mask.eq(self.mask),
                port.moves.eq(self.moves),
                port.flit.eq(send.flit),
                port.links.eq(links),
                port.source.eq(send.sources[bank]),
                tree.sent.eq(rows.sent),
                tree.load.eq(load.enable & load.first & load.by_bits),
                tree.turn.eq(self.turn),
                tree.foreign.eq(self.foreign),
                tree.chunk.eq(send.chunk),
                tree.links.eq(links),
                tree.source.eq(send.sources[bank]),
                links[bank].eq(Mux(send.by_bits, tree.link, port.sent)),
                rows.takes.eq(select.enable & select.first & select.by_bits),
                rows.picks.eq(picks),
                rows.by_bits.eq(send.by_bits),
                rows.places.eq(send.places),
                rows.received.eq(tree.received),
                rows.write_enable.eq(writes),
                rows.write_row.eq(send.write_row),
                rows.mask.eq(Mux(send.by_bits, changed, self.mask)),
                rows.arrays.eq(targets),
                rows.data.eq(port.data),
                self.received[bank].eq(writes & (send.sources[bank] != bank)),
            ]
        return m

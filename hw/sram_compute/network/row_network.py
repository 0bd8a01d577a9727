"""The ways of rows from tile to tile, within banks and between them."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.sram_compute.bank.bank import ROW_CYCLES, RowPort
from gnarl.hw.sram_compute.network.exchange_port import ExchangePort

SEND_CYCLES = ROW_CYCLES + 1
"""From a row's read until it is sent, which is its write, too."""


def row_step_layout(
    banks: int, arrays: int, wordlines: int, bitlines: int, network_bits: int
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
        }
    )


class RowNetwork(wiring.Component):
    """Does steps of rows, one in each cycle. The network has no queues: a bank takes from one other
    at most in a cycle.

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
    busy
        out: rows are under way.
    received
        out: of the banks, those that take a row of another in this cycle, the last part of it.
    rows0, rows1, …
        out: a ``RowPort`` of each bank.
    """

    def __init__(
        self, banks: int, arrays: int, wordlines: int, bitlines: int, network_bits: int
    ) -> None:
        self._banks = banks
        self._bitlines = bitlines
        self._network_bits = network_bits
        self._step = row_step_layout(banks, arrays, wordlines, bitlines, network_bits)
        stages = (bitlines - 1).bit_length()
        rows = RowPort(wordlines, bitlines, arrays)
        super().__init__(
            {
                "step": In(self._step),
                "distance": In(range(bitlines)),
                "mask": In(bitlines),
                "moves": In(data.ArrayLayout(bitlines, stages)),
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
        for bank in range(self._banks):
            port = ExchangePort(self._bitlines, self._banks, self._network_bits)
            m.submodules[f"port_{bank}"] = port
            rows, targets = getattr(self, f"rows{bank}"), send.targets[bank]
            writes = send.enable & send.last & targets.any()
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
                links[bank].eq(port.sent),
                rows.write_enable.eq(writes),
                rows.write_row.eq(send.write_row),
                rows.mask.eq(self.mask),
                rows.arrays.eq(targets),
                rows.data.eq(port.data),
                self.received[bank].eq(writes & (send.sources[bank] != bank)),
            ]
        return m

"""What has gone wrong, and where: faults of blocks, and runs in which nothing moves any more."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.lib.cut_points import named
from hw.lib.lowest_one import lowest_one, position
from hw.sam.memory_map import ErrorCause


class FaultRecorder(wiring.Component):
    """Keeps the faults of a cycle, and names the one that counts: that of the lowest block.

    Latency: 1 cycle; cause and detail, which take long to find, come from registers.

    Parameters: ``blocks``, how many there are; ``patience``, cycles in a row without movement
    after which one more is a deadlock.

    Members: ``watch``: this cycle counts, 0 from the next cycle after a fault until ``clear``;
    ``faults``, ``offers``: a bit for each block, which sees something impossible, or offers a token
    that is not taken; ``moves``: something moves; ``clear``: forgets; ``fault``: there is one in
    this cycle; ``cause``, ``detail``: as in ``ErrorCause``, of the cycle that had one.
    """

    def __init__(self, blocks: int, patience: int) -> None:
        self._blocks = blocks
        self._patience = patience
        super().__init__(
            {
                "watch": In(1),
                "faults": In(blocks),
                "offers": In(blocks),
                "moves": In(1),
                "clear": In(1),
                "fault": Out(1),
                "cause": Out(ErrorCause),
                "detail": Out(32),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        still = Signal(range(self._patience + 1))
        stuck = Signal()
        faults = Signal(self._blocks)
        offers = Signal(self._blocks)
        was_stuck = Signal()
        m.d.comb += [
            stuck.eq((still == self._patience) & ~self.moves),
            self.fault.eq(self.watch & (self.faults.any() | stuck)),
        ]
        with m.If(~self.watch | self.moves):
            m.d.sync += still.eq(0)
        with m.Else():
            m.d.sync += still.eq(still + 1)
        with m.If(self.clear):
            m.d.sync += [faults.eq(0), was_stuck.eq(0)]
        with m.Elif(self.fault):
            m.d.sync += [faults.eq(self.faults), offers.eq(self.offers), was_stuck.eq(stuck)]

        lowest = named(m, "lowest", lowest_one(Mux(faults.any(), faults, offers)))
        with m.If(faults.any()):
            m.d.comb += [self.cause.eq(ErrorCause.FAULT), self.detail.eq(position(lowest))]
        with m.Elif(was_stuck):
            m.d.comb += [
                self.cause.eq(ErrorCause.DEADLOCK),
                self.detail.eq(Mux(lowest.any(), position(lowest), self._blocks)),
            ]
        return m

"""A machine on a board: its link to the host, clock, reset and pins."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, ClockDomain, Const, Instance, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import ResetSynchronizer
from amaranth.lib.wiring import In, Out
from gnarl.hw.fpga.board_machine import BoardMachine
from gnarl.hw.fpga.boards import Board
from gnarl.hw.fpga.clock import Clock, pll
from gnarl.hw.fpga.family import Family
from gnarl.hw.lib.machine.machine import Machine


class BoardTop(wiring.Component):
    """The top of a board's design.

    One clock for all, from a PLL, or the board's own. Reset lasts from power-up until the PLL has
    locked, and two cycles more; memories are undefined until they are written.

    Parameters: ``board``; ``clock``; ``machine``; ``baud`` of the serial port.

    Members: ``clock``, or ``clock_p`` and ``clock_n``; ``rx`` and ``tx``; ``leds``, as many as the
    board has of idle, running, done, error. All as they are at the pins.
    """

    def __init__(self, board: Board, clock: Clock, machine: Machine, baud: int) -> None:
        self._board = board
        self._clock = clock
        self._machine = BoardMachine(machine, clock.hz, baud)
        members = {pin.port: In(1) for pin in board.clock}
        members |= {"rx": In(1), "tx": Out(1)}
        if board.leds:
            members["leds"] = Out(len(board.leds))
        super().__init__(members)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        board = self._board
        m.domains.sync = domain = ClockDomain()
        source = self._source(m)
        locked = Signal(init=1)
        if self._clock.has_pll:
            made = Signal() if board.family == Family.XILINX else domain.clk
            m.submodules.pll = pll(board, self._clock, source, made, locked)
        else:
            made = source
        if board.family == Family.XILINX:
            m.submodules.clock_buffer = Instance("BUFG", i_I=made, o_O=domain.clk)
        elif not self._clock.has_pll:
            m.d.comb += domain.clk.eq(made)
        m.submodules.reset = ResetSynchronizer(~locked)
        m.submodules.machine = machine = self._machine
        m.d.comb += [
            machine.rx.eq(self.rx ^ board.rx.inverted),
            self.tx.eq(machine.tx ^ board.tx.inverted),
        ]
        if board.leds:
            inverted = Cat(Const(pin.inverted, 1) for pin in board.leds)
            m.d.comb += self.leds.eq(machine.leds.as_value() ^ inverted)
        return m

    def _source(self, m: Module) -> Signal:
        """The board's clock on one wire."""
        ports = [getattr(self, pin.port) for pin in self._board.clock]
        if len(ports) == 1:
            return ports[0]
        source = Signal()
        positive, negative = ports
        m.submodules.clock_input = Instance("IBUFDS", i_I=positive, i_IB=negative, o_O=source)
        return source

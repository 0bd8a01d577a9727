"""A serial line to a host, and behind it a host port."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import cdc, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.fpga.frame_receiver import FrameReceiver
from gnarl.hw.fpga.frame_server import FrameServer
from gnarl.hw.lib.machine.host import HostSignature


class HostLink(wiring.Component):
    """Executes the requests of a serial line at a host port. The frames: ``gnarl.hw.fpga.frame``.

    Parameters: ``clock_hz``, Hz; ``baud``, bits a second, at most a quarter of it. Raises
    ``ConfigError`` where they do not go together.

    Members: ``rx`` in, ``tx`` out: the line, idle at 1; ``rx`` may change at any time. ``host``:
    to the machine.
    """

    def __init__(self, clock_hz: int, baud: int) -> None:
        self._receiver = FrameReceiver(clock_hz, baud)
        self._server = FrameServer(clock_hz, baud)
        super().__init__({"rx": In(1, init=1), "tx": Out(1, init=1), "host": In(HostSignature())})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.synchroniser = cdc.FFSynchronizer(self.rx, self._receiver.rx, init=1)
        m.submodules.receiver = receiver = self._receiver
        m.submodules.server = server = self._server
        wiring.connect(m, receiver.request, server.request)
        wiring.connect(m, server.host, wiring.flipped(self.host))
        m.d.comb += [
            receiver.address.eq(server.address),
            receiver.read_enable.eq(server.read_enable),
            receiver.reads.eq(server.reads),
            server.word.eq(receiver.word),
            self.tx.eq(server.tx),
        ]
        return m

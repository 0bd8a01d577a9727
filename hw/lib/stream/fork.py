"""One stream with several readers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class Fork(wiring.Component):
    """Gives every item to each of several readers, as soon as that one has room.

    No reader waits for another before the item after: so a graph whose streams meet again needs
    no more room in its queues than the difference between their ways. Latency: 0 cycles.

    Parameters: ``shape`` of payloads; ``readers``.   Members: ``i`` in; ``o0``, ``o1``, … out.
    Readers' ``ready`` must not depend on their ``valid``.
    """

    def __init__(self, shape: ShapeLike, readers: int) -> None:
        self._readers = readers
        outputs = {f"o{reader}": Out(stream.Signature(shape)) for reader in range(readers)}
        super().__init__({"i": In(stream.Signature(shape))} | outputs)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        given = Signal(self._readers)
        outputs = [getattr(self, f"o{reader}") for reader in range(self._readers)]
        served = Signal(self._readers)
        m.d.comb += [
            served.eq(given | Cat(output.ready for output in outputs)),
            self.i.ready.eq(served.all()),
        ]
        with m.If(self.i.valid):
            m.d.sync += given.eq(served)
            with m.If(self.i.ready):
                m.d.sync += given.eq(0)
        for reader, output in enumerate(outputs):
            m.d.comb += [
                output.valid.eq(self.i.valid & ~given[reader]),
                output.payload.eq(self.i.payload),
            ]
        return m

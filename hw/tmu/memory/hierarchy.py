"""Main memory and the caches between it and the units."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.lines.cache import Cache
from gnarl.hw.lib.lines.lane_cache import LaneCache
from gnarl.hw.lib.lines.lane_port import LanePort
from gnarl.hw.lib.lines.line_memory import LineMemory
from gnarl.hw.lib.lines.line_mux import LineMux
from gnarl.hw.lib.lines.line_port import LinePort, connect_wider
from gnarl.hw.lib.lines.line_size import LINE_BYTES, LINE_WORDS, WORD_BYTES
from gnarl.hw.lib.lines.line_splitter import PART_BITS, LineSplitter
from gnarl.hw.lib.lines.write_buffer import WriteBuffer
from gnarl.hw.lib.machine.host import WindowSignature
from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.tmu.config import TmuConfig
from gnarl.hw.tmu.memory_map import MEMORY_EVENTS

L2_WAYS = 8

STORED_LINES = 4


class Hierarchy(wiring.Component):
    """The execute unit reads and writes through L1, L1 and the access unit through L2.

    L1 is a ``LaneCache``; stores of the access unit wait in a buffer of ``STORED_LINES`` lines for
    their neighbours. Only after a reset, which empties the caches, does anyone see what the access
    unit has stored, or it what the execute unit has written.

    Parameters: ``config``; ``window`` of main memory.

    Members
    -------
    access
        in: a ``LinePort`` with ``access_tag_bits``.
    store
        in: a ``LanePort`` of the access unit, for writes.
    execute
        in: a ``LanePort`` with ``execute_tag_bits``.
    drain, drain_stores
        in: the execute unit, or the access unit, writes nothing more; what waits is written.
    busy, host
        in: while ``busy`` is 0, main memory is the host's: a ``WindowSignature``.
    happens
        out: a bit for each of ``MEMORY_EVENTS``.
    idle
        out: all writes have landed, and all answers were taken.
    """

    def __init__(self, config: TmuConfig, window: Window) -> None:
        self._config = config
        self._window = window
        self.access_tag_bits = max(1, (config.requests - 1).bit_length())
        self.execute_tag_bits = max(1, (config.loads - 1).bit_length())
        line_bits = window.row_bits
        super().__init__(
            {
                "access": In(LinePort(line_bits, LINE_WORDS, self.access_tag_bits)),
                "store": In(LanePort(config.address_bits, config.lanes, 1)),
                "execute": In(LanePort(config.address_bits, config.lanes, self.execute_tag_bits)),
                "drain": In(1),
                "drain_stores": In(1),
                "busy": In(1),
                "host": In(WindowSignature(window)),
                "happens": Out(len(MEMORY_EVENTS)),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        config, line_bits = self._config, self._window.row_bits
        memory_cycles = LINE_WORDS * WORD_BYTES // config.bandwidth
        misses = max(config.requests, config.loads)

        m.submodules.l1 = l1 = LaneCache(
            config.lanes, config.address_bits, config.l1_bytes, config.loads
        )
        tag_bits = max(self.access_tag_bits, l1.fetch_bits, 1 + PART_BITS)
        m.submodules.mux = mux = LineMux(3, line_bits, LINE_WORDS, tag_bits)
        # Misses that main memory has no place for wait without holding up hits.
        m.submodules.l2 = l2 = Cache(
            sets=config.l2_bytes // (LINE_BYTES * L2_WAYS),
            ways=L2_WAYS,
            line_bits=line_bits,
            line_words=LINE_WORDS,
            tag_bits=tag_bits + 2,
            misses=misses,
            waiting=config.requests + config.loads,
            queue=max(2, misses - config.latency // memory_cycles),
        )
        m.submodules.stored = stored = WriteBuffer(
            STORED_LINES, line_bits, LINE_WORDS, 1 + PART_BITS
        )
        m.submodules.main = main = LineMemory(
            self._window, config.bandwidth // WORD_BYTES, config.latency, l2.fetch_bits
        )
        m.submodules.stores = stores = LineSplitter(config.lanes, config.address_bits, 1)

        wiring.connect(m, wiring.flipped(self.execute), l1.up)
        wiring.connect(m, wiring.flipped(self.store), stores.up)
        connect_wider(m, wiring.flipped(self.access), mux.up0)
        connect_wider(m, l1.down, mux.up1)
        wiring.connect(m, stores.down, stored.up)
        connect_wider(m, stored.down, mux.up2)
        wiring.connect(m, mux.down, l2.up)
        wiring.connect(m, l2.down, main.port)
        wiring.connect(m, wiring.flipped(self.host), main.host)
        request = main.port.request
        accepted = request.valid & request.ready
        writes = request.payload.write.any()
        caches = (event for cache in (l1, l2) for event in (cache.hit, cache.merged, cache.miss))
        m.d.comb += [
            main.busy.eq(self.busy),
            l1.drain.eq(self.drain),
            stored.drain.eq(self.drain_stores),
            self.idle.eq(l1.up.idle & stores.up.idle & mux.up0.idle),
            self.happens.eq(
                Cat(
                    *caches,
                    accepted & ~writes,
                    accepted & writes,
                    main.moves,
                )
            ),
        ]
        return m

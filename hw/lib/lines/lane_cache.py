"""Vectors of words through a cache of lines of their own."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.lines.cache import Cache
from gnarl.hw.lib.lines.lane_cache_size import READS_PER_LOAD, REQUESTS, WAYS, WRITTEN_LINES
from gnarl.hw.lib.lines.lane_port import LanePort
from gnarl.hw.lib.lines.line_port import LinePort
from gnarl.hw.lib.lines.line_size import LINE_BYTES, LINE_WORDS
from gnarl.hw.lib.lines.line_splitter import OFFSET_BITS, PART_BITS, LineSplitter
from gnarl.hw.lib.lines.write_buffer import WriteBuffer


class LaneCache(wiring.Component):
    """A ``LineSplitter`` in front of a ``Cache``. What is written goes through it, and waits in a
    ``WriteBuffer`` of ``WRITTEN_LINES`` lines for what is written to the same words later.

    Parameters: ``lanes``; ``address_bits`` of words; ``octets`` of the cache; ``loads``, lines
    under way.

    Members: ``up``, a ``LanePort`` in with ``tag_bits``; ``down``, a ``LinePort`` out with
    ``fetch_bits`` of tags; ``drain`` in: nothing more is written, what waits leaves; ``hit``,
    ``merged``, ``miss`` out: as of ``Cache``.
    """

    def __init__(self, lanes: int, address_bits: int, octets: int, loads: int) -> None:
        self._lanes = lanes
        self._address_bits = address_bits
        self._line_bits = address_bits - OFFSET_BITS
        self.tag_bits = max(1, (loads - 1).bit_length())
        self._cache = Cache(
            sets=octets // (LINE_BYTES * WAYS),
            ways=WAYS,
            line_bits=self._line_bits,
            line_words=LINE_WORDS,
            tag_bits=self.tag_bits + PART_BITS,
            misses=loads,
            waiting=READS_PER_LOAD * loads,
            queue=REQUESTS,
        )
        self.fetch_bits = self._cache.fetch_bits
        super().__init__(
            {
                "up": In(LanePort(address_bits, lanes, self.tag_bits)),
                "down": Out(LinePort(self._line_bits, LINE_WORDS, self.fetch_bits)),
                "drain": In(1),
                "hit": Out(1),
                "merged": Out(1),
                "miss": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.splitter = splitter = LineSplitter(
            self._lanes, self._address_bits, self.tag_bits
        )
        m.submodules.cache = cache = self._cache
        m.submodules.written = written = WriteBuffer(
            WRITTEN_LINES, self._line_bits, LINE_WORDS, self.fetch_bits
        )
        wiring.connect(m, wiring.flipped(self.up), splitter.up)
        wiring.connect(m, splitter.down, cache.up)
        wiring.connect(m, cache.down, written.up)
        wiring.connect(m, written.down, wiring.flipped(self.down))
        m.d.comb += [
            written.drain.eq(self.drain),
            self.hit.eq(cache.hit),
            self.merged.eq(cache.merged),
            self.miss.eq(cache.miss),
        ]
        return m

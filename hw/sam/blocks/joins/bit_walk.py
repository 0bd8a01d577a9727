"""Goes through the ones in words of bitvectors."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from gnarl.hw.lib.integer.lowest_one import lowest_one, position
from gnarl.hw.sam.block_types import BITVECTOR_BITS


class BitWalk:
    """The next one in ``word``, the word at the heads of a block's inputs. Made in ``elaborate``.

    ``is_one``: there is one left, whose coordinate is ``crd``, of ``width`` bits; ``is_last``:
    none comes after it. ``passed`` gets what the block has done with it.
    """

    def __init__(self, m: Module, word: Value, width: int) -> None:
        self._m = m
        self._done = Signal(BITVECTOR_BITS, name="done_bits")
        self._number = Signal(width, name="word_number")
        rest = Signal(BITVECTOR_BITS, name="rest")
        self._bit = Signal(BITVECTOR_BITS, name="bit")
        m.d.comb += [rest.eq(word & ~self._done), self._bit.eq(lowest_one(rest))]
        self.is_one = rest.any()
        self.is_last = rest == self._bit
        self.crd = Cat(position(self._bit), self._number)[:width]

    def is_in(self, word: Value) -> Value:
        """The one at hand is one of ``word``, too."""
        return (word & self._bit).any()

    def ones_below(self, word: Value) -> Value:
        """How many ones ``word`` has below the one at hand."""
        return ones(word & (self._bit - 1)[:BITVECTOR_BITS])

    def passed(self, step_done: Value, ends_fiber: Value) -> None:
        """Passes the bit at hand when ``step_done``, or the word without any, or the fiber."""
        with self._m.If(step_done):
            with self._m.If(ends_fiber):
                self._m.d.sync += self._number.eq(0)
            with self._m.Elif(self.is_last):
                self._m.d.sync += [self._done.eq(0), self._number.eq(self._number + 1)]
            with self._m.Else():
                self._m.d.sync += self._done.eq(self._done | self._bit)


def ones(value: Value) -> Value:
    """How many bits of ``value`` are set. A tree of adders."""
    counts: list[Any] = list(value)
    while len(counts) > 1:
        pairs = [one + other for one, other in zip(counts[::2], counts[1::2], strict=False)]
        counts = pairs + counts[len(pairs) * 2 :]
    return counts[0]

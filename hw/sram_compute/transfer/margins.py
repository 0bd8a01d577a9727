"""Finds the words of a line that lie between an array's margins."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.isa import DIMENSIONS

_WORD_BITS = (LINE_WORDS - 1).bit_length()
_ALL = (1 << LINE_WORDS) - 1


def inner_words(m: Module, place: data.View, transfer: data.View, entry: data.View) -> Value:
    """The words of the line at this ``layout_walker.PLACE`` of an array that lie between the
    margins of ``transfer``: a bit each. A ``STORE`` writes these."""
    before, behind, words = Signal(signed(26)), Signal(signed(26)), Signal(LINE_WORDS)
    first = place[0] << _WORD_BITS
    m.d.comb += [
        before.eq(transfer.before[0] - first),
        behind.eq((entry.sizes[0] << _WORD_BITS) - transfer.after[0] - first),
        words.eq((_ALL << _clamped(before)) & ~(_ALL << _clamped(behind))),
    ]
    is_inside: Value = Const(1)
    for dimension in range(1, DIMENSIONS):
        is_inside = (
            is_inside
            & (place[dimension] >= transfer.before[dimension])
            & (place[dimension] + transfer.after[dimension] < entry.sizes[dimension])
        )
    return Mux(is_inside, words, 0)


def is_left_out(words: Value, transfer: data.View) -> Value:
    """Whether nothing of a line with these ``inner_words`` is transferred."""
    return Mux(transfer.is_store, ~words.any(), transfer.hollow & words.all())


def _clamped(words: Signal) -> Value:
    """The words, clamped to 0 and the words of a line."""
    return Mux(words < 0, 0, Mux(words > LINE_WORDS, LINE_WORDS, words))[: _WORD_BITS + 1]

"""Finds the words of lines that lie between an array's margins."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.isa import DIMENSIONS

_WORD_BITS = (LINE_WORDS - 1).bit_length()


def inner_words(
    m: Module, place: data.View, transfer: data.View, entry: data.View, channels: int, wide: Value
) -> Value:
    """The words of the line, or of ``channels`` lines if they are ``wide``, at this
    ``layout_walker.PLACE`` of an array that lie between the margins of ``transfer``: a bit each. A
    ``STORE`` writes these."""
    most = channels * LINE_WORDS
    before, behind, words = Signal(signed(26)), Signal(signed(26)), Signal(most)
    every = (1 << most) - 1
    end = Mux(wide, most, LINE_WORDS)
    first = place[0] << Mux(wide, (most - 1).bit_length(), _WORD_BITS)
    m.d.comb += [
        before.eq(transfer.before[0] - first),
        behind.eq((entry.sizes[0] << _WORD_BITS) - transfer.after[0] - first),
        words.eq((every << _clamped(before, end)) & ~(every << _clamped(behind, end))),
    ]
    is_inside: Value = Const(1)
    for dimension in range(1, DIMENSIONS):
        is_inside = (
            is_inside
            & (place[dimension] >= transfer.before[dimension])
            & (place[dimension] + transfer.after[dimension] < entry.sizes[dimension])
        )
    return Mux(is_inside, words, 0)


def is_left_out(words: Value, transfer: data.View, wide: Value) -> Value:
    """Whether nothing of a line, or of ``wide`` ones, with these ``inner_words`` is transferred."""
    are_all = Mux(wide, words.all(), words[:LINE_WORDS].all())
    return Mux(transfer.is_store, ~words.any(), transfer.hollow & are_all)


def _clamped(words: Signal, end: Value) -> Value:
    """The words, clamped to 0 and ``end``."""
    return Mux(words < 0, 0, Mux(words > end, end, words))[: len(end)]

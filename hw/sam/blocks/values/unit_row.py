"""Arithmetic units side by side, one for each word of a block of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from gnarl.hw.lib.arithmetic import ArithmeticUnit
from gnarl.hw.lib.formats import NumberFormat
from gnarl.hw.lib.instanced import EnableInserter
from gnarl.hw.lib.operation import Operation


class UnitRow:
    """``words`` units in step, as submodules of ``m``: word n of ``o`` is what the operation makes
    of words n of ``left`` and ``right``, ``stages`` cycles later.

    ``enable``: their registers move; by default in every cycle.
    """

    def __init__(
        self,
        m: Module,
        format: NumberFormat,
        stages: int,
        words: int,
        enable: Value | None = None,
    ) -> None:
        width = format.width
        self.left = Signal(words * width)
        self.right = Signal(words * width)
        self.operation = Signal(Operation)
        self.o = Signal(words * width)
        for word in range(words):
            unit = ArithmeticUnit(format, stages)
            placed: Any = unit if enable is None else EnableInserter(enable)(unit)
            m.submodules["unit" if words == 1 else f"unit_{word}"] = placed
            m.d.comb += [
                unit.left.eq(self.left.word_select(word, width)),
                unit.right.eq(self.right.word_select(word, width)),
                unit.operation.eq(self.operation),
                self.o.word_select(word, width).eq(unit.o),
            ]


ONE = (0,)
"""Places of a value of one word."""


def words_at(payload: Value, places: Sequence[int], width: int) -> Value:
    """The words of a payload at ``places``, of ``width`` bits each."""
    return Cat(payload.word_select(place, width) for place in places)

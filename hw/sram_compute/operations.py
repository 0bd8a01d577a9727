"""The operations that a bank has, by name: their microprograms, cycles and scratch rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial

from gnarl.hw.lib.formats import FLOAT_FORMATS, FloatFormat
from gnarl.hw.sram_compute.microcode import (
    float_add,
    float_compare,
    float_divide,
    float_from_int,
    float_multiply,
    float_to_int,
    integer,
    integer_divide,
    integer_floor_divide,
    integer_multiply,
)
from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.program import (
    Microinstruction,
    Program,
    assemble,
    parameters_fit,
)
from gnarl.hw.sram_compute.microcode.sequence import cycles, extent
from gnarl.hw.sram_compute.microinstruction import Base

MAX_WIDTH = 32
"""Bits of an integer."""

CONVERTED_WIDTHS = (8, 16, 32)
"""Bits of integers that become floating-point numbers, or come from them."""


@dataclass(frozen=True)
class Operation:
    """An operation: what writes its microcode, and whether its width is a parameter.

    One program serves all widths that it fits, and those below have one each.
    """

    name: str
    write: Callable[[Builder], None]
    is_parametric: bool

    def programs(self) -> dict[int, tuple[Microinstruction, ...]]:
        """Programs by the least width that they are for: up to the next one's, the last up to
        ``MAX_WIDTH``. Where the width is no parameter, one, of width 0."""
        return _programs(self)

    def program(self, n: int = 0) -> tuple[Microinstruction, ...]:
        """The program for width ``n``."""
        return self.programs()[self.entry(n)]

    def entry(self, n: int = 0) -> int:
        """The least width of the program for width ``n``; ``ValueError`` if there is none."""
        least, most = (1, MAX_WIDTH) if self.is_parametric else (0, 0)
        if not least <= n <= most:
            raise ValueError(f"width {n} of {self.name}: must be from {least} to {most}")
        return max(width for width in self.programs() if width <= n)

    def cycles(self, n: int = 0, *, skips: bool) -> int:
        """Cycles where all skips pass over their blocks, or none does."""
        return cycles(self.program(n), n, skips=skips)

    def scratch_rows(self, n: int = 0) -> int:
        return extent(self.program(n), Base.S, n)[1]


@cache
def _programs(operation: Operation) -> dict[int, tuple[Microinstruction, ...]]:
    general = _written(operation, None)
    if not operation.is_parametric:
        return {0: assemble(general)}
    least = 1
    while not parameters_fit(general, least):
        least += 1
    return {
        **{n: assemble(_written(operation, n)) for n in range(1, least)},
        least: assemble(general),
    }


def _written(operation: Operation, width: int | None) -> Program:
    builder = Builder(width)
    operation.write(builder)
    return builder.program()


def _integer_operations() -> Iterable[tuple[str, Callable[[Builder], None]]]:
    yield "move", integer.move
    yield "move_down", integer.move_down
    yield "fill", integer.fill
    yield "clear", integer.clear
    yield "set", integer.set_all
    yield "and", partial(integer.logic, function=lambda a, b, c, p: a & b)
    yield "or", partial(integer.logic, function=lambda a, b, c, p: a | b)
    yield "xor", partial(integer.logic, function=lambda a, b, c, p: a ^ b)
    yield "invert", integer.invert
    yield "add", integer.add
    yield "subtract", integer.subtract
    yield "negate", integer.negate
    yield "absolute", integer.absolute
    yield "relu", integer.relu
    yield "select", integer.select
    yield "equal", partial(integer.equal, inverted=False)
    yield "not_equal", partial(integer.equal, inverted=True)
    for suffix, signed in (("", True), ("_unsigned", False)):
        yield f"less{suffix}", partial(integer.less, signed=signed, or_equal=False)
        yield f"less_equal{suffix}", partial(integer.less, signed=signed, or_equal=True)
        yield f"maximum{suffix}", partial(integer.extremum, signed=signed, is_maximum=True)
        yield f"minimum{suffix}", partial(integer.extremum, signed=signed, is_maximum=False)
    yield "multiply", integer_multiply.multiply
    yield "multiply_full", integer_multiply.multiply_full_signed
    yield "multiply_full_unsigned", integer_multiply.multiply_full
    yield "divide", integer_divide.divide_signed
    yield "divide_unsigned", integer_divide.divide
    yield "floor_divide", integer_floor_divide.floor_divide
    yield "floor_divide_unsigned", integer_floor_divide.floor_divide_unsigned
    yield "remainder", integer_floor_divide.remainder
    yield "remainder_unsigned", integer_floor_divide.remainder_unsigned


INTEGER_OPERATIONS: dict[str, Operation] = {
    name: Operation(name, write, is_parametric=True) for name, write in _integer_operations()
}
"""Operations on integers of n bits, by name; signed where there is one each for both."""


def _float_operations(format: FloatFormat) -> Iterable[tuple[str, Callable[[Builder], None]]]:
    yield "add", partial(float_add.add, format=format, subtract=False)
    yield "subtract", partial(float_add.add, format=format, subtract=True)
    yield "multiply", partial(float_multiply.multiply, format=format)
    yield "divide", partial(float_divide.divide, format=format)
    yield "less", partial(float_compare.less, format=format, or_equal=False)
    yield "less_equal", partial(float_compare.less, format=format, or_equal=True)
    yield "equal", partial(float_compare.equal, format=format, inverted=False)
    yield "not_equal", partial(float_compare.equal, format=format, inverted=True)
    yield "maximum", partial(float_compare.extremum, format=format, is_maximum=True)
    yield "minimum", partial(float_compare.extremum, format=format, is_maximum=False)
    yield "absolute", partial(float_compare.absolute, format=format)
    yield "negate", partial(float_compare.negate, format=format)
    yield "relu", partial(float_compare.relu, format=format)
    for width in CONVERTED_WIDTHS:
        for prefix, signed in (("int", True), ("uint", False)):
            yield (
                f"from_{prefix}{width}",
                partial(float_from_int.from_integer, format=format, width=width, signed=signed),
            )
            yield (
                f"to_{prefix}{width}",
                partial(float_to_int.to_integer, format=format, width=width, signed=signed),
            )


FLOAT_OPERATIONS: dict[str, dict[str, Operation]] = {
    format: {
        name: Operation(f"{format}.{name}", write, is_parametric=False)
        for name, write in _float_operations(kind)
    }
    for format, kind in FLOAT_FORMATS.items()
}
"""Operations on floating-point numbers, by format and name."""

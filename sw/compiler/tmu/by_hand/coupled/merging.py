"""Products and sums of two sparse fibers on the execute unit alone.

A block of each fiber is in scalar registers. Which coordinate of each is the next one is where the
program is: at state i, k those at places i and k of their blocks are compared. So a step is one or
two branches, without loads or moves. A fiber's next block is loaded while this one is gone through;
behind its end it has ``_END``, which comes behind all coordinates.

s0, s8
    the first one's of the blocks' coordinates, in dense results where they go; of a union's, behind
    them, their values.
s16, s17; s18, s19
    numbers of what is behind the next blocks; where the fibers end.
s20, s21
    temporary.
s22, s23
    what will be stored, and where: it is done with the next one, as it need not be waited for then.
s24
    how many entries a compressed result has; the sum of a matrix product.
s25 to s27
    the row's first place in a dense result; the row's number; how many rows there are.
s31
    ``_END``.

v0, v1; v4, v5: the next blocks' coordinates and values; v2, v3: values of the blocks of an
intersection; v6: temporary; m1: what there is of a block.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.sw.compiler.tmu.by_hand.merging import SIDES
from gnarl.sw.compiler.tmu.by_hand.site import Site

_END = 2**31 - 1

_MOST = {True: 4, False: 8}
"""Coordinates of a block, of a union or not."""


def products(site: Site) -> str:
    return _text(site, _Fibers, is_union=False)


def sums(site: Site) -> str:
    return _text(site, _Fibers, is_union=True)


def matrix_product(site: Site) -> str:
    return _text(site, _MatrixProduct, is_union=False)


def compressed_matrix_product(site: Site) -> str:
    return _text(site, _CompressedMatrixProduct, is_union=False)


def _text(site: Site, made: type[_Fibers], *, is_union: bool) -> str:
    """The program with the largest blocks that fit. Raises ``CapacityError``."""
    for block in range(min(_MOST[is_union], site.config.lanes), 0, -1):
        lines = [*made(site, block, is_union=is_union).lines()]
        if sum(not line.endswith(":") for line in lines) <= site.config.program_words:
            return "\n".join(lines)
    raise CapacityError(
        f"program_words = {site.config.program_words}: must be more for a program by hand"
    )


class _Fibers:
    """Two fibers, or the rows of two matrices, one after the other.

    Results are dense, or compressed where the nest says how many there are.
    """

    def __init__(self, site: Site, block: int, *, is_union: bool) -> None:
        self._block, self._is_union = block, is_union
        self._site = site
        self._bases = {name: array.base for name, array in site.arrays.items()}
        self._has_rows = "rows" in site.sizes
        names = [name for name in ("offsets", "count") if name in site.arrays]
        self._number = self._bases[names[0]] if names else None

    def lines(self) -> Iterator[str]:
        """A program; of a compressed result without rows, what says that there are none."""
        if self._number is not None:
            yield f"store zero, [{self._number}]"
        if self._is_empty:
            yield "halt"
            return
        yield f"add s31, {_END}, zero"
        yield from self._begin()
        yield "fibers:"
        yield from self._begin_fibers()
        yield from self._fill(0)
        yield from self._fill(1)
        yield from self._states()
        yield "end:"
        yield from self._end_fibers()
        yield "halt"

    @property
    def _is_empty(self) -> bool:
        if self._number is None and not self._site.arrays["out"].words:
            return True
        return self._has_rows and not self._site.sizes["rows"]

    @property
    def _goes_to_rows(self) -> bool:
        """Whether coordinates are places in a row of a dense result."""
        return self._has_rows and self._number is None

    def _begin(self) -> Iterator[str]:
        """What is stored first is a word of an operand as it is."""
        yield f"add s23, {self._bases['left_values']}, zero"
        yield "load s22, [s23]"
        if self._has_rows:
            yield f"add s27, {self._site.sizes['rows']}, zero"

    def _begin_fibers(self) -> Iterator[str]:
        for n, side in enumerate(SIDES):
            for register, place in ((16 + n, 0), (18 + n, 1)):
                if self._has_rows:
                    yield f"load s{register}, [s26 + {self._bases[f'{side}_offsets'] + place}]"
                else:
                    yield f"add s{register}, {place * self._site.arrays[side].words}, zero"
        for n in range(2):
            yield from self._load(n)

    def _end_fibers(self) -> Iterator[str]:
        if self._has_rows:
            yield "add s26, s26, 1"
            if self._goes_to_rows:
                yield f"add s25, s25, {self._site.sizes['columns']}"
            else:
                yield f"store s24, [s26 + {self._number}]"
            yield "branch_lt s26, s27, fibers"
        yield "store s22, [s23]"
        if not self._has_rows and self._number is not None:
            yield f"store s24, [{self._number}]"

    def _load(self, n: int, ahead: int = 0) -> Iterator[str]:
        """The next block, or ``ahead`` of it, where then the next one is."""
        side = self._bases[SIDES[n]] + ahead
        values = self._bases[f"{SIDES[n]}_values"] + ahead
        yield f"load.v v{n}, [s{16 + n} + {side}]"
        yield f"load.v v{4 + n}, [s{16 + n} + {values}], s{16 + n} += {ahead}"
        yield from (f"prefetch [s{16 + n} + {base + 2 * LINE_WORDS}]" for base in (side, values))

    def _fill(self, n: int) -> Iterator[str]:
        """Takes the next block, and loads the one behind it."""
        block = range(self._block)
        yield f"sub s20, s{18 + n}, s{16 + n}"
        yield "first_lanes m1, s20"
        coordinates = f"v{n}"
        if self._goes_to_rows:
            yield f"add.v v6, v{n}, s25"
            coordinates = "v6"
        if self._is_union:
            yield from (f"extract.v {self._value(n, i)}, v{4 + n}, {i}" for i in block)
        else:
            yield f"add.v v{2 + n}, v{4 + n}, zero"
        yield f"select.v v6, {coordinates}, s31, m1"
        yield from self._load(n, self._block)
        yield from (f"extract.v {_coordinate(n, i)}, v6, {i}" for i in block)

    def _value(self, n: int, i: int) -> str:
        """The register with a value of a union."""
        return f"s{8 * n + self._block + i}"

    def _states(self) -> Iterator[str]:
        block = range(self._block)
        for i in block:
            for k in block:
                yield f"at_{i}_{k}:"
                left, right = _coordinate(0, i), _coordinate(1, k)
                before = f"left_{i}_{k}" if self._is_union else self._at(i + 1, k)
                yield f"branch_lt {left}, {right}, {before}"
                yield f"branch_eq {left}, {right}, both_{i}_{k}"
                if self._is_union:
                    yield from self._one(1, k)
            yield f"at_{i}_{self._block}:"
            yield from self._next_block(1, i, f"at_{i}_{self._block}")
            yield f"jump at_{i}_0"
        for k in block:
            yield f"at_{self._block}_{k}:"
            yield from self._next_block(0, k, f"at_{self._block}_{k}")
            yield f"jump at_0_{k}"
        yield f"at_{self._block}_{self._block}:"
        yield from self._next_block(0)
        yield f"jump at_0_{self._block}"
        for i in block:
            for k in block:
                yield f"both_{i}_{k}:"
                yield f"branch_eq {_coordinate(0, i)}, s31, end"
                yield from self._both(i, k)
                yield f"jump {self._at(i + 1, k + 1)}"
                if self._is_union:
                    yield f"left_{i}_{k}:"
                    yield from self._one(0, i)
                    yield f"jump {self._at(i + 1, k)}"

    def _at(self, i: int, k: int) -> str:
        """The state, or that in which one or both need their next blocks."""
        return f"at_{i}_{k}"

    def _next_block(self, n: int, other: int | None = None, again: str = "") -> Iterator[str]:
        """Loads the next block of a fiber. ``other``: the place in the other fiber's block. An
        intersection ends where either fiber does, and leaves out blocks that lie before that
        place."""
        if not self._is_union:
            yield f"branch_ge s{16 + n}, s{18 + n}, end"
            if other is not None:
                yield f"branch_eq {_coordinate(1 - n, other)}, s31, end"
        yield from self._fill(n)
        if not self._is_union and other is not None:
            last = _coordinate(n, self._block - 1)
            yield f"branch_lt {last}, {_coordinate(1 - n, other)}, {again}"

    def _one(self, n: int, i: int) -> Iterator[str]:
        """Stores a coordinate that one fiber has."""
        out, coordinate, value = self._bases["out"], _coordinate(n, i), self._value(n, i)
        if self._number is None:
            yield f"store {value}, [{coordinate} + {out}]"
        else:
            yield f"store {coordinate}, [s24 + {out}]"
            yield f"store {value}, [s24 + {self._bases['out_values']}], s24 += 1"

    def _both(self, i: int, k: int) -> Iterator[str]:
        """Stores what was computed before, and computes."""
        out, coordinate = self._bases["out"], _coordinate(0, i)
        yield from self._take_values(i, k)
        yield "store s22, [s23]"
        if self._is_union:
            yield f"fadd s22, {self._value(0, i)}, {self._value(1, k)}"
        else:
            yield "fmul s22, s20, s21"
        if self._number is None:
            yield f"add s23, {coordinate}, {out}"
        else:
            yield f"store {coordinate}, [s24 + {out}]"
            yield f"add s23, s24, {self._bases['out_values']}"
            yield "add s24, s24, 1"

    def _take_values(self, i: int, k: int) -> Iterator[str]:
        if not self._is_union:
            yield f"extract.v s20, v2, {i}"
            yield f"extract.v s21, v3, {k}"


class _MatrixProduct(_Fibers):
    """The product of each row with each row of the other matrix.

    s23
        where the sum goes.
    s25
        how many rows there are.
    s27, s30
        the number of the other one's row; how many there are.
    s28, s29
        where the row begins; where the other one's next row ends.

    v8, v9; v10, v11: first blocks of the row, and of the other one's next row.
    """

    @property
    def _is_empty(self) -> bool:
        return not self._site.arrays["out"].words

    @property
    def _goes_to_rows(self) -> bool:
        return False

    def _begin(self) -> Iterator[str]:
        if self._number is None:
            yield f"add s23, {self._bases['out']}, zero"
        yield f"add s25, {self._site.sizes['rows']}, zero"
        yield f"add s30, {self._site.sizes['right_rows']}, zero"
        yield "rows:"
        for register, place in (("s28", 0), ("s18", 1)):
            yield f"load {register}, [s26 + {self._bases['left_offsets'] + place}]"
        for register, place in (("s19", 0), ("s29", 1)):
            yield f"load {register}, [{self._bases['right_offsets'] + place}]"
        yield "add s27, zero, zero"
        yield f"load.v v8, [s28 + {self._bases['left']}]"
        yield f"load.v v9, [s28 + {self._bases['left_values']}]"
        yield from self._load_row()

    def _begin_fibers(self) -> Iterator[str]:
        yield "add s16, s28, zero"
        yield "add s17, s19, zero"
        yield "add s19, s29, zero"
        yield f"load s29, [s27 + {self._bases['right_offsets'] + 2}]"
        for to, source in ((0, 8), (4, 9), (1, 10), (5, 11)):
            yield f"add.v v{to}, v{source}, zero"
        yield from self._load_row()

    def _load_row(self) -> Iterator[str]:
        yield f"load.v v10, [s19 + {self._bases['right']}]"
        yield f"load.v v11, [s19 + {self._bases['right_values']}]"

    def _end_fibers(self) -> Iterator[str]:
        yield "store s24, [s23], s23 += 1"
        yield "add s24, zero, zero"
        yield "add s27, s27, 1"
        yield "branch_lt s27, s30, fibers"
        yield "add s26, s26, 1"
        yield "branch_ne s26, s25, rows"

    def _both(self, i: int, k: int) -> Iterator[str]:
        yield from self._take_values(i, k)
        yield "fmul_add s24, s20, s21, s24"


class _CompressedMatrixProduct(_MatrixProduct):
    """The product of rows that have a column in common.

    s22
        how many entries there are.
    s23
        whether both rows have a column in common.
    """

    def lines(self) -> Iterator[str]:
        if self._site.sizes["right_rows"] or not self._site.sizes["rows"]:
            yield from super().lines()
            return
        yield f"store zero, [{self._number}]"
        yield f"add s25, {self._site.sizes['rows']}, zero"
        yield "rows:"
        yield "add s26, s26, 1"
        yield f"store zero, [s26 + {self._number}]"
        yield "branch_ne s26, s25, rows"
        yield "halt"

    @property
    def _is_empty(self) -> bool:
        return not self._site.sizes["rows"]

    def _end_fibers(self) -> Iterator[str]:
        yield "branch_eq s23, zero, none"
        yield f"store s27, [s22 + {self._bases['out']}]"
        yield f"store s24, [s22 + {self._bases['out_values']}], s22 += 1"
        yield "add s24, zero, zero"
        yield "add s23, zero, zero"
        yield "none:"
        yield "add s27, s27, 1"
        yield "branch_lt s27, s30, fibers"
        yield "add s26, s26, 1"
        yield f"store s22, [s26 + {self._number}]"
        yield "branch_ne s26, s25, rows"

    def _both(self, i: int, k: int) -> Iterator[str]:
        yield from super()._both(i, k)
        yield "add s23, 1, zero"


def _coordinate(n: int, i: int) -> str:
    return f"s{8 * n + i}"

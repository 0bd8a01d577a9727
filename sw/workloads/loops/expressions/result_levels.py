"""Results of expressions that are stored compressed: their arrays, and what these mean.

The result X has, of each compressed level n, ``X_segments<n>`` and ``X_coordinates<n>``, and
``X_values``, as operands have them; what lies behind the last segment's end is no entry.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.sam.block_types import BITVECTOR, COMPRESSED, DENSE
from gnarl.sw.workloads.loops.expressions.expression_parts import (
    Level,
    Parts,
    coordinates_of,
    entries_of,
    refuse,
    segments_of,
    size_of,
    values_of,
)
from gnarl.sw.workloads.loops.ir import nest as ir
from gnarl.sw.workloads.loops.ir.index_expressions import integer, multiply, one_more, variable
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32
from gnarl.sw.workloads.tensor.expression import Statement, stored_indices
from gnarl.sw.workloads.tensor.storage import CompressedLevel, DenseLevel, restore_entries
from gnarl.sw.workloads.tensor.tensor import Tensor


def is_compressed(statement: Statement) -> bool:
    """Whether the result is."""
    return any(level != DENSE for level in statement.formats[statement.result.tensor].levels)


def result_arrays(statement: Statement) -> list[str]:
    """Names of the arrays that are a compressed result."""
    name = statement.result.tensor
    levels = enumerate(statement.formats[name].levels)
    compressed = [number for number, kind in levels if kind == COMPRESSED]
    names = [each(name, number) for number in compressed for each in (segments_of, coordinates_of)]
    return [*names, values_of(name)]


def result_tensor(
    statement: Statement, shape: tuple[int, ...], arrays: Mapping[str, np.ndarray]
) -> Tensor:
    """The result's entries, from its arrays by name; ``shape`` by dimension.

    Raises ``WorkloadError`` for segments and coordinates that are not those of a tensor.
    """
    name = statement.result.tensor
    format = statement.formats[name]
    levels: list[DenseLevel | CompressedLevel] = []
    positions = 1
    for number, (kind, mode) in enumerate(zip(format.levels, format.modes, strict=True)):
        if kind == DENSE:
            levels.append(DenseLevel(shape[mode]))
            positions *= shape[mode]
            continue
        segments = arrays[segments_of(name, number)][: positions + 1].astype(np.int64)
        positions = int(segments[-1])
        coordinates = arrays[coordinates_of(name, number)][:positions].astype(np.int64)
        levels.append(CompressedLevel(shape[mode], segments, coordinates))
    values = arrays[values_of(name)][:positions]
    return Tensor(shape, *restore_entries(format, shape, tuple(levels), values))


class ResultLevels:
    """Levels of the result of ``parts``.

    followed
        levels, by number, of which all coordinates are those of an operand's level, at the same
        positions. All other compressed levels are appended to.

    Raises ``WorkloadError`` naming the result where loops cannot append to it in order.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.name = parts.result.tensor
        self.format = parts.statement.formats[self.name]
        self.path = stored_indices(parts.result, self.format)
        self._check()
        self.followed = self._find_followed()

    def __len__(self) -> int:
        return len(self.path)

    def is_dense(self, number: int) -> bool:
        return self.format.levels[number] == DENSE

    @property
    def is_sum(self) -> bool:
        """Whether a value is a sum over loops inside of those of the levels."""
        return len(self.parts.loops) > len(self)

    @property
    def appended(self) -> list[int]:
        """Numbers of the levels that are appended to."""
        return [
            number
            for number in range(len(self))
            if not self.is_dense(number) and number not in self.followed
        ]

    def drops(self, number: int) -> bool:
        """Whether loops come by coordinates of a level that have nothing inside, and are left
        out."""
        return not self.parts.never_ends_empty(number + 1)

    def _check(self) -> None:
        name, parts, levels = self.name, self.parts, self.format.levels
        if BITVECTOR in levels:
            refuse(parts.place, f"{name}: levels must be dense or compressed")
        if DENSE in levels[levels.index(COMPRESSED) :]:
            refuse(
                parts.place,
                f"{name}: {self.format.letters}: dense levels of a result must be around "
                "compressed ones, as in ds",
            )
        order = parts.statement.order
        if order[: len(self)] != self.path:
            refuse(
                parts.place,
                f"{parts.result}: is stored {', '.join(self.path)}: loops must be in this order, "
                "with those of sums inside",
            )
        for number, loop in enumerate(parts.loops[: len(self)]):
            if self.is_dense(number) and loop.compressed:
                tensor = parts.operands[loop.compressed[0].operand].tensor
                refuse(
                    parts.place,
                    f"{name}: level {number} is dense: must be compressed, as {loop.index} is in "
                    f"{tensor}",
                )

    def _find_followed(self) -> dict[int, Level]:
        followed: dict[int, Level] = {}
        alike = set(range(len(self.parts.operands)))  # Operands that are at the same position.
        for number, loop in enumerate(self.parts.loops[: len(self)]):
            if self.is_dense(number):
                alike &= {each.operand for each in loop.dense}
                continue
            if len(loop.compressed) != 1 or self.drops(number):
                break
            (level,) = loop.compressed
            if level.operand not in alike:
                break
            followed[number] = level
            alike = {level.operand}
        return followed

    def arrays(self) -> list[ir.Array]:
        """Arrays as parameters of the nest."""
        place = self.parts.place
        sizes: list[tuple[str, ir.Expression]] = []
        positions: ir.Expression | None = None  # one
        for number, index in enumerate(self.path):
            if self.is_dense(number):
                size = variable(self.parts.size_of(index), place)
                positions = size if positions is None else multiply(positions, size, place)
                continue
            segments = one_more(positions or integer(1, place), place)
            positions = variable(self._entries(number), place)
            sizes.append((segments_of(self.name, number), segments))
            sizes.append((coordinates_of(self.name, number), positions))
        assert positions is not None
        declared = [ir.Array(name, INT32, (size,), place) for name, size in sizes]
        return [*declared, ir.Array(values_of(self.name), FLOAT32, (positions,), place)]

    def _entries(self, number: int) -> str:
        if number not in self.followed:
            return entries_of(self.name, number)
        level = self.followed[number]
        return entries_of(self.parts.operands[level.operand].tensor, level.number)

    def capacities(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """The most coordinates that levels may get that are appended to, as sizes of arrays.

        A loop comes by what one operand has, two have in common, or either has; by all of it
        again in each iteration of loops around that the operand lacks. ``sizes``: of indices, and
        the coordinates of operands' levels. Raises ``CapacityError``.
        """
        parts, most, bound = self.parts, {}, 1
        for number, loop in enumerate(parts.loops[: len(self)]):
            entries = []
            for each in loop.compressed:
                known = parts.paths[each.operand]
                others = [index for index in self.path[:number] if index not in known]
                times = math.prod(sizes[size_of(index)] for index in others)
                tensor = parts.operands[each.operand].tensor
                entries.append(sizes[entries_of(tensor, each.number)] * min(bound, times))
            bound *= sizes[size_of(loop.index)]
            if entries:
                bound = min(bound, sum(entries) if parts.is_sum else min(entries))
            if number in self.appended:
                if bound > INT32.most:
                    raise CapacityError(
                        f"{self.name}: level {number} may have {bound:,} coordinates: must be at "
                        f"most {INT32.most:,}"
                    )
                most[entries_of(self.name, number)] = bound
        return most

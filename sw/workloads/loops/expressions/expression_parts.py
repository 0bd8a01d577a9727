"""What loops a tensor index expression needs: its operands, and which of their levels each loop
walks.

Tensor B has arrays ``B_values``, and of each compressed level n ``B_segments<n>``, but for the
outermost one, which is one fiber, and ``B_coordinates<n>``; a dense result is one array of its own
name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.block_types import BITVECTOR, COMPRESSED
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.tensor.expression import (
    Access,
    Call,
    Constant,
    Expression,
    Statement,
    stored_indices,
)

FILE = "expression"
"""What places call an expression's text; they are on its line 1."""


@dataclass(frozen=True)
class Level:
    """Level ``number``, from 0, of operand ``operand``, from 0."""

    operand: int
    number: int


@dataclass(frozen=True)
class Loop:
    """A loop over ``index``, and the levels of operands that it walks."""

    index: str
    dense: tuple[Level, ...]
    compressed: tuple[Level, ...]


@dataclass(frozen=True)
class Parts:
    """A product of ``factors``, or a sum of them, which are two.

    operands
        those that are tensors, in the order of ``factors``.
    loops
        the outermost first.
    """

    statement: Statement
    is_sum: bool
    factors: tuple[Access | Constant, ...]
    operands: tuple[Access, ...]

    @property
    def result(self) -> Access:
        return self.statement.result

    @property
    def place(self) -> Location:
        return at(self.result)

    @cached_property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """The index of each level, by operand."""
        formats = self.statement.formats
        return tuple(stored_indices(each, formats[each.tensor]) for each in self.operands)

    def size_of(self, index: str) -> str:
        """The size of an index; those that always have the same size share one."""
        return size_of(self.statement.size_names[index])

    def kind(self, level: Level) -> str:
        tensor = self.operands[level.operand].tensor
        return self.statement.formats[tensor].levels[level.number]

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        ordered = []
        for index in self.statement.order:
            walked = [
                Level(number, path.index(index))
                for number, path in enumerate(self.paths)
                if index in path
            ]
            compressed = tuple(each for each in walked if self.kind(each) == COMPRESSED)
            dense = tuple(each for each in walked if each not in compressed)
            ordered.append(Loop(index, dense, compressed))
        return tuple(ordered)

    def never_ends_empty(self, depth: int) -> bool:
        """Whether loops from ``depth`` on come by their innermost body at least once, whenever
        they begin, but for indices of size 0. Below a compressed level no fiber is empty."""
        return all(
            not loop.compressed
            or (
                (len(loop.compressed) == 1 or self.is_sum)
                and all(
                    each.number and self.kind(Level(each.operand, each.number - 1)) == COMPRESSED
                    for each in loop.compressed
                )
            )
            for loop in self.loops[depth:]
        )


def parts_of(statement: Statement) -> Parts:
    """Raises ``WorkloadError`` naming the column for what loops do not compute."""
    place, expression = at(statement.result), statement.expression
    is_sum = isinstance(expression, Call) and expression.function == "add"
    factors = _factors(expression, "add" if is_sum else "mul", place)
    operands = tuple(each for each in factors if isinstance(each, Access))
    parts = Parts(statement, is_sum, tuple(factors), operands)
    _check_tensors(parts)
    _check_loops(parts)
    return parts


def at(access: Access) -> Location:
    return Location(FILE, 1, access.column)


def refuse(place: Location, text: str) -> NoReturn:
    raise WorkloadError(f"{place}: {text}")


def segments_of(tensor: str, level: int) -> str:
    """The array of a compressed level."""
    return f"{tensor}_segments{level}"


def coordinates_of(tensor: str, level: int) -> str:
    """The array of a compressed level."""
    return f"{tensor}_coordinates{level}"


def entries_of(tensor: str, level: int) -> str:
    """The size that is how many coordinates a compressed level has, of a result at most."""
    return f"{tensor}_entries{level}"


def values_of(tensor: str) -> str:
    """The array of values."""
    return f"{tensor}_values"


def size_of(index: str) -> str:
    return f"{index}_size"


def _factors(expression: Expression, function: str, place: Location) -> list[Access | Constant]:
    """Operands of nested calls of one function, left to right."""
    if isinstance(expression, Access | Constant):
        return [expression]
    if expression.function != function:
        refuse(
            place,
            f"{expression.function}: an expression must be a product, or a sum of two tensors",
        )
    return [each for part in expression.arguments for each in _factors(part, function, place)]


def _check_tensors(parts: Parts) -> None:
    statement, result = parts.statement, parts.result
    if statement.lanes:
        refuse(parts.place, "parallelize is not supported in loop nests")
    for access in parts.operands:
        if BITVECTOR in statement.formats[access.tensor].levels:
            refuse(at(access), f"{access.tensor}: levels must be dense or compressed")
        if len(set(access.indices)) != len(access.indices):
            refuse(at(access), f"{access}: an index must not stand in it twice")
    missing = set(result.indices).difference(*(each.indices for each in parts.operands))
    if missing:
        refuse(parts.place, f"{min(missing)}: must be an index of a tensor on the right")
    if parts.is_sum and (
        len(parts.factors) != 2
        or len(parts.operands) != 2
        or any(set(each.indices) != set(result.indices) for each in parts.operands)
    ):
        refuse(parts.place, "a sum must be of two tensors with the indices of the result")


def _check_loops(parts: Parts) -> None:
    order = parts.statement.order
    for access, path in zip(parts.operands, parts.paths, strict=True):
        if sorted(path, key=order.index) != list(path):
            refuse(
                at(access), f"{access}: is stored {', '.join(path)}: loops must be in this order"
            )
    has_merged = False
    for loop in parts.loops:
        count = len(loop.compressed)
        if parts.is_sum and count == 1:
            refuse(
                parts.place, f"{loop.index}: both tensors of a sum must be compressed, or neither"
            )
        if count > 2:
            refuse(parts.place, f"{loop.index}: at most two compressed tensors can be merged")
        if parts.is_sum and has_merged and not count:
            refuse(
                parts.place,
                f"{loop.index}: levels of a sum inside of compressed ones must be compressed",
            )
        has_merged |= count == 2

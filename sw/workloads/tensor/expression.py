"""Tensor index expressions as trees, and what can be asked of them.

``column`` is a part's place in the text, from 1; parts that differ only in it are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, Protocol, TypeAlias, TypeVar

from gnarl.hw.sam import block_types
from gnarl.sw.workloads.tensor.storage import TensorFormat

# Functions by name, with their number of arguments.
FUNCTIONS: dict[str, int] = {**dict.fromkeys(block_types.FUNCTIONS, 1), "max": 2, "min": 2}

ADDITIVE = ("add", "sub", "max", "min")
"""Operations whose missing operand counts as 0, and that are 0 where both are missing."""

NONZERO_AT_ZERO = ("exp", "reciprocal", "sigmoid", "log")
"""Functions that are not 0 at 0: they have a value at every coordinate."""

ZERO_AT_ZERO = ("neg", *(name for name in block_types.FUNCTIONS if name not in NONZERO_AT_ZERO))
"""The other functions of one argument, which are where that is."""

GREATEST = "greatest"
REDUCTIONS = ("sum", "max", GREATEST)
"""What indices are reduced by."""

Part = TypeVar("Part", covariant=True)


@dataclass(frozen=True)
class Access:
    """A tensor at index variables: ``B(i,k)``. ``indices[m]`` is the variable of mode m."""

    tensor: str
    indices: tuple[str, ...]
    column: int = field(default=1, compare=False)

    def __str__(self) -> str:
        return f"{self.tensor}({','.join(self.indices)})" if self.indices else self.tensor


@dataclass(frozen=True)
class Constant:
    """A number: a scalar whose name is the number."""

    value: float

    @property
    def tensor(self) -> str:
        """Name of the scalar in graphs: the number as Python writes a float."""
        return repr(float(self.value))


@dataclass(frozen=True)
class Call(Generic[Part]):
    """``add``, ``sub``, ``mul``, ``neg`` or one of ``FUNCTIONS``, applied element by element."""

    function: str
    arguments: tuple[Part, ...]


@dataclass(frozen=True)
class Reduction(Generic[Part]):
    """``sum[k,l](part)``, ``max[k](part)`` or ``greatest[k](part)``: over all coordinates of
    ``indices``.

    Where the part is not stored it counts as 0, for ``max`` too; ``greatest`` is the maximum of
    what is stored alone, and 0 of nothing. The innermost loop's index is reduced first, in
    ascending order of coordinates.
    """

    op: str
    indices: tuple[str, ...]
    part: Part
    column: int = field(default=1, compare=False)


Expression: TypeAlias = "Access | Constant | Call[Expression]"

EinsumExpression: TypeAlias = (
    "Access | Constant | Call[EinsumExpression] | Reduction[EinsumExpression]"
)
"""Of Einsum programs; ``Call`` has the functions of statements, and ``div`` (two arguments)."""


@dataclass(frozen=True)
class Statement:
    """``result = expression``, how each tensor is stored, and the order of the loops.

    ``formats`` has every tensor; ``order`` every index variable, outermost first; ``lanes``
    indices whose loops are dealt to several copies of what lies inside, each with how many,
    outermost first; ``blocks`` indices along which neighbours are one value, each with how many.
    """

    result: Access
    expression: Expression
    formats: Mapping[str, TensorFormat]
    order: tuple[str, ...]
    lanes: tuple[tuple[str, int], ...] = ()
    blocks: tuple[tuple[str, int], ...] = ()

    @property
    def operands(self) -> tuple[Access, ...]:
        """Every access on the right, left to right; a tensor that appears twice is listed twice."""
        return tuple(accesses(self.expression))

    @property
    def results(self) -> tuple[Access, ...]:
        return (self.result,)

    @cached_property
    def size_names(self) -> Mapping[str, str]:
        """See ``common_sizes``."""
        return common_sizes(self.order, (*self.operands, self.result))


class Indexed(Protocol):
    """What has operands and results at indices, each with one size."""

    @property
    def operands(self) -> tuple[Access, ...]:
        """Every access of an operand, in order; one that appears twice is listed twice."""

    @property
    def results(self) -> tuple[Access, ...]:
        """The accesses of what is written."""

    @property
    def formats(self) -> Mapping[str, TensorFormat]:
        """How operands and results are stored, by name."""

    @property
    def size_names(self) -> Mapping[str, str]:
        """See ``common_sizes``."""


def common_sizes(order: Sequence[str], used: Iterable[Access]) -> dict[str, str]:
    """The first index, in loop order, that always has the same size, for each index.

    Accesses of one tensor give the indices in each of its modes one size: all three of
    ``X(i,k)=B(i,j)*B(j,k)`` have that of i.
    """
    names = {index: index for index in order}
    first: dict[str, Access] = {}
    for access in used:
        known = first.setdefault(access.tensor, access)
        for one, other in zip(known.indices, access.indices, strict=True):
            same = {names[one], names[other]}
            least = min(same, key=order.index)
            names = {index: least if at in same else at for index, at in names.items()}
    return names


def terms(expression: Expression) -> Iterator[Expression]:
    """The parts of nested sums, left to right."""
    if isinstance(expression, Call) and expression.function == "add":
        for part in expression.arguments:
            yield from terms(part)
    else:
        yield expression


def accesses(expression: EinsumExpression) -> Iterator[Access]:
    """Every access, left to right."""
    match expression:
        case Access():
            yield expression
        case Call(_, arguments):
            for argument in arguments:
                yield from accesses(argument)
        case Reduction(part=part):
            yield from accesses(part)


def stored_indices(access: Access, format: TensorFormat) -> tuple[str, ...]:
    """The index variable of each level, outermost first."""
    return tuple(access.indices[mode] for mode in format.modes)

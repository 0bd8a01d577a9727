"""Finds the coordinates that a loop visits: sets over the levels of the operands that have its
index.

A product needs the coordinates that all its factors have, a sum those of any of its parts; dense
levels have all of them, and so need not be walked where another set says which ones count: they
are located. Source: Kjolstad et al., "The Tensor Algebra Compiler", OOPSLA 2017, merge lattices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeGuard

from gnarl.hw.sam.block_types import DENSE
from gnarl.sw.workloads.tensor.expression import ADDITIVE, NONZERO_AT_ZERO, Call, Reduction

STREAM = "stream"
"""The format of a level that is not stored, but computed beside the loops that read it."""


@dataclass(frozen=True)
class Known:
    """What is known of the fibers of a level: whether they have every coordinate, or at least
    one."""

    full: bool
    never_empty: bool


@dataclass(frozen=True)
class Operand:
    """An access, a constant or what was computed: ``indices`` and ``formats`` by level, outermost
    first.

    number
        distinguishes operands of the same tensor.
    known
        by level, of those whose format is ``STREAM``.
    """

    number: int
    tensor: str
    indices: tuple[str, ...]
    formats: tuple[str, ...]
    known: tuple[Known, ...] = ()

    @property
    def column(self) -> str:
        """Its column in a fusion table: the tensor at the indices of its levels; none for what was
        computed."""
        if not self.tensor:
            return ""
        return f"{self.tensor}({','.join(self.indices)})" if self.indices else self.tensor


@dataclass(frozen=True)
class Named:
    """What a statement computes: ``part``, by an access of its result. ``is_shared``: several take
    it."""

    name: str
    part: Formula
    is_shared: bool = False


Formula: TypeAlias = "Operand | Call[Formula] | Reduction[Formula] | Named"


@dataclass(frozen=True)
class Level:
    """The coordinates in a fiber of level ``number`` of ``operand``; none where it is missing."""

    operand: Operand
    number: int

    @property
    def format(self) -> str:
        return self.operand.formats[self.number]

    @property
    def full(self) -> bool:
        """Whether fibers have every coordinate as long as the operand is there."""
        return self.operand.known[self.number].full if self.is_stream else self.format == DENSE

    @property
    def is_stream(self) -> bool:
        return self.format == STREAM

    @property
    def is_innermost(self) -> bool:
        """Whether the operand has no level inside of it."""
        return self.number == len(self.operand.formats) - 1

    @property
    def filled(self) -> bool:
        """Whether no fiber is empty as long as the operand is there."""
        if self.is_stream:
            return self.operand.known[self.number].never_empty
        outer = self.operand.formats[self.number - 1] if self.number else DENSE
        return self.format == DENSE or outer != DENSE


@dataclass(frozen=True)
class All:
    """Every coordinate below the size of the index."""


@dataclass(frozen=True)
class Intersection:
    parts: tuple[Coordinates, ...]


@dataclass(frozen=True)
class Union:
    parts: tuple[Coordinates, ...]


Coordinates = Level | All | Intersection | Union

Presence = frozenset[frozenset[int]]
"""What is known of operands that may be missing: of each set, by number, one is there."""


MAX_KNOWN = 64
"""Most sets of a ``Presence``: their number may double with each part of a sum."""


def operands(formula: Formula) -> Iterator[Operand]:
    """Every operand, left to right; those of what is named, once, however often it is taken."""
    for part in distinct(formula):
        if isinstance(part, Operand):
            yield part


def distinct(formula: Formula, known: set[int] | None = None) -> Iterator[Formula]:
    """A formula and all parts of parts, outer ones first, left to right; what is named, once. As
    statements take what others compute, a formula may have exponentially many parts."""
    known = set() if known is None else known
    if isinstance(formula, Named):
        if id(formula) in known:
            return
        known.add(id(formula))
    yield formula
    for part in parts_of(formula):
        yield from distinct(part, known)


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    """What a formula is made of, left to right."""
    match formula:
        case Call(_, arguments):
            return arguments
        case Reduction(part=part) | Named(part=part):
            return (part,)
    return ()


def with_parts(formula: Formula, parts: tuple[Formula, ...]) -> Formula:
    """The same of other parts."""
    match formula:
        case Call():
            return replace(formula, arguments=parts)
        case Reduction() | Named():
            return replace(formula, part=parts[0])
    return formula


def indices_of(formula: Formula) -> set[str]:
    """The indices that a formula depends on; those that are reduced inside it are not."""
    return _indices_of(formula, {})


def _indices_of(formula: Formula, known: dict[int, set[str]]) -> set[str]:
    """``known``: of what is named, by its ``id``."""
    match formula:
        case Operand():
            return set(formula.indices)
        case Named(part=part):
            if id(formula) not in known:
                known[id(formula)] = _indices_of(part, known)
            return known[id(formula)]
        case Reduction(_, indices, part):
            return _indices_of(part, known) - set(indices)
    return set().union(*(_indices_of(part, known) for part in parts_of(formula)))


def coordinates(formula: Formula, index: str, present: Presence) -> Coordinates | None:
    """The coordinates at which ``formula`` may differ from 0 along ``index``; None if it does not
    depend on it."""
    found = _coordinates(formula, index, {})
    return None if found is None else _with_streams_beside(simplify(found, present), present)


def completed(found: Coordinates, present: Presence) -> Coordinates:
    """The set with every coordinate added that it may lack."""
    if is_full(found, present):
        return found
    return _with_streams_beside(simplify(Union((found, All())), present), present)


def _with_streams_beside(found: Coordinates, present: Presence) -> Coordinates:
    """In a loop over every coordinate a stream that has them all goes beside the loop as it is. One
    of them is joined with what has not, if it has no level inside."""
    if not (isinstance(found, Union) and is_full(found, present)):
        return found
    full = [part for part in found.parts if _is_full_stream(part, present)]
    rest = [part for part in found.parts if not any(part is each for each in full)]
    if full and not rest:
        return full[0]
    innermost: list[Coordinates] = [part for part in full if part.is_innermost]
    if full and not any(is_full(part, present) for part in rest):
        rest = [*rest, *(innermost[:1] or [All()])]
    return rest[0] if len(rest) == 1 else Union(tuple(rest))


def _coordinates(
    formula: Formula, index: str, known: dict[int, Coordinates | None]
) -> Coordinates | None:
    """``known``: of what is named, by its ``id``; taken twice, it has the same object."""
    match formula:
        case Operand():
            if index not in formula.indices:
                return None
            return Level(formula, formula.indices.index(index))
        case Reduction(part=part):
            return _coordinates(part, index, known)
        case Named(part=part):
            if id(formula) not in known:
                known[id(formula)] = _coordinates(part, index, known)
            return known[id(formula)]
    parts = [_coordinates(argument, index, known) for argument in formula.arguments]
    if len(parts) == 2 and parts[0] is parts[1] and formula.function in ("mul", *ADDITIVE):
        return parts[0]
    there = tuple(part for part in parts if part is not None)
    if not there:
        return None
    if formula.function == "mul":
        return there[0] if len(there) == 1 else Intersection(there)
    if formula.function in ADDITIVE:
        return Union(there if len(there) == len(parts) else (*there, All()))
    return Union((*there, All())) if formula.function in NONZERO_AT_ZERO else there[0]


def simplify(found: Coordinates, present: Presence) -> Coordinates:
    """Nested sets of a kind become one, and dense levels that need not be walked go."""
    return _simplified(found, present, {})


def _simplified(
    found: Coordinates, present: Presence, known: dict[int, Coordinates]
) -> Coordinates:
    """``known``: of sets that may come again, by their ``id``."""
    if isinstance(found, Level | All):
        return found
    if id(found) not in known:
        known[id(found)] = _of_simple_parts(
            type(found), [_simplified(part, present, known) for part in found.parts], present
        )
    return known[id(found)]


def _of_simple_parts(
    kind: type[Intersection] | type[Union], simple: Sequence[Coordinates], present: Presence
) -> Coordinates:
    nested = (each.parts if isinstance(each, kind) else (each,) for each in simple)
    parts = list({id(part): part for group in nested for part in group}.values())
    sparse: list[Coordinates] = [
        part for part in parts if not (isinstance(part, All) or _is_dense(part))
    ]
    if kind is Intersection:
        dense = [part for part in parts if _is_dense(part)]
        parts = _within_stored(sparse) or dense[:1] or [All()]
    elif any(_is_full_stream(part, present) for part in sparse):
        parts = sparse
    else:
        complete = _complete(parts, present)
        if complete is not None:
            parts = [*sparse, complete]
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def _within_stored(parts: list[Coordinates]) -> list[Coordinates]:
    """The parts of an intersection, where a union takes the coordinates of a stored level that it
    meets in place of every coordinate: ``B*exp(t)`` needs those of ``t`` only where ``B`` is."""
    stored = next((each for each in parts if isinstance(each, Level) and not each.is_stream), None)
    if stored is None:
        return parts
    return [_with_level(each, stored) if isinstance(each, Union) else each for each in parts]


def _with_level(union: Union, stored: Level) -> Coordinates:
    rest = tuple(each for each in union.parts if not (isinstance(each, All) or _is_dense(each)))
    return union if len(rest) == len(union.parts) else Union((*rest, stored))


def _complete(parts: Sequence[Coordinates], present: Presence) -> Coordinates | None:
    """A part that has all coordinates, if there is one; of those a level before all others."""
    for part in parts:
        if _is_dense(part) and is_full(part, present):
            return part
    return All() if All() in parts else None


def _is_full_stream(part: Coordinates, present: Presence) -> TypeGuard[Level]:
    return isinstance(part, Level) and part.is_stream and is_full(part, present)


def _is_dense(part: Coordinates) -> bool:
    return isinstance(part, Level) and part.format == DENSE


def is_full(found: Coordinates, present: Presence) -> bool:
    """Whether the set has every coordinate, whatever the data."""
    match found:
        case All():
            return True
        case Level(operand):
            return found.full and is_sure(operand, present)
        case Union(parts):
            return any(is_full(part, present) for part in parts)
    return False


def is_sure(operand: Operand, present: Presence) -> bool:
    """Whether the operand is never missing here."""
    return frozenset({operand.number}) in present


def never_empty(found: Coordinates, present: Presence) -> bool:
    """Whether the set has a coordinate, whatever the data.

    Relies on storage: below a position of a compressed or bitvector level a fiber is not empty.
    """
    if is_full(found, present):
        return True
    if isinstance(found, Intersection):
        return False
    parts = found.parts if isinstance(found, Union) else (found,)
    filled = {part.operand.number for part in parts if isinstance(part, Level) and part.filled}
    if any(one <= filled for one in present):
        return True
    return isinstance(found, Union) and any(never_empty(part, present) for part in parts)


def visited(found: Coordinates, present: Presence) -> Presence:
    """What is known of the operands that are walked, at each coordinate of the set."""
    match found:
        case Level(operand):
            return frozenset({frozenset({operand.number})})
        case Intersection(parts):
            return frozenset().union(*(visited(part, present) for part in parts))
        case Union(parts):
            known: Presence = frozenset({frozenset()})
            for part in parts:
                others = visited(part, present)
                if len(known) * len(others) > MAX_KNOWN:
                    known = others = frozenset()  # less is known than could be
                known = frozenset(one | other for one in known for other in others)
            for part in parts:
                if is_full(part, present):
                    known |= visited(part, present)
            return known
    return frozenset()

"""Copies: a tensor that loops walk in another order than that in which it is stored, stored once
more, for them.

The host makes a copy before the region that takes it: of an input when it loads it, of what an
earlier region has written between the launches. Source: FuseFlow, section 5, step 4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

import networkx as nx

from gnarl.hw.sam.block_types import DENSE
from gnarl.sw.compiler.sam.fuse.partial_order import (
    Constraint,
    add_unless_cyclic,
    constraints,
    modes_in,
)
from gnarl.sw.compiler.sam.fuse.views import Views
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.rearrangement import Rearrangement, Reshape
from gnarl.sw.workloads.tensor.expression import Access
from gnarl.sw.workloads.tensor.storage import TensorFormat


@dataclass(frozen=True)
class Copy:
    """Tensor ``name`` with the elements of ``source``, an access of a region, stored in
    ``format``."""

    name: str
    source: Access
    format: TensorFormat

    def __str__(self) -> str:
        return f"{self.name} is {self.source.tensor}, stored {self.format.notation}"

    @property
    def statement(self) -> Rearrangement:
        """What the host does: elements stay where they are."""
        return Rearrangement(replace(self.source, tensor=self.name), Reshape(), (self.source,))


def discordant(
    views: Views,
    formats: Mapping[str, TensorFormat],
    before: Iterable[Sequence[str]],
    order: Sequence[str],
) -> list[Access]:
    """The accesses of inputs to copy: those whose storage does not suit ``order``, or, where it is
    empty, closes a cycle with what no copy changes and with accesses before it."""
    known, inputs = list(constraints(views, formats, before)), {*views.inputs()}
    found = [each for each in known if each.access in inputs]
    if order:
        place = {index: number for number, index in enumerate(order)}
        copied = [each for each in found if not _ascends(each.order, place)]
    else:
        copied = _closing(found, [each for each in known if each.access not in inputs])
    accesses = (each.access for each in copied if each.access is not None)
    return [each for each in dict.fromkeys(accesses) if _may_move(each, formats[each.tensor])]


def in_other_orders(
    views: Views, walked: Mapping[str, TensorFormat], order: Sequence[str]
) -> list[Access]:
    """The accesses of inputs that may be stored in any order, those that ``walked`` lacks, which
    the loops walk in another order than the tensor's first access."""
    first: dict[str, tuple[int, ...]] = {}
    found = []
    for access in dict.fromkeys(views.inputs()):
        modes = modes_in(order, access)
        if access.tensor not in walked and first.setdefault(access.tensor, modes) != modes:
            found.append(access)
    return found


def _ascends(order: Sequence[str], place: Mapping[str, int]) -> bool:
    places = [place[index] for index in order]
    return places == sorted(places)


def _closing(found: Sequence[Constraint], fixed: Sequence[Constraint]) -> list[Constraint]:
    graph: nx.DiGraph = nx.DiGraph()
    for each in fixed:
        graph.add_edges_from(each.edges)
    return [each for each in found if not add_unless_cyclic(graph, each.edges, each.why)]


def _may_move(access: Access, format: TensorFormat) -> bool:
    """Whether a tensor has the same points with its modes in any order: all of them, or its
    entries. A diagonal is walked in none."""
    if len({*access.indices}) < len(access.indices):
        return False
    levels = format.levels
    return len(levels) > 1 and (levels[-1] != DENSE or set(levels) == {DENSE})


def copies_of(
    program: EinsumProgram,
    accesses: Sequence[Access],
    formats: Mapping[str, TensorFormat],
    order: Sequence[str],
    known: Collection[Copy],
) -> dict[Access, Copy]:
    """A copy for each access, its modes in the order of loops: a ``known`` one, where there is."""
    found: dict[Access, Copy] = {}
    taken = {*program.inputs, *(each.name for each in program.statements)}
    taken |= {each.name for each in known}
    for access in accesses:
        format = TensorFormat(formats[access.tensor].levels, modes_in(order, access))
        there = (*known, *found.values())
        same = (one for one in there if (one.source.tensor, one.format) == (access.tensor, format))
        copy = next(same, None)
        if copy is None:
            names = (f"{access.tensor}_{number}" for number in count(1))
            copy = Copy(next(name for name in names if name not in taken), access, format)
            taken.add(copy.name)
        found[access] = copy
    return found


def renamed(views: Views, copies: Mapping[Access, Copy]) -> Views:
    """The views that take copies."""
    return views.with_tensors({access: copy.name for access, copy in copies.items()})


def with_copies(program: EinsumProgram, copies: Iterable[Copy]) -> EinsumProgram:
    """The program with a statement for each copy, behind what makes its source."""
    distinct = {copy.name: copy for copy in copies}
    if not distinct:
        return program
    of: dict[str, list[Rearrangement]] = {}
    for copy in distinct.values():
        of.setdefault(copy.source.tensor, []).append(copy.statement)
    inputs = [each for name in program.inputs for each in of.get(name, [])]
    behind = [(each, *of.get(each.name, [])) for each in program.statements]
    statements = (*inputs, *(each for group in behind for each in group))
    formats = {name: copy.format for name, copy in distinct.items()}
    return replace(program, statements=statements, formats={**program.formats, **formats})

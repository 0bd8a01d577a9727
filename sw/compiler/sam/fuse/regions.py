"""Regions: statements that share a graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import networkx as nx

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.block_types import DENSE
from gnarl.sw.compiler.sam.fuse.barriers import needed_before, with_moved
from gnarl.sw.compiler.sam.fuse.choices import FACTORED, GLOBAL
from gnarl.sw.compiler.sam.fuse.copies import (
    Copy,
    copies_of,
    discordant,
    in_other_orders,
    renamed,
    with_copies,
)
from gnarl.sw.compiler.sam.fuse.global_iteration import globally
from gnarl.sw.compiler.sam.fuse.partial_order import (
    check_indices,
    check_order,
    first_order,
    modes_in,
    partial_order,
)
from gnarl.sw.compiler.sam.fuse.repeated import repeated
from gnarl.sw.compiler.sam.fuse.views import Views, formulas, views_of
from gnarl.sw.compiler.sam.table.lower import RegionResult, fill
from gnarl.sw.compiler.sam.table.table import FusionTable
from gnarl.sw.workloads.einsum.explicit import explicit
from gnarl.sw.workloads.einsum.kernel import Kernel
from gnarl.sw.workloads.einsum.program import Einsum, EinsumProgram, accesses
from gnarl.sw.workloads.tensor.expression import Statement
from gnarl.sw.workloads.tensor.storage import TensorFormat


@dataclass(frozen=True)
class Region:
    """Statements that share a graph, in the order of the program.

    order
        of its loops, outermost first; empty: the first that fits.
    before
        sequences of indices, each outside of the next, where the order is not given.
    iteration
        one of ``ITERATIONS``.
    longest
        bounds of fibers, coordinates of an index by its name, where data have fewer than there are.
    lanes
        indices whose loops are dealt to copies of what lies inside, each with how many.
    blocks
        indices along which neighbours are one value, each with how many.
    place
        where the user wrote it, as errors begin: ``s.toml: region 2: ``.
    """

    statements: tuple[str, ...]
    order: tuple[str, ...] = ()
    before: tuple[tuple[str, ...], ...] = ()
    iteration: str = FACTORED
    longest: Mapping[str, int] = field(default_factory=dict)
    lanes: tuple[tuple[str, int], ...] = ()
    blocks: tuple[tuple[str, int], ...] = ()
    place: str = field(default="", compare=False)


@dataclass(frozen=True)
class Fusion:
    """A program, and what of it shares a graph.

    regions
        in an order in which they can be computed; together they have every statement that computes
        something.
    fixed
        dense inputs that must be stored as the program's formats say; others may have their modes
        in any order, if a region takes them at one place only.
    may_cut
        whether a region that has no graph is cut into some that have; else it is an error.
    associations
        of products that the program has already, as schedules say them.
    may_copy
        whether what no order of loops suits as it is stored may be stored once more.
    whole
        the program that this one is a part of, if it is one; see ``views_of``.
    """

    program: EinsumProgram
    regions: tuple[Region, ...]
    fixed: frozenset[str] = frozenset()
    may_cut: bool = False
    associations: tuple[str, ...] = ()
    may_copy: bool = False
    whole: EinsumProgram | None = None

    @classmethod
    def of_statement(cls, statement: Statement) -> Fusion:
        """The only region of a statement."""
        einsum = explicit(statement)
        program = EinsumProgram(einsum.name, (einsum,), statement.formats, (einsum.name,))
        order, lanes, blocks = statement.order, statement.lanes, statement.blocks
        region = Region((einsum.name,), order, lanes=lanes, blocks=blocks)
        return cls(program, (region,), frozenset(program.inputs))


@dataclass(frozen=True)
class LoweredRegion:
    """A region with what it became.

    views
        its statements at its indices.
    formats
        how each tensor that it takes or gives is stored.
    partial_order
        of its loops.
    order
        that was chosen.
    cut
        why what follows is not in it, where it was cut; else empty.
    copies
        of tensors that it takes, stored to suit its order.
    """

    region: Region
    views: Views
    formats: Mapping[str, TensorFormat]
    partial_order: nx.DiGraph
    order: tuple[str, ...]
    table: FusionTable
    cut: str = ""
    copies: tuple[Copy, ...] = ()

    @property
    def name(self) -> str:
        """The names of what it writes."""
        return "_".join(access.tensor for access in self.views.results)

    def longest(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
        """Coordinates in the longest fiber of each index, or blocks: as many as there are, or the
        region's bound. Raises ``WorkloadError`` for a bound of an index that there is not."""
        copied = {copy.name: shapes[copy.source.tensor] for copy in self.copies}
        sizes, bounds = self.kernel.sizes({**shapes, **copied}), self.region.longest
        for index in bounds:
            if index not in sizes:
                raise WorkloadError(
                    f"{self.region.place}longest: index {index} is not in the region; it has "
                    f"{', '.join(sizes)}"
                )
        words = dict(self.region.blocks)
        return {
            index: min(-(-size // words.get(index, 1)), bounds.get(index, size))
            for index, size in sizes.items()
        }

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user may want to know: copies, what is computed more than once, and where the
        region was cut."""
        found = [*map(str, self.copies), *repeated(self.views, self.order)]
        if self.cut:
            found.append(f"cut behind {self.region.statements[-1]}: {self.cut}")
        return tuple(found)

    @cached_property
    def kernel(self) -> Kernel:
        """What it computes, at its indices."""
        place = {index: number for number, index in enumerate(self.order)}
        statements = []
        for view in self.views.views:
            used = (view.result, *accesses(view.expression))
            indices = {index for access in used for index in access.indices}
            order = tuple(sorted(indices, key=place.__getitem__))
            statements.append(Einsum(view.result, view.expression, order))
        results = tuple(access.tensor for access in self.views.results)
        return Kernel(EinsumProgram(self.name, tuple(statements), self.formats, results))


def regions_of(program: EinsumProgram, fusion: str, iteration: str = FACTORED) -> list[Region]:
    """The regions of a program by one of ``FUSIONS``; a layer with barriers in it has several, and
    one whose statements share no tensors."""
    before = needed_before(program)
    groups: list[list[str]] = []
    last: list[Einsum] = []
    for each in program.einsums:
        if (
            fusion == "none"
            or not last
            or (fusion == "layer" and last[0].layer != each.layer)
            or not before[each.name].isdisjoint(one.name for one in last)
        ):
            groups.append([])
            last = []
        groups[-1].append(each.name)
        last.append(each)
    parts = (part for group in groups for part in connected(program, group))
    return [Region(part, iteration=iteration) for part in parts]


def connected(program: EinsumProgram, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Statements in groups that share tensors, directly or by others of the group; in the order of
    their first ones."""
    graph: nx.Graph = nx.Graph()
    for name in names:
        tensors = (name, *(access.tensor for access in program[name].operands))
        graph.add_edges_from((("", name), tensor) for tensor in tensors)
    parts = nx.connected_components(graph)
    found = [tuple(name for name in names if ("", name) in part) for part in parts]
    return sorted(found, key=lambda part: names.index(part[0]))


def stored_formats(
    program: EinsumProgram, regions: Sequence[LoweredRegion]
) -> dict[str, TensorFormat]:
    """How tensors are stored that are inputs, written by the regions, or made of such by hosts; by
    name. Dense ones may have their modes in any order."""
    formats = with_moved(program, program.formats)
    for region in regions:
        results = (access.tensor for access in region.views.results)
        formats = with_moved(program, formats | {name: region.formats[name] for name in results})
    return formats


def copied_program(program: EinsumProgram, regions: Sequence[LoweredRegion]) -> EinsumProgram:
    """The program with the copies that its regions take."""
    return with_copies(program, (copy for each in regions for copy in each.copies))


def lower_regions(fusion: Fusion) -> list[LoweredRegion]:
    """Lowers regions one after the other; what one writes, later ones take in its format, or as
    copies of it.

    Raises ``WorkloadError`` as ``partial_order`` and ``fill`` do.
    """
    lowered: list[LoweredRegion] = []
    for region in fusion.regions:
        left = region.statements
        while left:
            try:
                found = _longest(fusion, replace(region, statements=left), lowered)
            except WorkloadError as error:
                raise WorkloadError(f"{region.place}{error}") from error
            lowered.append(found)
            left = left[len(found.region.statements) :]
    return lowered


def _longest(fusion: Fusion, region: Region, before: Sequence[LoweredRegion]) -> LoweredRegion:
    """The region, or, where that has no graph and may be cut, its longest beginning that has."""
    refusal = ""
    for count in range(len(region.statements), 0, -1):
        try:
            found = _lower(fusion, replace(region, statements=region.statements[:count]), before)
            return replace(found, cut=refusal)
        except WorkloadError as error:
            if not fusion.may_cut or count == 1:
                raise
            refusal = str(error)
    raise AssertionError("a region has statements")


def results_of(program: EinsumProgram, statements: Sequence[str]) -> list[str]:
    """What others than the statements take, or users get."""
    inside = set(statements)
    return [
        name
        for name in statements
        if name in program.results or not inside.issuperset(program.consumers.get(name, ()))
    ]


def _lower(fusion: Fusion, region: Region, before: Sequence[LoweredRegion]) -> LoweredRegion:
    program = fusion.program
    formats = stored_formats(program, before)
    results = results_of(program, region.statements)
    views = views_of(program, region.statements, results, fusion.whole)
    _require_sizes(views)
    if region.order:
        check_indices(views, region.order)
    fixed = walked_formats(program, views, formats, fusion.fixed, fusion.may_copy)
    copied = discordant(views, fixed, region.before, region.order) if fusion.may_copy else []
    graph = partial_order(views, fixed, region.before, copied)
    if region.order:
        check_order(graph, region.order)
    order = region.order or first_order(graph)
    for what, chosen in (("lanes", region.lanes), ("blocks", region.blocks)):
        for index, _ in chosen:
            if index not in order:
                raise WorkloadError(
                    f"{what}: index {index} is not in the region; it has {', '.join(order)}"
                )
    known = [copy for each in before for copy in each.copies]
    copied += in_other_orders(views, fixed, order)
    copies = copies_of(program, copied, formats, order, known)
    views = renamed(views, copies)
    fixed |= {copy.name: copy.format for copy in copies.values()}
    stored = {**fixed, **free_formats(views, fixed, order)}
    if region.iteration == GLOBAL:
        views = globally(views)
    whole = formulas(views, stored)
    written = [
        RegionResult(access, stored.get(access.tensor), formula)
        for access, formula in zip(views.results, whole, strict=True)
    ]
    table, results_formats = fill(written, order)
    stored |= results_formats
    used = dict.fromkeys(access.tensor for access in (*views.inputs(), *views.results))
    kept = {name: stored[name] for name in used}
    region = replace(region, order=order)
    made = tuple({copy.name: copy for copy in copies.values()}.values())
    return LoweredRegion(region, views, kept, graph, order, table, copies=made)


def _require_sizes(views: Views) -> None:
    """Raises ``WorkloadError`` for an index that is in no tensor that is read or written."""
    known = {index for each in (*views.inputs(), *views.results) for index in each.indices}
    for view in views.views:
        for index in view.result.indices:
            if index not in known:
                raise WorkloadError(
                    f"index {index} of {view.result} is in no tensor that the region takes or "
                    f"writes: cut the region behind {view.result.tensor}"
                )


def walked_formats(
    program: EinsumProgram,
    views: Views,
    formats: Mapping[str, TensorFormat],
    chosen: Collection[str] = (),
    may_copy: bool = False,
) -> dict[str, TensorFormat]:
    """Formats in which tensors must be walked as they are: all but those of dense inputs, and of
    what the host moves, at one place, or at several where it may store copies: it may store these
    with their modes in any order, unless they are ``chosen``."""
    uses = Counter(access.tensor for access in {*views.inputs()})
    return {
        name: format
        for name, format in formats.items()
        if (uses[name] > 1 and not may_copy)
        or program.einsum(name) is not None
        or name in chosen
        or any(level != DENSE for level in format.levels)
    }


def free_formats(
    views: Views, walked: Mapping[str, TensorFormat], order: Sequence[str]
) -> dict[str, TensorFormat]:
    """Formats of the inputs that ``walked`` lacks, in the order of the loops that walk them."""
    return {
        access.tensor: TensorFormat((DENSE,) * len(access.indices), modes_in(order, access))
        for access in views.inputs()
        if access.tensor not in walked
    }

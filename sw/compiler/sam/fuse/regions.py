"""Regions: statements that share a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import networkx as nx

from gnarl.hw.sam.block_types import DENSE
from gnarl.sw.compiler.sam.fuse.global_iteration import globally
from gnarl.sw.compiler.sam.fuse.partial_order import (
    accesses_in,
    check_order,
    first_order,
    partial_order,
)
from gnarl.sw.compiler.sam.fuse.views import Views, formulas, views_of
from gnarl.sw.compiler.sam.table.lower import RegionResult, fill
from gnarl.sw.compiler.sam.table.table import FusionTable
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.tensor.storage import TensorFormat

FUSIONS = ("none", "layer")
"""What shares a graph: nothing, or the statements of a layer."""

FACTORED, GLOBAL = "factored", "global"
ITERATIONS = (FACTORED, GLOBAL)
"""How products of sums are iterated: each in a space of its own, or all in one."""


@dataclass(frozen=True)
class Region:
    """Statements that share a graph, in the order of the program.

    order
        of its loops, outermost first; empty: the first that fits.
    before
        sequences of indices, each outside of the next, where the order is not given.
    iteration
        one of ``ITERATIONS``.
    """

    statements: tuple[str, ...]
    order: tuple[str, ...] = ()
    before: tuple[tuple[str, ...], ...] = ()
    iteration: str = FACTORED


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
    """

    region: Region
    views: Views
    formats: Mapping[str, TensorFormat]
    partial_order: nx.DiGraph
    order: tuple[str, ...]
    table: FusionTable


def regions_of(program: EinsumProgram, fusion: str, iteration: str = FACTORED) -> list[Region]:
    """The regions of a program by one of ``FUSIONS``."""
    if fusion == "none":
        return [Region((each.name,), iteration=iteration) for each in program.statements]
    groups = groupby(program.statements, key=lambda each: each.layer)
    return [Region(tuple(each.name for each in group), iteration=iteration) for _, group in groups]


def lower_regions(program: EinsumProgram, regions: Sequence[Region]) -> list[LoweredRegion]:
    """Lowers regions one after the other; what one writes, later ones take in its format.

    Raises ``WorkloadError`` as ``partial_order`` and ``fill`` do.
    """
    formats = dict(program.formats)
    lowered = []
    for region in regions:
        found = _lower(program, region, formats)
        formats |= {access.tensor: found.formats[access.tensor] for access in found.views.results}
        lowered.append(found)
    return lowered


def results_of(program: EinsumProgram, statements: Sequence[str]) -> list[str]:
    """What others than the statements take, or users get."""
    inside = set(statements)
    return [
        name
        for name in statements
        if name in program.results or not set(program.consumers.get(name, ())) <= inside
    ]


def _lower(
    program: EinsumProgram, region: Region, formats: Mapping[str, TensorFormat]
) -> LoweredRegion:
    results = results_of(program, region.statements)
    views = views_of(program, region.statements, results)
    fixed = {name: each for name, each in formats.items() if not _is_free(program, name, each)}
    graph = partial_order(views, fixed, region.before)
    if region.order:
        check_order(graph, region.order)
    order = region.order or first_order(graph)
    stored = dict(fixed)
    for access in views.inputs():
        if access.tensor not in stored:
            stored[access.tensor] = TensorFormat(
                (DENSE,) * len(access.indices), accesses_in(order, access)
            )
    whole = formulas(views, stored)
    if region.iteration == GLOBAL:
        whole = [globally(formula) for formula in whole]
    written = [
        RegionResult(access, stored.get(access.tensor), formula)
        for access, formula in zip(views.results, whole, strict=True)
    ]
    table, results_formats = fill(written, order)
    stored |= results_formats
    used = {access.tensor for access in (*views.inputs(), *views.results)}
    kept = {name: format for name, format in stored.items() if name in used}
    return LoweredRegion(replace(region, order=order), views, kept, graph, order, table)


def _is_free(program: EinsumProgram, name: str, format: TensorFormat) -> bool:
    """Whether the host may store an input with its modes in any order."""
    return name not in program and all(level == DENSE for level in format.levels)

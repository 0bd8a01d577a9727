"""Decides which parts of a nest become tensors: regions, and what runs around them in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from gnarl.sw.compiler.sram_compute.tdfg.affine import Affine, affine_of, affines_in
from gnarl.sw.compiler.sram_compute.tdfg.distribute import distributed
from gnarl.sw.compiler.sram_compute.tdfg.graph import Graph, has_float_sums
from gnarl.sw.compiler.sram_compute.tdfg.interchange import interchanged, outermost_first
from gnarl.sw.compiler.sram_compute.tdfg.reverse import turned
from gnarl.sw.compiler.sram_compute.tdfg.shared_locals import sharing_locals
from gnarl.sw.compiler.sram_compute.tdfg.statements import NotTensor, reject
from gnarl.sw.compiler.sram_compute.tdfg.unroll import Options, tensor_graphs
from gnarl.sw.workloads.loops.ir.nest import (
    AugmentedStore,
    For,
    Nest,
    Statement,
    Store,
    Variable,
)
from gnarl.sw.workloads.loops.ir.parts import nodes

_FARTHEST = 1 << 24
"""Place or bound that a tensor may have: far beyond what banks hold, and so small that sums of some
of them, which passes make, stay below what ``check_plan`` takes."""


@dataclass(frozen=True)
class Region:
    """A tDFG, which may name variables of loops around it that run in order.

    is_reordered
        whether it computes floats in another order than the source.
    """

    graph: Graph
    is_reordered: bool = False


@dataclass(frozen=True)
class Repeat:
    """``body`` for each value of ``variable``, from ``lower`` to, without, ``upper``, one after the
    other. Bounds may name scalars, too."""

    variable: str
    lower: Affine
    upper: Affine
    step: int
    body: tuple[Step, ...]


@dataclass(frozen=True)
class Elsewhere:
    """A statement that is no tensor computation: why, as "file:line:column: …"."""

    reason: str


Step: TypeAlias = Region | Repeat | Elsewhere


def plan(
    nest: Nest, *, reassociate: bool = True, streams: bool = True, serial: bool = False
) -> tuple[Step, ...]:
    """What a nest does, step by step.

    A loop becomes a region where it can, else what is in it does, iteration by iteration. A loop
    around others whose variable is in no index of a store is taken for one that runs in order, as
    that over k of an outer product. Loops that add up, around nothing but one sum, come first where
    that helps; statements of a body get loops of their own. ``reassociate``, ``streams``: as
    ``Options`` has them. ``serial``: whether loops run in order wherever that is what it takes,
    down to one element at a time. O(statements x depth).
    """
    options = Options(reassociate, streams)
    steps = _steps(nest, nest.body, (), options)
    if not serial or not refusals(steps):
        return steps
    return tuple(
        step for group in sharing_locals(nest.body) for step in _or_in_order(nest, group, options)
    )


def _or_in_order(nest: Nest, group: tuple[Statement, ...], options: Options) -> tuple[Step, ...]:
    steps = _steps(nest, group, (), options)
    if not refusals(steps):
        return steps
    serial = _in_order(nest, group, (), options)
    return steps if refusals(serial) else serial


def _in_order(
    nest: Nest, group: tuple[Statement, ...], around: tuple[For, ...], options: Options
) -> tuple[Step, ...]:
    """Statements as regions, or loops in order around such: first the loop that lets those in it
    lie side by side."""
    try:
        return _regions_of(nest, group, around, options)
    except NotTensor as error:
        refused = (Elsewhere(str(error)),)
    if len(group) > 1:
        return refused
    tries = [*outermost_first(group[0])] if not around else [group[0]]
    for loop in tries:
        if not isinstance(loop, For) or not _may_be_around(nest, loop, around):
            continue
        body = tuple(
            step
            for inner in sharing_locals(loop.body)
            for step in _in_order(nest, inner, (*around, loop), options)
        )
        if not refusals(body):
            return (_repeat(loop, body),)
    parts = distributed(group[0], nest.arrays)
    if parts is None:
        return refused
    return tuple(
        step for inner in sharing_locals(parts) for step in _in_order(nest, inner, around, options)
    )


def _steps(
    nest: Nest, body: tuple[Statement, ...], around: tuple[For, ...], options: Options
) -> tuple[Step, ...]:
    return tuple(
        step for group in sharing_locals(body) for step in _together(nest, group, around, options)
    )


def _together(
    nest: Nest, group: tuple[Statement, ...], around: tuple[For, ...], options: Options
) -> tuple[Step, ...]:
    """Statements that share locals are one region, if they can be."""
    if len(group) > 1:
        try:
            return _regions_of(nest, group, around, options)
        except NotTensor as error:
            return (Elsewhere(str(error)),)
    return _planned(nest, group[0], around, options)


def _regions_of(
    nest: Nest, body: tuple[Statement, ...], around: tuple[For, ...], options: Options
) -> tuple[Region, ...]:
    """Raises ``NotTensor``."""
    graphs = tensor_graphs(nest, body, around, options)
    for affine in affines_in(graphs):
        if affine.largest > _FARTHEST:
            reject(body[0].place, f"{affine}: a place or a bound beyond {_FARTHEST}")
    return tuple(Region(graph, has_float_sums(graph)) for graph in graphs)


def _planned(
    nest: Nest, statement: Statement, around: tuple[For, ...], options: Options
) -> tuple[Step, ...]:
    if _runs_in_order(statement):
        inside = _inside(nest, statement, around, options)
        if inside:
            return inside
    try:
        return _regions_of(nest, (statement,), around, options)
    except NotTensor as error:
        other = interchanged(statement)
        if other is not None:
            steps = _planned(nest, other, around, options)
            if not refusals(steps):
                return steps
        upwards = turned(statement)
        if upwards is not None:
            steps = _planned(nest, upwards, around, options)
            if not refusals(steps):
                return steps
        inside = _inside(nest, statement, around, options)
        if inside and not refusals(inside):
            return inside
        parts = distributed(statement, nest.arrays)
        if parts is not None:
            steps = _steps(nest, parts, around, options)
            if not refusals(steps):
                return steps
        return inside or (Elsewhere(str(error)),)


def _inside(
    nest: Nest, statement: Statement, around: tuple[For, ...], options: Options
) -> tuple[Step, ...]:
    """A loop in order, if it has loops within that become regions."""
    if not isinstance(statement, For):
        return ()
    if not any(isinstance(each, For) for each in statement.body):
        return ()
    if not _may_be_around(nest, statement, around):
        return ()
    body = _steps(nest, statement.body, (*around, statement), options)
    return (_repeat(statement, body),) if any(_regions(body)) else ()


def _may_be_around(nest: Nest, loop: For, around: tuple[For, ...]) -> bool:
    """Whether bounds of a loop in order are known when it begins."""
    known = {size.name for size in nest.sizes} | {*nest.scalars}
    known |= {outer.variable for outer in around}
    lower, upper = affine_of(loop.lower), affine_of(loop.upper)
    if lower is None or upper is None or (lower.names | upper.names) - known:
        return False
    return max(lower.largest, upper.largest) <= _FARTHEST


def _repeat(loop: For, body: tuple[Step, ...]) -> Repeat:
    lower, upper = affine_of(loop.lower), affine_of(loop.upper)
    assert lower is not None and upper is not None
    return Repeat(loop.variable, lower, upper, loop.step, body)


def _runs_in_order(loop: Statement) -> bool:
    if not isinstance(loop, For):
        return False
    stores = [each for each in nodes(loop.body) if isinstance(each, Store | AugmentedStore)]
    return not any(
        isinstance(each, Variable) and each.name == loop.variable
        for store in stores
        for each in nodes(store.indices)
    )


def _regions(steps: tuple[Step, ...]) -> Iterator[Region]:
    for step in steps:
        if isinstance(step, Region):
            yield step
        elif isinstance(step, Repeat):
            yield from _regions(step.body)


def regions(steps: tuple[Step, ...]) -> tuple[Region, ...]:
    """All of them, in order."""
    return tuple(_regions(steps))


def refusals(steps: tuple[Step, ...]) -> tuple[Elsewhere, ...]:
    """What is no tensor computation."""
    elsewhere: list[Elsewhere] = []
    for step in steps:
        if isinstance(step, Elsewhere):
            elsewhere.append(step)
        elif isinstance(step, Repeat):
            elsewhere += refusals(step.body)
    return tuple(elsewhere)

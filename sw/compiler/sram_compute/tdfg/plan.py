"""Decides which parts of a nest become tensors: regions, and what runs around them in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from gnarl.sw.compiler.sram_compute.tdfg.affine import Affine, affine_of, affines_in
from gnarl.sw.compiler.sram_compute.tdfg.distribute import distributed
from gnarl.sw.compiler.sram_compute.tdfg.graph import Graph, has_float_sums
from gnarl.sw.compiler.sram_compute.tdfg.interchange import interchanged
from gnarl.sw.compiler.sram_compute.tdfg.reverse import turned
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


def plan(nest: Nest, *, reassociate: bool = True, streams: bool = True) -> tuple[Step, ...]:
    """What a nest does, step by step.

    A loop becomes a region where it can, else what is in it does, iteration by iteration. A loop
    around others whose variable is in no index of a store is taken for one that runs in order, as
    that over k of an outer product. Loops that add up, around nothing but one sum, come first where
    that helps; statements of a body get loops of their own. ``reassociate``, ``streams``: as
    ``Options`` has them.
    O(statements x depth).
    """
    return _steps(nest, nest.body, (), Options(reassociate, streams))


def _steps(
    nest: Nest, body: tuple[Statement, ...], around: tuple[For, ...], options: Options
) -> tuple[Step, ...]:
    return tuple(step for statement in body for step in _planned(nest, statement, around, options))


def _planned(
    nest: Nest, statement: Statement, around: tuple[For, ...], options: Options
) -> tuple[Step, ...]:
    if _runs_in_order(statement):
        inside = _inside(nest, statement, around, options)
        if inside:
            return inside
    try:
        graphs = tensor_graphs(nest, (statement,), around, options)
        for affine in affines_in(graphs):
            if affine.largest > _FARTHEST:
                reject(statement.place, f"{affine}: a place or a bound beyond {_FARTHEST}")
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
    return tuple(Region(graph, has_float_sums(graph)) for graph in graphs)


def _inside(
    nest: Nest, statement: Statement, around: tuple[For, ...], options: Options
) -> tuple[Step, ...]:
    """A loop in order, if it has loops within that become regions."""
    if not isinstance(statement, For):
        return ()
    if not any(isinstance(each, For) for each in statement.body):
        return ()
    known = {size.name for size in nest.sizes} | {*nest.scalars}
    known |= {loop.variable for loop in around}
    lower, upper = affine_of(statement.lower), affine_of(statement.upper)
    if lower is None or upper is None or (lower.names | upper.names) - known:
        return ()
    if max(lower.largest, upper.largest) > _FARTHEST:
        return ()
    body = _steps(nest, statement.body, (*around, statement), options)
    repeat = Repeat(statement.variable, lower, upper, statement.step, body)
    return (repeat,) if any(_regions(body)) else ()


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

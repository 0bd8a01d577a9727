"""The passes between SCF and DLC in order, each from module to module."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.functions import ModulePass
from gnarl.sw.compiler.nests.hoist import hoist
from gnarl.sw.compiler.nests.vectorize_loops import vectorize_loops
from gnarl.sw.compiler.tmu.passes.align_queues import align_queues
from gnarl.sw.compiler.tmu.passes.bufferize import bufferize
from gnarl.sw.compiler.tmu.passes.count_iterations import count_iterations
from gnarl.sw.compiler.tmu.passes.decouple import decouple
from gnarl.sw.compiler.tmu.passes.delay_stores import delay_stores
from gnarl.sw.compiler.tmu.passes.fetch_rows import fetch_rows
from gnarl.sw.compiler.tmu.passes.first_iterations import first_iterations
from gnarl.sw.compiler.tmu.passes.fits import fits
from gnarl.sw.compiler.tmu.passes.forward_stores import forward_stores
from gnarl.sw.compiler.tmu.passes.halve_sums import halve_sums
from gnarl.sw.compiler.tmu.passes.keep_rows import keep_rows
from gnarl.sw.compiler.tmu.passes.keep_sums import keep_sums
from gnarl.sw.compiler.tmu.passes.lower import lower_access
from gnarl.sw.compiler.tmu.passes.partial_sums import partial_sums
from gnarl.sw.compiler.tmu.passes.prefetch_rows import prefetch_rows
from gnarl.sw.compiler.tmu.passes.repeat_fibers import repeat_fibers
from gnarl.sw.compiler.tmu.passes.select import select_stores
from gnarl.sw.compiler.tmu.passes.split_masks import split_masks
from gnarl.sw.compiler.tmu.passes.store_lanes import store_lanes
from gnarl.sw.compiler.tmu.passes.store_streams import store_streams
from gnarl.sw.compiler.tmu.passes.stream_places import stream_places
from gnarl.sw.compiler.tmu.passes.vectorize import vectorize

LEVELS = range(5)
"""Levels of optimisation, as Ember's table II has them; 4 is what goes beyond."""

SCF_PASSES = ("select", "hoist")
"""Passes whose result is SCF; it is DLC of the last pass, and SLC of all others."""

_HALVES_FROM = 4
"""The level from which ``vectorize`` has sums of halves side by side."""


@dataclass(frozen=True)
class ModuleOptions:
    """What the passes are told.

    zeros
        arrays that are 0 before the run.
    level
        of ``LEVELS``.
    reassociate
        whether lanes may have sums of their own.
    left_out
        names of passes that do not run, whatever the level.
    """

    config: TmuConfig
    zeros: Collection[str]
    level: int
    reassociate: bool = True
    left_out: Collection[str] = ()


@dataclass(frozen=True)
class PipelinePass:
    """A pass from module to module: what it is called, what it does, in a line, and its function.

    level
        the first of ``LEVELS`` that has it; those above the first level are optional.
    """

    name: str
    does: str
    run: Callable[[ModuleOp, ModuleOptions], ModuleOp]
    level: int = 0

    def told(self, options: ModuleOptions) -> ModulePass:
        """Its function, which knows the options."""
        return lambda module: self.run(module, options)


def pipeline(
    config: TmuConfig,
    zeros: Collection[str],
    opt: int,
    reassociate: bool = True,
    left_out: Collection[str] = (),
) -> dict[str, ModulePass]:
    """Passes of level ``opt`` by name, in order; arguments are ``ModuleOptions``."""
    options = ModuleOptions(config, zeros, opt, reassociate, left_out)
    return {each.name: each.told(options) for each in _chosen(options)}


def _chosen(options: ModuleOptions) -> list[PipelinePass]:
    return [
        each
        for each in PIPELINE
        if options.level >= each.level and each.name not in options.left_out
    ]


def _fits_after(name: str, options: ModuleOptions) -> Callable[[ModuleOp], bool]:
    """Whether the configuration has room for what the passes behind ``name`` make."""
    chosen = _chosen(options)
    behind = [each.name for each in chosen].index(name) + 1

    def has_room(module: ModuleOp) -> bool:
        for later in chosen[behind:-1]:
            module = later.run(module, options)
        return fits(module, options.config)

    return has_room


def _vectorize(module: ModuleOp, options: ModuleOptions) -> ModuleOp:
    lanes, streams = options.config.lanes, options.config.streams
    vectors = vectorize(module, lanes, options.reassociate)
    vectors = halve_sums(vectors, streams) if options.level >= _HALVES_FROM else vectors
    return vectorize_loops(vectors, lanes)


def _keep_rows(module: ModuleOp, options: ModuleOptions) -> ModuleOp:
    return keep_rows(module, options.config.lanes, _fits_after("keep_rows", options))


def _repeat_fibers(module: ModuleOp, options: ModuleOptions) -> ModuleOp:
    return repeat_fibers(module, options.config, _fits_after("repeat_fibers", options))


PIPELINE: tuple[PipelinePass, ...] = (
    PipelinePass(
        "select",
        "one store of what a condition chooses",
        lambda module, options: select_stores(module),
    ),
    PipelinePass(
        "hoist",
        "out of loops what all of their iterations do alike",
        lambda module, options: hoist(module),
    ),
    PipelinePass(
        "decouple",
        "SLC: loops over streams, and callbacks",
        lambda module, options: decouple(module),
    ),
    PipelinePass(
        "vectorize",
        "SLCV: the innermost loop in steps of a vector (level 1), in halves (level 4)",
        _vectorize,
        level=1,
    ),
    PipelinePass(
        "first_iterations",
        "which iteration is the first is a variable (level 4)",
        lambda module, options: first_iterations(module),
        level=4,
    ),
    PipelinePass(
        "store_streams",
        "stores past the execute unit (level 4)",
        lambda module, options: store_streams(module, options.config),
        level=4,
    ),
    PipelinePass(
        "bufferize",
        "the innermost loop's vectors without tokens in between (level 2)",
        lambda module, options: bufferize(module),
        level=2,
    ),
    PipelinePass(
        "align_queues",
        "no words between vectors (level 3)",
        lambda module, options: align_queues(module, options.config.lanes),
        level=3,
    ),
    PipelinePass(
        "keep_sums",
        "sums in registers (level 4)",
        lambda module, options: keep_sums(module, options.zeros),
        level=4,
    ),
    PipelinePass(
        "fetch_rows",
        "rows of results that come soon are fetched (level 4)",
        lambda module, options: fetch_rows(module),
        level=4,
    ),
    PipelinePass(
        "forward_stores",
        "what was just stored is not loaded (level 4)",
        lambda module, options: forward_stores(module),
        level=4,
    ),
    PipelinePass(
        "keep_rows",
        "a row that all iterations read in registers (level 4)",
        _keep_rows,
        level=4,
    ),
    PipelinePass(
        "partial_sums",
        "sums side by side (level 4)",
        lambda module, options: partial_sums(module),
        level=4,
    ),
    PipelinePass(
        "repeat_fibers",
        "what is read twice is queued twice (level 4)",
        _repeat_fibers,
        level=4,
    ),
    PipelinePass(
        "prefetch_rows",
        "the next iteration's row is fetched (level 4)",
        lambda module, options: prefetch_rows(module),
        level=4,
    ),
    PipelinePass(
        "count_iterations",
        "no tokens where all bounds are constants (level 4)",
        lambda module, options: count_iterations(module),
        level=4,
    ),
    PipelinePass(
        "stream_places",
        "places of results in the access unit (level 4)",
        lambda module, options: stream_places(module, options.config),
        level=4,
    ),
    PipelinePass(
        "delay_stores",
        "stores in the next token's case (level 4)",
        lambda module, options: delay_stores(module),
        level=4,
    ),
    PipelinePass(
        "split_masks",
        "a way of its own for masks of a union (level 4)",
        lambda module, options: split_masks(module),
        level=4,
    ),
    PipelinePass(
        "store_lanes",
        "what is stored late in a vector's lane (level 4)",
        lambda module, options: store_lanes(module, options.config.lanes),
        level=4,
    ),
    PipelinePass(
        "lower",
        "DLC: layers and events of the access unit, cases of the execute unit",
        lambda module, options: lower_access(module, options.config),
    ),
)
"""All passes of decoupled programs in order."""

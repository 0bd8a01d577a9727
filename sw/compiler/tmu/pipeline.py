"""The passes between SCF and DLC in order, each from module to module."""

from __future__ import annotations

from collections.abc import Callable, Collection

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


def pipeline(
    config: TmuConfig, zeros: Collection[str], opt: int, reassociate: bool = True
) -> dict[str, ModulePass]:
    """Passes of level ``opt`` by name, in order. ``zeros``: arrays that are 0 before the run;
    ``reassociate``: whether lanes may have sums of their own."""

    def fits_after(name: str) -> Callable[[ModuleOp], bool]:
        """Whether the configuration has room for what the passes behind ``name`` make."""

        def has_room(module: ModuleOp) -> bool:
            names = list(chosen)
            for later in names[names.index(name) + 1 : -1]:
                module = chosen[later](module)
            return fits(module, config)

        return has_room

    def vectors(module: ModuleOp) -> ModuleOp:
        made = vectorize(module, config.lanes, reassociate)
        made = halve_sums(made, config.streams) if opt >= _HALVES_FROM else made
        return vectorize_loops(made, config.lanes)

    passes: dict[str, tuple[int, ModulePass]] = {
        "select": (0, select_stores),
        "hoist": (0, hoist),
        "decouple": (0, decouple),
        "vectorize": (1, vectors),
        "first_iterations": (4, first_iterations),
        "store_streams": (4, lambda module: store_streams(module, config)),
        "bufferize": (2, bufferize),
        "align_queues": (3, lambda module: align_queues(module, config.lanes)),
        "keep_sums": (4, lambda module: keep_sums(module, zeros)),
        "fetch_rows": (4, fetch_rows),
        "forward_stores": (4, forward_stores),
        "keep_rows": (
            4,
            lambda module: keep_rows(module, config.lanes, fits_after("keep_rows")),
        ),
        "partial_sums": (4, partial_sums),
        "repeat_fibers": (
            4,
            lambda module: repeat_fibers(module, config, fits_after("repeat_fibers")),
        ),
        "prefetch_rows": (4, prefetch_rows),
        "count_iterations": (4, count_iterations),
        "stream_places": (4, lambda module: stream_places(module, config)),
        "delay_stores": (4, delay_stores),
        "split_masks": (4, split_masks),
        "store_lanes": (4, lambda module: store_lanes(module, config.lanes)),
        "lower": (0, lambda module: lower_access(module, config)),
    }
    chosen = {name: run for name, (level, run) in passes.items() if opt >= level}
    return chosen

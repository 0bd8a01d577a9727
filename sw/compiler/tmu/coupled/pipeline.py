"""The passes of coupled programs in order, each from module to module."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from xdsl.dialects.builtin import ModuleOp

from hw.tmu.config import TmuConfig
from sw.compiler.tmu.coupled.jam import jam
from sw.compiler.tmu.coupled.keep_results import keep_results
from sw.compiler.tmu.coupled.linearize import linearize
from sw.compiler.tmu.coupled.peel import peel
from sw.compiler.tmu.coupled.prefetch import join_prefetches, prefetch
from sw.compiler.tmu.coupled.simplify import simplify
from sw.compiler.tmu.coupled.unroll import unroll_counted, unroll_open
from sw.compiler.tmu.coupled.vectorize import vectorize_loops
from sw.compiler.tmu.hoist import hoist
from sw.compiler.tmu.pipeline import ModulePass
from sw.compiler.tmu.variables import to_variables

MOST_ITERATIONS = 8
"""Of a loop whose bounds are not constants that become one."""

BUDGET = 8
"""The share of the program's memory that a loop is unrolled to."""


def coupled_pipeline(
    config: TmuConfig, zeros: Collection[str], room: Mapping[str, int]
) -> dict[str, ModulePass]:
    """Passes by name. ``zeros``: arrays that are 0 before the run. ``room``: words of memory behind the end of each array."""
    budget = config.program_words // BUDGET

    def lower(module: ModuleOp) -> ModuleOp:
        module = unroll_open(prefetch(module, config, room), budget, MOST_ITERATIONS)
        return join_prefetches(simplify(linearize(module)))

    return {
        "hoist": hoist,
        "vectorize": lambda module: jam(vectorize_loops(peel(to_variables(module)), config.lanes)),
        "keep_sums": lambda module: keep_results(unroll_counted(module, budget), zeros),
        "lower": lower,
    }

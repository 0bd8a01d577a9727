"""The passes of coupled programs in order, each from module to module."""

from __future__ import annotations

from collections.abc import Collection

from sw.compiler.tmu.coupled.linearize import linearize
from sw.compiler.tmu.coupled.keep_results import keep_results
from sw.compiler.tmu.coupled.unroll import unroll_counted, unroll_open
from sw.compiler.tmu.coupled.vectorize import vectorize_loops
from sw.compiler.tmu.coupled.simplify import simplify
from sw.compiler.tmu.hoist import hoist
from sw.compiler.tmu.pipeline import ModulePass
from sw.compiler.tmu.variables import to_variables

from hw.tmu.config import TmuConfig

MOST_ITERATIONS = 4

def coupled_pipeline(config: TmuConfig, zeros: Collection[str]) -> dict[str, ModulePass]:
    """Passes by name. ``zeros``: arrays that are 0 before the run."""
    budget = config.program_words // 8
    return {
        "hoist": hoist,
        "vectorize": lambda module: vectorize_loops(to_variables(module), config.lanes),
        "keep_sums": lambda module: keep_results(unroll_counted(module, budget)),
        "lower": lambda module: simplify(linearize(unroll_open(module, budget, MOST_ITERATIONS))),
    }

"""The passes of coupled programs in order, each from module to module."""

from __future__ import annotations

from collections.abc import Collection

from sw.compiler.tmu.coupled.linearize import linearize
from sw.compiler.tmu.coupled.simplify import simplify
from sw.compiler.tmu.hoist import hoist
from sw.compiler.tmu.pipeline import ModulePass
from sw.compiler.tmu.variables import to_variables

from hw.tmu.config import TmuConfig


def coupled_pipeline(config: TmuConfig, zeros: Collection[str]) -> dict[str, ModulePass]:
    """Passes by name. ``zeros``: arrays that are 0 before the run."""
    return {
        "hoist": hoist,
        "keep_locals": to_variables,
        "linearize": lambda module: simplify(linearize(module)),
    }

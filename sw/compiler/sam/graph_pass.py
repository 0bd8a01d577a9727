"""What the passes of the SAM compiler have in common: a graph, and what they are told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.passes import Pass
from gnarl.sw.compiler.sam.dumps import graph_texts
from gnarl.sw.workloads.tensor.expression import Statement


@dataclass(frozen=True)
class SamState:
    """A graph, and the words that configure a fabric for it; both are empty at first."""

    graph: Graph = Graph((), ())
    words: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))


@dataclass(frozen=True)
class SamOptions:
    """What the passes are told.

    statement
        what the graph computes.
    skip
        whether lookups may leave out what intersections do not need.
    has_graph
        whether the workload has its graph already.
    config
        of the hardware, where it is known.
    """

    statement: Statement
    skip: bool = True
    has_graph: bool = False
    config: SamConfig = SamConfig()


SamPass = Pass[SamState, SamOptions]


def state_texts(state: SamState, options: SamOptions) -> dict[str, str]:
    """The dump of the state's graph."""
    return graph_texts(state.graph)


def is_compiled(state: SamState, options: SamOptions) -> bool:
    """Whether the graph is ours."""
    return not options.has_graph


def graph_pass(
    name: str,
    does: str,
    run: Callable[[Graph, SamOptions], Graph],
    *,
    is_needed: Callable[[SamState, SamOptions], bool] = is_compiled,
    optional: bool = False,
) -> SamPass:
    """A pass from graph to graph, by default of all graphs that are compiled."""
    return Pass(
        name,
        does,
        state_texts,
        run=lambda state, options: replace(state, graph=run(state.graph, options)),
        is_needed=is_needed,
        optional=optional,
    )

"""What the passes of the SAM compiler have in common: graphs, and what they are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.passes import Pass
from gnarl.sw.compiler.sam.dumps import graph_texts
from gnarl.sw.compiler.sam.fuse.regions import Fusion, LoweredRegion
from gnarl.sw.compiler.sam.plan import Plan
from gnarl.sw.workloads.tensor.expression import Statement


@dataclass(frozen=True)
class SamLaunch:
    """What becomes a launch: its graph, the region that the graph was lowered from, if it was, and
    the words that configure a fabric for it, empty at first."""

    name: str
    graph: Graph
    region: LoweredRegion | None = None
    words: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))


@dataclass(frozen=True)
class SamState:
    """Launches in their order, none at first."""

    launches: tuple[SamLaunch, ...] = ()

    @property
    def graph(self) -> Graph:
        """The first launch's."""
        return self.launches[0].graph if self.launches else Graph((), ())


@dataclass(frozen=True)
class SamOptions:
    """What the passes are told.

    statement
        what the graph computes; ``None``: what the regions of ``fusion`` do.
    fusion
        the program and the schedule of its regions, where there is no statement.
    shapes
        of all tensors of that program, by name.
    skip
        whether lookups may leave out what intersections do not need.
    given
        the graph that the workload has already, and what it computes.
    config
        of the hardware, where it is known.
    """

    statement: Statement | None = None
    fusion: Fusion | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    skip: bool = True
    given: Plan | None = None
    config: SamConfig = SamConfig()


SamPass = Pass[SamState, SamOptions]


def state_texts(state: SamState, options: SamOptions) -> dict[str, str]:
    """The dump of the state's graphs."""
    return launch_texts(state, lambda launch: graph_texts(launch.graph))


def launch_texts(
    state: SamState, texts_of: Callable[[SamLaunch], Mapping[str, str]]
) -> dict[str, str]:
    """Texts of launches by file ending; of several, each with its launch's name."""
    return {
        f"{launch.name}.{ending}" if len(state.launches) > 1 else ending: text
        for launch in state.launches
        for ending, text in texts_of(launch).items()
    }


def is_compiled(state: SamState, options: SamOptions) -> bool:
    """Whether the graphs are ours."""
    return options.given is None


def graph_pass(
    name: str,
    does: str,
    run: Callable[[Graph, SamOptions], Graph],
    *,
    texts: Callable[[SamState, SamOptions], Mapping[str, str]] = state_texts,
    is_needed: Callable[[SamState, SamOptions], bool] = is_compiled,
    optional: bool = False,
) -> SamPass:
    """A pass from graph to graph, by default of all graphs that are compiled."""
    return Pass(
        name,
        does,
        texts,
        run=lambda state, options: replace(
            state,
            launches=tuple(
                replace(launch, graph=run(launch.graph, options)) for launch in state.launches
            ),
        ),
        is_needed=is_needed,
        optional=optional,
    )

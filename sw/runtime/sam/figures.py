"""Counts where a run's cycles go, and its graph as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Block
from gnarl.hw.sam.memory_map import stall_counters, token_counters, units_of
from gnarl.hw.sam.token import PAYLOAD_BITS, Kind
from gnarl.hw.sam.unit import Unit
from gnarl.sw.compiler.sam.dot_write import write_dot
from gnarl.sw.compiler.sam.sections import graph_of, statement_of
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.machine.machine import LaunchRun
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.report import Chart, Figures
from gnarl.sw.runtime.report.timeline import Activity
from gnarl.sw.runtime.sam.image import Operands

_SUMMING = ("reduce", "spaccumulator")
_COMPUTING = ("alu", "function", *_SUMMING)
_SHOWN = 8


def activity(run: LaunchRun[HostJob[Operands]]) -> Activity:
    """What each cycle of a run would be spent on if no queue were ever full.

    ALUs are busy in the cycle in which they give a value, or take one in to add it to others.
    """
    _, model = run.job.operands.model
    busy = np.zeros(model.cycles, np.int64)
    for times in _computed(run):
        np.add.at(busy, times[times < model.cycles], 1)
    moves = np.zeros(model.cycles, bool)
    for times in model.times.values():
        moves[times[times < model.cycles]] = True
    computes = busy > 0
    kinds = {"compute": computes, "coordinates only": moves & ~computes}
    note = "timing of the model, not of the RTL: no back pressure, no skipping, no arbiters"
    return Activity("ALUs", _alus(run.launch), busy, kinds, note)


def longest_stream(launch: Launch, counters: Mapping[str, int]) -> int:
    """Tokens of the longest stream: a bound of the cycles, as each carries one a cycle."""
    return max(counters[name] for name in token_counters(_units(launch)))


def figures(program: Program, result: Result[HostJob[Operands]]) -> Figures:
    """Figures of where a run's cycles go.

    Operations are values that ALUs and functions give, and that reductions and accumulators take
    in. The tokens of the longest stream bound the cycles.
    """
    (run,) = result.launches
    units, counters = _units(run.launch), run.finished.counters
    bound = longest_stream(run.launch, counters)
    cycles = run.finished.cycles or 0
    charts = [
        Chart(
            f"Tokens of streams, % of cycles: {cycles / max(1, bound):.2f} times the longest",
            _largest(counters, token_counters(units)),
            cycles,
        ),
        Chart("Cycles in which blocks stalled", _largest(counters, stall_counters(units)), cycles),
    ]
    operations = sum(map(len, _computed(run)))
    statistics = {**program.statistics, "longest_stream": bound}
    return Figures(operations, "ALUs", _alus(run.launch), statistics, charts)


def dot(program: Program) -> str:
    """The graph in the DOT dialect of the SAM tools."""
    sections = program.launches[0].sections
    return write_dot(graph_of(sections), statement_of(sections))


def _alus(launch: Launch) -> int:
    return max(1, len(_computing(launch)))


def _computing(launch: Launch) -> list[Block]:
    return [block for block in graph_of(launch.sections).blocks if block.type in _COMPUTING]


def _computed(run: LaunchRun[HostJob[Operands]]) -> Iterator[np.ndarray]:
    """The cycles in which each computing block computes."""
    graph, model = run.job.operands.model
    for block in _computing(run.launch):
        stream = block.name, "out_val"
        if block.type in _SUMMING:
            edge = graph.drivers[block.name, "val"]
            stream = edge.source, edge.output
        kinds = model.streams[stream] >> PAYLOAD_BITS
        yield model.times[stream][(kinds == Kind.DATA) | (kinds == Kind.EMPTY)]


def _units(launch: Launch) -> tuple[Unit, ...]:
    return units_of(SamConfig.from_dict(launch.config))


def _largest(counters: Mapping[str, int], labels: Mapping[str, str]) -> list[tuple[str, int]]:
    found = [(label, counters[name]) for name, label in labels.items() if counters[name]]
    return sorted(found, key=lambda bar: -bar[1])[:_SHOWN]

"""Counts where a run's cycles go, and its graph as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.block_types import VAL
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Block
from gnarl.hw.sam.memory_map import stall_counters, token_counters, units_of
from gnarl.hw.sam.token import PAYLOAD_BITS, Kind
from gnarl.hw.sam.unit import Unit
from gnarl.sw.compiler.sam.dot_write import write_dot
from gnarl.sw.compiler.sam.sections import graph_of, kernel_of
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.rows import Samples
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.machine.machine import LaunchRun
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.report import Chart, Figures
from gnarl.sw.runtime.report.timeline import Activity
from gnarl.sw.runtime.sam.image import Operands

_SUMMING = ("reduce", "spaccumulator")
_COMPUTING = ("alu", "function", *_SUMMING)
_SHOWN = 8

_TOKENS = "tokens: values", "tokens: coordinates, references"


def drawn_counters(launch: Launch) -> list[str]:
    """Counters that a picture needs in the course of a run: tokens of the graph's streams."""
    return [_counter(stream) for stream in graph_of(launch.sections).readers]


def activity(run: LaunchRun[HostJob[Operands]]) -> Activity:
    """What the cycles of a run were spent on, by counters that were read in its course; without
    them what each would be spent on if no queue were ever full.

    ALUs are busy in the cycle in which they give a value, or take one in to add it to others.
    """
    samples = run.finished.samples
    if samples is not None and _has_streams_of_model(run):
        return _sampled_activity(run, samples)
    _, model = run.job.operands.model
    busy = np.zeros(model.cycles, np.int64)
    for stream in _computing_streams(run):
        times = model.times[stream][_is_value(model.streams[stream])]
        np.add.at(busy, times[times < model.cycles], 1)
    moves = np.zeros(model.cycles, bool)
    for times in model.times.values():
        moves[times[times < model.cycles]] = True
    computes = busy > 0
    kinds = {"compute": computes, "coordinates only": moves & ~computes}
    note = "timing of the model, not of the RTL: no back pressure, no skipping, no arbiters"
    return Activity("ALUs", _alus(run.launch), busy, kinds, note)


def _sampled_activity(run: LaunchRun[HostJob[Operands]], samples: Samples) -> Activity:
    """Counters say when tokens moved; the model, which of a stream's tokens are values."""
    edges, (graph, model) = samples.edges(), run.job.operands.model
    busy = np.zeros(len(edges) - 1)
    for stream in _computing_streams(run):
        values = np.concatenate([[0], np.cumsum(_is_value(model.streams[stream]))])
        times, moved = samples.counts[_counter(stream)]
        busy += np.diff(np.interp(edges, times, values[moved])) / np.diff(edges)
    kinds = {name: np.zeros(len(busy)) for name in _TOKENS}
    for stream in graph.readers:
        kind = _TOKENS[graph.kind_of_stream(*stream) != VAL]
        kinds[kind] += samples.rates(_counter(stream), edges) / len(graph.readers)
    whole = f"{len(graph.readers)} streams"
    return Activity("ALUs", _alus(run.launch), busy, kinds, edges=edges, whole=whole)


def _has_streams_of_model(run: LaunchRun[HostJob[Operands]]) -> bool:
    """Whether streams into and out of ALUs have as many tokens as the model's."""
    counters, (_, model) = run.finished.counters, run.job.operands.model
    return all(
        counters.get(_counter(stream)) == len(model.streams[stream])
        for stream in _computing_streams(run)
    )


def _counter(stream: tuple[str, str]) -> str:
    """The counter of a stream's tokens."""
    block, output = stream
    return f"tokens_{block}_{output}"


def longest_stream(launch: Launch, counters: Mapping[str, int]) -> int:
    """Tokens of the longest stream: a bound of the cycles, as each carries one a cycle."""
    return max(counters[name] for name in token_counters(_units(launch)))


def figures(program: Program, result: Result[HostJob[Operands]]) -> Figures:
    """Figures of where a run's cycles go.

    Operations are values that ALUs and functions give, and that reductions and accumulators take
    in. The tokens of a launch's longest stream bound its cycles.
    """
    bounds = [longest_stream(run.launch, run.finished.counters) for run in result.launches]
    statistics = {**program.statistics, "longest_stream": sum(bounds)}
    charts = list(_charts(result.launches[0])) if len(bounds) == 1 else []
    operations = sum(map(_operations, result.launches))
    capacity = max(_alus(run.launch) for run in result.launches)
    return Figures(operations, "ALUs", capacity, statistics, charts)


def _operations(run: LaunchRun[HostJob[Operands]]) -> int:
    _, model = run.job.operands.model
    return sum(
        int(np.count_nonzero(_is_value(model.streams[stream])))
        for stream in _computing_streams(run)
    )


def _charts(run: LaunchRun[HostJob[Operands]]) -> Iterator[Chart]:
    units, counters = _units(run.launch), run.finished.counters
    cycles = run.finished.cycles or 0
    times = cycles / max(1, longest_stream(run.launch, counters))
    yield Chart(
        f"Tokens of streams, % of cycles: {times:.2f} times the longest",
        _largest(counters, token_counters(units)),
        cycles,
    )
    yield Chart("Cycles in which blocks stalled", _largest(counters, stall_counters(units)), cycles)


def dot(program: Program) -> str:
    """The graph in the DOT dialect of the SAM tools. Raises ``WorkloadError`` for several."""
    if len(program.launches) > 1:
        raise WorkloadError(
            f"{program.workload}: has {len(program.launches)} graphs: --dump FOLDER writes each, "
            "--dot only one"
        )
    sections = program.launches[0].sections
    return write_dot(graph_of(sections), kernel_of(sections))


def _alus(launch: Launch) -> int:
    return max(1, len(_computing(launch)))


def _computing(launch: Launch) -> list[Block]:
    return [block for block in graph_of(launch.sections).blocks if block.type in _COMPUTING]


def _computing_streams(run: LaunchRun[HostJob[Operands]]) -> Iterator[tuple[str, str]]:
    """For each computing block the stream, by its block and output, of which a value is an
    operation."""
    graph, _ = run.job.operands.model
    for block in _computing(run.launch):
        if block.type in _SUMMING:
            edge = graph.drivers[block.name, "val"]
            yield edge.source, edge.output
        else:
            yield block.name, "out_val"


def _is_value(tokens: np.ndarray) -> np.ndarray:
    kinds = tokens >> PAYLOAD_BITS
    return (kinds == Kind.DATA) | (kinds == Kind.EMPTY)


def _units(launch: Launch) -> tuple[Unit, ...]:
    return units_of(SamConfig.from_dict(launch.config))


def _largest(counters: Mapping[str, int], labels: Mapping[str, str]) -> list[tuple[str, int]]:
    found = [(label, counters[name]) for name, label in labels.items() if counters[name]]
    return sorted(found, key=lambda bar: -bar[1])[:_SHOWN]

"""Counts where a run's cycles go, and its graph as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.lib.machine.memory_map import NO_LIMIT
from gnarl.hw.sam.block_types import VAL
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.memory_map import stall_counters, token_counters, units_of
from gnarl.hw.sam.unit import OPERATIONS, Unit
from gnarl.sw.compiler.sam.dot_write import plan_dot
from gnarl.sw.compiler.sam.sections import graph_of, kernel_of, plan_of
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.machine.machine import LaunchRun
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.report import Chart, Figures, LaunchFigure, intensity
from gnarl.sw.runtime.report.timeline import Activity
from gnarl.sw.runtime.sam.image import Operands, is_model
from gnarl.sw.runtime.sam.lane_loads import RunLanes, run_lanes
from gnarl.sw.runtime.sam.traffic import (
    Traffic,
    stored_bytes,
    tensor_bytes,
    tensor_line_bytes,
    traffic,
)

_SHOWN = 6

_SAMPLES = 2000
"""At most as many of a simulation: more than a picture shows."""

_TOKENS = "tokens: values", "tokens: coordinates, references"


def drawn_counters(launch: Launch) -> list[str]:
    """Counters that a picture needs in the course of a run: tokens of the graph's streams, and
    operations; none of a machine without counters."""
    if not SamConfig.from_dict(launch.config).counters:
        return []
    return [*map(_counter, graph_of(launch.sections).readers), *_operation_words(launch)]


def activity(run: LaunchRun[HostJob[Operands]]) -> Activity:
    """What the cycles of a run were spent on, by counters that were read in its course; without
    them by those of a simulation.

    ALUs are busy in the cycle in which they give a value, or take one in to add it to others.
    """
    samples, note = run.finished.samples, ""
    if samples is None:
        samples = run.job.operands.simulated(NO_LIMIT, _SAMPLES).samples
        assert samples is not None
        note = "simulated cycle by cycle, not on the RTL"
    edges, graph = samples.edges(), graph_of(run.launch.sections)
    busy = sum(
        (
            words * samples.rates(name, edges)
            for name, words in _operation_words(run.launch).items()
        ),
        start=np.zeros(len(edges) - 1),
    )
    kinds = {name: np.zeros(len(busy)) for name in _TOKENS}
    for stream in graph.readers:
        kind = _TOKENS[graph.kind_of_stream(*stream) != VAL]
        kinds[kind] += samples.rates(_counter(stream), edges) / len(graph.readers)
    whole = f"{len(graph.readers)} streams"
    return Activity("ALUs", _alus(run.launch), busy, kinds, note, edges=edges, whole=whole)


def _counter(stream: tuple[str, str]) -> str:
    """The counter of a stream's tokens."""
    block, output = stream
    return f"tokens_{block}_{output}"


def longest_stream(launch: Launch, counters: Mapping[str, int]) -> int:
    """Tokens of the longest stream: a bound of the cycles, as each carries one a cycle."""
    return max(counters[name] for name in token_counters(_units(launch)))


def figures(program: Program, result: Result[HostJob[Operands]]) -> Figures:
    """Figures of where a run's cycles go.

    Operations are words of values that ALUs and functions give, and that reductions, folds and
    accumulators take in; bytes are those of ``Traffic``, and ``made_bytes`` those of tensors that
    the host made between launches, as they are stored; ``lane_imbalance`` of a launch is that of
    ``LaneLoads``, of its worst loop. The tokens of a launch's longest stream bound its cycles, and
    so do the requests of its memories. Machines without counters leave all of that open.
    """
    runs = result.launches
    if not all(SamConfig.from_dict(run.launch.config).counters for run in runs):
        return _uncounted(program, runs)
    moved = {run.launch.name: _traffic(run) for run in runs}
    lanes = {
        run.launch.name: run_lanes(graph_of(run.launch.sections), run.finished.counters)
        for run in runs
    }
    statistics = {
        **program.statistics,
        "longest_stream": sum(longest_stream(run.launch, run.finished.counters) for run in runs),
        "memory_cycles": sum(each.cycles for each in moved.values()),
    }
    of_lines = [each.line_bytes for each in moved.values() if each.line_bytes is not None]
    if of_lines:
        statistics["line_bytes"] = sum(of_lines)
    made = _made_bytes(program, runs)
    if made:
        statistics["made_bytes"] = sum(made.values())
    return Figures(
        sum(_operations(run) for run in runs),
        "ALUs",
        max(_alus(run.launch) for run in runs),
        statistics,
        [*(_charts(runs[0]) if len(runs) == 1 else ()), _tensor_chart(runs)],
        bytes=sum(each.bytes for each in moved.values()),
        remarks=[
            *_remarks(program),
            *_lane_remarks(lanes),
            *_padding_remarks(runs),
            *_made_remark(made),
            *_line_remark(sum(each.bytes for each in moved.values()), of_lines),
        ],
        launches={
            run.launch.name: _launch_figures(run, moved[run.launch.name], lanes[run.launch.name])
            for run in runs
        },
    )


def _uncounted(program: Program, runs: Sequence[LaunchRun[HostJob[Operands]]]) -> Figures:
    """What is known where machines count nothing but what they write."""
    made = _made_bytes(program, runs)
    return Figures(
        None,
        "ALUs",
        max(_alus(run.launch) for run in runs),
        {**program.statistics, **({"made_bytes": sum(made.values())} if made else {})},
        remarks=[
            *_remarks(program),
            *_padding_remarks(runs),
            *_made_remark(made),
            "counters = false: operations, tokens, stalls, and what memories moved are not counted",
        ],
    )


def _remarks(program: Program) -> Iterator[str]:
    for launch in program.launches:
        for remark in plan_of(launch.sections).remarks:
            yield f"{launch.name}: {remark}"


def _lane_remarks(lanes: Mapping[str, RunLanes | None]) -> Iterator[str]:
    for launch, each in lanes.items():
        for remark in each.remarks() if each else ():
            yield f"{launch}: {remark}"


def _padding_remarks(runs: Sequence[LaunchRun[HostJob[Operands]]]) -> Iterator[str]:
    """A line for each index of a launch whose last block is not full."""
    for run in runs:
        operands = run.job.operands
        for index, words in operands.blocks.items():
            size = operands.sizes[index]
            if size % words:
                count = operands.loop_size(index)
                yield (
                    f"{run.launch.name}: blocks along {index}: {size:,} coordinates are {count:,} "
                    f"blocks of {words}, the last padded with {count * words - size} zeros"
                )


def _made_bytes(program: Program, runs: Sequence[LaunchRun[HostJob[Operands]]]) -> dict[str, int]:
    """Bytes of the tensors that the host made for launches, by name; see ``stored_bytes``."""
    made = {step.output.name for step in program.steps}
    found: dict[str, int] = {}
    for run in runs:
        given = run.job.operands
        for name in given.tensors:
            if name in made and name not in found:
                found[name] = stored_bytes(given.config, given.stored(name))
    return found


def _made_remark(made: Mapping[str, int]) -> Iterator[str]:
    if made:
        total = sum(made.values())
        yield (
            f"host: makes {', '.join(made)} between launches, {total:,} bytes as stored, which are "
            "in no launch's"
        )


def _line_remark(bytes: int, of_lines: Sequence[int]) -> Iterator[str]:
    """What moved in lines, against the ``bytes`` of rows."""
    if of_lines:
        times = sum(of_lines) / max(1, bytes)
        yield f"memory: {sum(of_lines):,} bytes moved in lines, {times:.2f} times those of the rows"


def _traffic(run: LaunchRun[HostJob[Operands]]) -> Traffic:
    return traffic(SamConfig.from_dict(run.launch.config), run.finished.counters)


def operations(launch: Launch, counters: Mapping[str, int]) -> int:
    """Words that ALUs and functions gave, and that reductions, folds and accumulators took in."""
    return sum(words * counters[name] for name, words in _operation_words(launch).items())


def _tensor_bytes(run: LaunchRun[HostJob[Operands]]) -> dict[str, int]:
    config = SamConfig.from_dict(run.launch.config)
    return tensor_bytes(config, graph_of(run.launch.sections), run.finished.counters)


def _operations(run: LaunchRun[HostJob[Operands]]) -> int:
    return operations(run.launch, run.finished.counters)


def _launch_figures(
    run: LaunchRun[HostJob[Operands]], moved: Traffic, lanes: RunLanes | None
) -> dict[str, LaunchFigure]:
    counters, operations = run.finished.counters, _operations(run)
    streams = token_counters(_units(run.launch))
    longest = max(streams, key=counters.__getitem__)
    config = SamConfig.from_dict(run.launch.config)
    is_memory = moved.cycles > counters[longest]
    return {
        "ops": operations,
        "bytes": moved.bytes,
        "intensity": intensity(operations, moved.bytes),
        "tensor_bytes": _tensor_bytes(run),
        **_line_figures(run, moved),
        "longest_stream": counters[longest],
        **({} if config.memory == "local" else {"memory_cycles": moved.cycles}),
        **({"lane_imbalance": max(each.imbalance for each in lanes.loads)} if lanes else {}),
        "bounded_by": moved.bound if is_memory else streams[longest],
    }


def _line_figures(run: LaunchRun[HostJob[Operands]], moved: Traffic) -> dict[str, LaunchFigure]:
    """Bytes of the lines that moved, and of each tensor's; none without a memory of lines."""
    if moved.line_bytes is None:
        return {}
    config, graph = SamConfig.from_dict(run.launch.config), graph_of(run.launch.sections)
    of_tensors = tensor_line_bytes(config, graph, run.finished.counters)
    return {"line_bytes": moved.line_bytes, "tensor_line_bytes": of_tensors}


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
    config = SamConfig.from_dict(run.launch.config)
    if config.memory == "shared":
        moved = traffic(config, counters)
        times = cycles / max(1, moved.cycles)
        yield Chart(
            f"Requests of arrays, % of {config.memory_bandwidth} a cycle: {times:.2f} times what "
            "memory takes",
            _largest(moved.requests, {window: window for window in moved.requests}),
            cycles * config.memory_bandwidth,
        )
    if config.memory == "lines":
        moved = traffic(config, counters)
        whole = cycles * config.memory_channels // config.line_cycles
        times = cycles / max(1, moved.cycles)
        yield Chart(
            f"Lines of arrays, % of what {config.memory_channels} channels move: {times:.2f} times "
            "what memory takes",
            _largest(moved.lines, {window: window for window in moved.lines}),
            whole,
        )


def _tensor_chart(runs: Sequence[LaunchRun[HostJob[Operands]]]) -> Chart:
    found: dict[str, int] = {}
    for run in runs:
        for name, count in _tensor_bytes(run).items():
            found[name] = found.get(name, 0) + count
    whole = sum(found.values())
    return Chart(
        "Bytes of tensors, % of all", _largest(found, {name: name for name in found}), whole
    )


def dot(program: Program) -> str:
    """The graph in the DOT dialect of the SAM tools. Raises ``WorkloadError`` for several."""
    if len(program.launches) > 1:
        raise WorkloadError(
            f"{program.workload}: has {len(program.launches)} graphs: --dump FOLDER writes each, "
            "--dot only one"
        )
    (launch,) = program.launches
    plan, sizes = plan_of(launch.sections), dict(_sizes(launch))
    if is_model(program):
        longest = {index: min(size, plan.longest.get(index, size)) for index, size in sizes.items()}
        plan = plan.bounded(longest, SamConfig.from_dict(launch.config))
    return plan_dot(plan)


def _sizes(launch: Launch) -> Iterator[tuple[str, int]]:
    """Indices whose sizes are known."""
    shapes = {spec.name: spec.shape for spec in (*launch.inputs, *launch.outputs)}
    kernel = kernel_of(launch.sections)
    for access in (*kernel.operands, *kernel.results):
        for index, size in zip(access.indices, shapes[access.tensor], strict=True):
            if isinstance(size, int):
                yield index, size


def _alus(launch: Launch) -> int:
    """Operations that the graph may make in a cycle."""
    return max(1, sum(_operation_words(launch).values()))


def _operation_words(launch: Launch) -> dict[str, int]:
    """The counter of each block that computes, and the operations that each of its values is."""
    graph = graph_of(launch.sections)
    return {
        f"operations_{block.name}": graph.words_of(block.name)
        for block in graph.blocks
        if block.type in OPERATIONS
    }


def _units(launch: Launch) -> tuple[Unit, ...]:
    return units_of(SamConfig.from_dict(launch.config))


def _largest(counters: Mapping[str, int], labels: Mapping[str, str]) -> list[tuple[str, int]]:
    found = [(label, counters[name]) for name, label in labels.items() if counters[name]]
    return sorted(found, key=lambda bar: -bar[1])[:_SHOWN]

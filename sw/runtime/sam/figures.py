"""Where a run's cycles go, and its graph as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from hw.sam.config import SamConfig
from hw.sam.graph import Block
from hw.sam.memory_map import stall_counters, token_counters, units_of
from hw.sam.token import PAYLOAD_BITS, Kind
from hw.sam.unit import Unit
from sw.compiler.sam.dot_write import write_dot
from sw.compiler.sam.sections import graph_of, statement_of
from sw.program.program import Program
from sw.program.rows import Rows
from sw.runtime.report import Chart
from sw.runtime.result import Result
from sw.runtime.sam.image import Operands
from sw.runtime.timeline import Activity

_SUMMING = ("reduce", "spaccumulator")
_COMPUTING = ("alu", "function", *_SUMMING)
_SHOWN = 8


def cycle_limit(program: Program) -> int:
    """None that data do not decide: the machine itself stops a graph in which nothing moves."""
    return 1 << 48


def operations(program: Program, operands: Operands) -> int:
    """Values that ALUs and functions give, and that reductions and accumulators take in."""
    return sum(len(times) for times in _computed(program, operands))


def statistics(program: Program, result: Result) -> dict[str, int]:
    """The compiler's, and the tokens of the run's longest stream, which bound its cycles."""
    return {**program.statistics, "longest_stream": longest_stream(program, result.counters)}


def activity(program: Program, operands: Operands) -> Activity:
    """What each cycle of a run would be spent on if no queue were ever full.

    ALUs are busy in the cycle in which they give a value, or take one in to add it to others.
    """
    run = operands.model
    busy = np.zeros(run.cycles, np.int64)
    for times in _computed(program, operands):
        np.add.at(busy, times[times < run.cycles], 1)
    moves = np.zeros(run.cycles, bool)
    for times in run.times.values():
        moves[times[times < run.cycles]] = True
    computes = busy > 0
    kinds = {"compute": computes, "coordinates only": moves & ~computes}
    return Activity(*units(program), busy, kinds, "timing of the model, without back pressure")


def units(program: Program) -> tuple[str, int]:
    """What computes, in the plural, and how many there are."""
    return "ALUs", max(1, len(_computing(program)))


def longest_stream(program: Program, counters: Mapping[str, int]) -> int:
    """Tokens of the longest stream: a bound of the cycles, as each carries one a cycle."""
    return max(counters[name] for name in token_counters(_units(program)))


def charts(program: Program, result: Result) -> list[Chart]:
    """The figures of a run that its page shows."""
    bound = longest_stream(program, result.counters)
    factor = result.cycles / max(1, bound)
    return [
        Chart(
            f"Tokens of streams, % of cycles: {factor:.2f} times the longest",
            _largest(result.counters, token_counters(_units(program))),
            result.cycles,
        ),
        Chart(
            "Cycles in which blocks stalled",
            _largest(result.counters, stall_counters(_units(program))),
            result.cycles,
        ),
    ]


def listing(program: Program) -> Iterator[str]:
    """The graph's blocks with the streams that they read, a line each."""
    graph = graph_of(program.sections)
    for block in graph.blocks:
        inputs = [
            f"{port}={graph.drivers[block.name, port].source}."
            f"{graph.drivers[block.name, port].output}"
            for port in block.inputs
            if (block.name, port) in graph.drivers
        ]
        yield " ".join([f"{block.name}: {block.type}", *_shown(block), *inputs])


def dot(program: Program) -> str:
    """The graph in the DOT dialect of the SAM tools."""
    return write_dot(graph_of(program.sections), statement_of(program.sections))


def first_difference(
    program: Program, rtl: Mapping[str, Rows], model: Mapping[str, Rows]
) -> str | None:
    """The first word of a writer's array that differs; ``None`` if all are equal."""
    for window, rows in rtl.items():
        other = model[window]
        if len(rows.numbers) != len(other.numbers):
            return f"{window} has {len(rows.numbers)} rows, the model writes {len(other.numbers)}"
        for row, left, right in zip(
            rows.numbers.tolist(), rows.words.tolist(), other.words.tolist(), strict=True
        ):
            if left != right:
                return f"{window}[{row}] is {left[0]:#x}, the model writes {right[0]:#x}"
    return None


def _computing(program: Program) -> list[Block]:
    return [block for block in graph_of(program.sections).blocks if block.type in _COMPUTING]


def _computed(program: Program, operands: Operands) -> Iterator[np.ndarray]:
    """The cycles in which each computing block computes."""
    graph, run = graph_of(program.sections), operands.model
    for block in _computing(program):
        stream = block.name, "out_val"
        if block.type in _SUMMING:
            edge = graph.drivers[block.name, "val"]
            stream = edge.source, edge.output
        kinds = run.streams[stream] >> PAYLOAD_BITS
        yield run.times[stream][(kinds == Kind.DATA) | (kinds == Kind.EMPTY)]


def _units(program: Program) -> tuple[Unit, ...]:
    return units_of(SamConfig.from_dict(program.config))


def _largest(counters: Mapping[str, int], labels: Mapping[str, str]) -> list[tuple[str, int]]:
    found = [(label, counters[name]) for name, label in labels.items() if counters[name]]
    return sorted(found, key=lambda bar: -bar[1])[:_SHOWN]


def _shown(block: Block) -> list[str]:
    return [f"{name}={value}" for name, value in block.parameters.items() if value != ""]

"""Which lines of the source, and which arrays, a run's cycles go to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gnarl.hw.sram_compute.config import QUARTERS, SramConfig
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import disassemble
from gnarl.sw.compiler.sram_compute.meaning import Meaning
from gnarl.sw.compiler.sram_compute.sections import line_count
from gnarl.sw.program.program import Launch
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.machine.machine import LaunchRun
from gnarl.sw.runtime.report.source_lines import ArrayTraffic, SourceLine, SourceLines
from gnarl.sw.runtime.report.timeline import NOT_THE_MACHINES
from gnarl.sw.runtime.sram_compute.figures import CYCLES, FETCH, Tensors
from gnarl.sw.runtime.sram_compute.model.cycle_counts import cycles_by_kind
from gnarl.sw.runtime.sram_compute.model.system import Run, System

KEPT = "values kept in memory"
"""What is stored because rows do not suffice, and loaded again: of no array."""

CORE = "arrays of the core"
"""The core does not say which."""


def source_lines(run: LaunchRun[HostJob[Tensors]], meant: Meaning) -> SourceLines:
    """Runs the model again, which has the hardware's cycles, or a note says that it has not.

    ``run``: of the program as it was compiled. A cycle is the line's whose command takes it; what
    no command takes is that one's which is waited for.
    """
    config, launch = SramConfig.from_dict(run.launch.config), run.launch
    numbers, places = meant.places.numbers, meant.places.places
    arrays = [*_arrays_of(launch)]
    names = [*dict.fromkeys(each for each in arrays if each is not None)]
    numbers_of = {name: number for number, name in enumerate(names)}
    of_array = np.array([-1 if each is None else numbers_of[each] for each in arrays])
    done, lines, owners = _run(config, run.job)
    kinds = {
        label: np.bincount(numbers[owners[name]], minlength=len(places))
        for label, name in CYCLES.items()
    }
    fetching = np.bincount(owners[CYCLES[FETCH]], minlength=len(numbers))
    found = [
        SourceLine(
            str(place),
            {label: int(counts[number]) for label, counts in kinds.items()},
            _traffic(config, names, of_array, numbers == number, lines, fetching),
        )
        for number, place in enumerate(places)
    ]
    counted = run.finished.counters
    agrees = all(int(np.sum(kinds[label])) == counted[name] for label, name in CYCLES.items())
    return SourceLines(
        sorted(found, key=lambda each: -each.cycles), FETCH, "" if agrees else NOT_THE_MACHINES
    )


def _run(
    config: SramConfig, job: HostJob[Tensors]
) -> tuple[Run, np.ndarray, Mapping[str, np.ndarray]]:
    """The run that is over; int64 [commands], how many lines of memory each moved; and for the
    cycles of each counter, the command that each is of."""
    system = System(config)
    system.load(job.image)
    run = Run(system, int(job.image["program"].words[0, 0]), job.max_cycles)
    intervals = run.own_intervals()
    begins, lines, added = list[int](), [0], list[list[int]]()
    while not run.is_over:
        begins.append(run.cycle)
        run.step()
        lines.append(run.lines_moved)
        added.append([len(own) for _, own in intervals])
    ends = np.array(added)
    owners = {}
    waiting = np.searchsorted(begins, np.arange(run.cycles), "right") - 1
    for name, is_in in cycles_by_kind(run.cycles, run.kinds()).items():
        taking = np.full(run.cycles + 1, -1)
        for at, (counter, own) in enumerate(intervals):
            if counter == name:
                commands = np.searchsorted(ends[:, at], np.arange(len(own)), "right").tolist()
                for command, (first, last) in zip(commands, own, strict=True):
                    taking[first : last + 1] = command
        taking = taking[:-1]
        owners[name] = np.where(taking >= 0, taking, waiting)[is_in]
    return run, np.diff(lines), owners


def _traffic(
    config: SramConfig,
    names: Sequence[str],
    of_array: np.ndarray,
    is_own: np.ndarray,
    lines: np.ndarray,
    cycles: np.ndarray,
) -> dict[str, ArrayTraffic]:
    """What some commands move. ``of_array``: of each command, its place in ``names``, or -1."""
    found = {}
    for number, name in enumerate(names):
        chosen = is_own & (of_array == number)
        count = int(lines[chosen].sum())
        if count:
            requests = -(-count // config.memory_channels)
            least = -(-(requests - 1) * config.wide_line_quarters // QUARTERS)
            found[name] = ArrayTraffic(count, int(cycles[chosen].sum()), least)
    return found


def _arrays_of(launch: Launch) -> Iterator[str | None]:
    """For each command, the array whose lines it moves, or ``KEPT``, or ``CORE``; ``None`` for what
    moves none."""
    specs = (*launch.inputs, *launch.outputs)
    ranges = {
        spec.name: range(first, first + line_count(spec))
        for spec, first in zip(specs, launch.sections["lines"].tolist(), strict=True)
    }
    layouts: dict[int, str] = {}
    for _, each in disassemble(launch.sections["commands"]):
        fields: Mapping[str, Any] = each.fields
        if each.opcode == Opcode.LAYOUT:
            layouts[fields["layout"]] = _holding(ranges, fields["base"])
        if each.opcode in (Opcode.LOAD, Opcode.STORE):
            yield layouts[fields["layout"]]
        elif each.opcode == Opcode.COPY:
            yield _holding(ranges, fields["line"])
        else:
            yield CORE if each.opcode == Opcode.CORE else None


def _holding(ranges: Mapping[str, range], line: int) -> str:
    return next((name for name, lines in ranges.items() if line in lines), KEPT)

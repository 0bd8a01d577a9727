"""The report of a run: one JSON object for programs, a page for people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gnarl.sw.runtime.machine.machine import Finished
from gnarl.sw.runtime.report.output_summary import (
    OutputSummary,
    json_number,
    outputs_text,
    outputs_to_json,
)
from gnarl.sw.runtime.report.source_lines import SourceLines
from gnarl.sw.runtime.report.tally import Counted
from gnarl.sw.runtime.report.vanished import Vanished
from gnarl.sw.runtime.report.verify import Verification
from gnarl.sw.workloads.made_up import MadeUp, made_up_text

VERSION = 3
"""Version of the JSON object's fields; rises when one changes its meaning or goes."""

JSON_FIELDS = {
    "version": "of these fields; rises when one changes its meaning or goes",
    "config": "the configuration's name",
    "target": "its target",
    "workload": "the workload's name",
    "backend": "`rtl`, `model`, `cuda`, or `emulation` of a GPU on the CPU",
    "digest": "of the configuration with all fields: SHA-256, hexadecimal",
    "overrides": "object: fields changed by `--set`",
    "cycles": "from start to done, by the machine's own counter; null where it has none (cuda)",
    "ops": "two-operand operations that the program executes, equal ones merged; null where the "
    "machine has no counters of them (sam)",
    "ops_per_cycle": "`ops` over `cycles`; null without cycles",
    "bytes": "bytes of the words that the program's launches read and wrote in the machine's "
    "memories (sam); null for others",
    "intensity": "`ops` over `bytes`; null without bytes",
    "utilisation": "share of the units (PEs) that compute in the mean cycle, 0 to 1; or null",
    "matches": "whether every output is what it must be; the exit status says the same",
    "bit_exact": "whether every output has the golden model's bits",
    "difference": "the first wrong output, and where it comes from; null if there is none",
    "max_rel_error": "the largest relative error of an output against float64; or "
    '`"Infinity"`, where one of the two is not finite and the other is something else; or `"NaN"`, '
    "where all outputs are the same infinities, or NaN, in float64, too",
    "not_finite": "number of outputs that are infinite or NaN",
    "lost": "number of outputs that are 0, infinite or NaN where float64's value is not 0, not "
    "infinite, or not NaN",
    "vanished": "inputs that are not 0, but 0 in the machine's format; null if there are none, or "
    "an object: `count`, the `first` one's name and value, and the `format`",
    "made_up": "list: names of inputs whose values nobody gave, so that they are random; of sizes, "
    "which are 16 then (sram); and of results that a file's nest reads before it assigns to them, "
    "which begin as zeros",
    "compile_s": "seconds to compile; 0 if a program was given",
    "lower_s": "seconds in which the host made the commands for the sizes and scalars of the run "
    "(sram); 0 for other targets",
    "simulate_s": "seconds to load the memories, run, and read the results",
    "seconds": "object: seconds of every stage by its name, from the command's start of work: "
    "together those on the clock",
    "counters": "object: the target's counters, as the machine counted them",
    "statistics": "object: whole numbers about program and run, lower bounds among them",
    "places": "list: where parts of the workload ran, and why they did not run in memory (sram)",
    "lines": "with `--lines` (sram), else null: an object: `places`, a list of the stores in the "
    "source, those of the most cycles first, each with its `place`, its `cycles`, `kinds`, cycles "
    "by what they are spent on, and `arrays`, for each the `lines` of main memory that are moved, "
    "the `cycles` in which nothing else is done, and the `least` that memory takes; `limit`, "
    "what takes the most cycles, and where; `note`, whose cycles these are, if not the machine's",
    "remarks": "list: what fusion copied, computed more than once, or cut, and why, and what "
    "lanes, padded blocks, host and lines did (SAM); estimated cycles of each place that `auto` "
    "looked at, why others were none, and what rows and banks had no room for (sram)",
    "outputs": "object: outputs by name. Up to 100 named scalars have values; others have an "
    "object: `shape`, `type`, `entries` that are stored, and a few `values` by their places. What "
    'is not finite is a text: `"Infinity"`, `"-Infinity"`, `"NaN"`',
    "estimate": "what the cost model estimates for the kernel with the run's batch, which is "
    "not measured (cuda, but for sampled products); null for others, or an object: `us`, "
    "microseconds; `device`, the GPU that it is estimated for; and `features_us`, an object: "
    "microseconds that each feature adds, which with the longest block's make `us`",
    "launches": "object: `cycles` and `counters` of each launch, in order, by its name; and, where "
    "the target tells (sam), `ops`, `bytes`, `intensity`, the `tensor_bytes` of each tensor, an "
    "object, with a memory of lines the `line_bytes` of all lines that were moved and the "
    "`tensor_line_bytes` of each tensor's, the tokens of its `longest_stream`, with a memory that "
    "arrays share the `memory_cycles` that its requests take, as no run is shorter, with lanes "
    "`lane_imbalance`, the tokens of the fullest over the mean of the worst loop, and "
    "`bounded_by`: the stream's name, or `memory` where that "
    "takes longer",
}
"""What each field of the JSON object is."""

_BAR = 28
"""Characters of the longest bar."""

_EIGHTHS = " ▏▎▍▌▋▊▉"

INDENT = (0, 0, 0, 2)
"""Padding of what is below a title."""


@dataclass(frozen=True)
class Chart:
    """Counts drawn as bars, each as a share of ``whole``; listed only, where that is 0.

    A bar is ``(label, count)``.
    """

    title: str
    bars: Sequence[tuple[str, int]]
    whole: int


@dataclass(frozen=True)
class Estimate:
    """The time of a run that a model of the device's costs estimates.

    us
        microseconds in all.
    device
        what it is estimated for.
    features_us
        microseconds that each feature adds, by its name; beyond them ``us`` has the longest
        block's.
    """

    us: float
    device: str
    features_us: Mapping[str, float]

    def __str__(self) -> str:
        return f"≈ {self.us:.1f} µs"

    def described(self) -> str:
        """What it is, for people."""
        return (
            f"{self} on {self.device}: the cost model's estimate of the kernel with the run's "
            "batch, not measured"
        )


LaunchFigure: TypeAlias = "int | float | str | None | Mapping[str, int]"
"""A figure of a launch, or some by name, of what the launch has several of."""


@dataclass(frozen=True)
class Figures:
    """What a report says of a run.

    operations
        that the run executed; ``None`` where they were not counted.
    unit, capacity
        what computes, in the plural, and how many there are; none: 0.
    statistics
        whole numbers about program and run, by name.
    charts
        for people.
    places
        where parts of the workload ran, and why, a line each.
    remarks
        what the compiler did that a user may want to know, a line each.
    estimate
        of the time on a device that was not asked.
    bytes
        that were read and written in memories, where the target counts them.
    launches
        figures of each launch by their names, by its name, where the target tells.
    """

    operations: int | None
    unit: str = ""
    capacity: int = 0
    statistics: Mapping[str, int] = field(default_factory=dict)
    charts: Sequence[Chart] = ()
    places: Sequence[str] = ()
    remarks: Sequence[str] = ()
    estimate: Estimate | None = None
    bytes: int | None = None
    launches: Mapping[str, Mapping[str, LaunchFigure]] = field(default_factory=dict)


def intensity(operations: int | None, bytes: int | None) -> float | None:
    """Operations for each byte; ``None`` where there are no bytes, or neither was counted."""
    return operations / bytes if bytes and operations is not None else None


@dataclass(frozen=True)
class Report:
    """One run.

    config, target, workload, backend
        names; ``backend`` is one of its target's.
    digest, overrides
        of the configuration: its digest, and the fields that differ from its file's.
    cycles, counters
        as the machine counted them; ``None`` where it has no count of cycles.
    figures
        the target's own.
    outputs
        what is shown of each output.
    launches
        what the program's launches left, by name, in order.
    vanished
        inputs that become 0, if any.
    made_up
        inputs whose values nobody gave.
    seconds
        how long each stage took, by its name: ``compile``, ``simulate`` and others.
    note
        what a reader has to know about the backend, or empty; for people only.
    lines
        where the cycles went by line of the source, if that was asked.
    """

    config: str
    target: str
    workload: str
    backend: str
    digest: str
    overrides: Mapping[str, Any]
    cycles: int | None
    counters: Mapping[str, int]
    figures: Figures
    verification: Verification
    outputs: Sequence[OutputSummary]
    launches: Mapping[str, Finished]
    seconds: Mapping[str, float]
    vanished: Vanished | None = None
    made_up: MadeUp = field(default_factory=dict)
    note: str = ""
    lines: SourceLines | None = None

    @property
    def matches(self) -> bool:
        """Whether every output is what it must be."""
        return not self.verification.difference

    @property
    def ops_per_cycle(self) -> float | None:
        operations = self.figures.operations
        return None if self.cycles is None or operations is None else operations / self.cycles

    @property
    def intensity(self) -> float | None:
        """Operations for each byte that was read or written."""
        return intensity(self.figures.operations, self.figures.bytes)

    @property
    def utilisation(self) -> float | None:
        """Share of the units that compute in the mean cycle, 0 to 1."""
        operations, capacity = self.figures.operations, self.figures.capacity
        if self.cycles is None or operations is None or not capacity:
            return None
        return operations / (self.cycles * capacity)

    @property
    def seconds_simulated(self) -> float:
        """The time that simulations of all launches took; those of several are stages of their own,
        see ``Device``."""
        return sum(
            seconds
            for name, seconds in self.seconds.items()
            if name.partition(" ")[0] == "simulate"
        )

    def to_json(self) -> dict[str, Any]:
        """The JSON object of ``--json``. Times are 0.0 for stages that this run left out.

        Of numbers that JSON lacks, see ``gnarl.sw.runtime.report.output_summary.json_number``.
        """
        return {
            "version": VERSION,
            "config": self.config,
            "target": self.target,
            "workload": self.workload,
            "backend": self.backend,
            "digest": self.digest,
            "overrides": dict(self.overrides),
            "cycles": self.cycles,
            "ops": self.figures.operations,
            "ops_per_cycle": self.ops_per_cycle,
            "bytes": self.figures.bytes,
            "intensity": self.intensity,
            "utilisation": self.utilisation,
            "matches": self.matches,
            "bit_exact": self.verification.bit_exact,
            "difference": self.verification.difference or None,
            "max_rel_error": json_number(self.verification.max_rel_error),
            "not_finite": _count(self.verification.not_finite),
            "lost": _count(self.verification.lost),
            "vanished": self.vanished and asdict(self.vanished),
            "made_up": list(self.made_up),
            "compile_s": self.seconds.get("compile", 0.0),
            "lower_s": self.seconds.get("lower", 0.0),
            "simulate_s": self.seconds_simulated,
            "seconds": dict(self.seconds),
            "counters": dict(self.counters),
            "statistics": dict(self.figures.statistics),
            "places": list(self.figures.places),
            "lines": self.lines and self.lines.to_json(),
            "remarks": list(self.figures.remarks),
            "outputs": outputs_to_json(self.outputs),
            "estimate": self.figures.estimate and asdict(self.figures.estimate),
            "launches": {
                name: {
                    "cycles": launch.cycles,
                    "counters": dict(launch.counters),
                    **self.figures.launches.get(name, {}),
                }
                for name, launch in self.launches.items()
            },
        }

    def print(self, console: Console) -> None:
        """The page for people."""
        console.print(Group(*self._parts()))

    def _parts(self) -> list[RenderableType]:
        overrides = "".join(f" {name}={value}" for name, value in self.overrides.items())
        title = Text.assemble(
            (self.workload, "bold"), " on ", (self.config + overrides, "bold"), f", {self.backend}"
        )
        if self.note:
            title.append(f" ({self.note})")
        parts: list[RenderableType] = [Text(), title]
        lines = [self._summary(), *self._traffic(), self._verdict()]
        lines += [Text(f"! {text}", "yellow") for text in self.warnings()]
        if self.figures.estimate is not None:
            lines.append(Text(self.figures.estimate.described()))
        if self.made_up:
            lines.append(Text(f"Made up: {made_up_text(self.made_up)}"))
        parts += [Padding(line, INDENT, expand=False) for line in lines]
        if self.figures.places:
            parts.append(titled("Places", Text("\n".join(self.figures.places))))
        if self.figures.remarks:
            parts.append(titled("Remarks", Text("\n".join(self.figures.remarks))))
        if self.lines is not None:
            parts.append(titled("Cycles by line of the source", self.lines.drawn()))
        parts += [_drawn(chart) for chart in self.figures.charts if chart.bars]
        if len(self.launches) > 1:
            parts.append(self._launches())
        parts.append(titled("Outputs", Text(outputs_text(self.outputs))))
        if self.seconds:
            parts.append(self._times())
        return [*parts, Text()]

    def _summary(self) -> Text:
        operations = self.figures.operations
        counted = "operations: not counted" if operations is None else f"{operations:,}"
        parts = [(counted, "" if operations is None else " operations")]
        if self.cycles is not None:
            parts.insert(0, (f"{self.cycles:,}", " cycles"))
        if self.ops_per_cycle is not None:
            parts.append((f"{self.ops_per_cycle:.2f}", " a cycle"))
        if self.utilisation is not None:
            parts.append((f"{100 * self.utilisation:.1f} %", f" of {self.figures.unit} busy"))
        return _joined(parts)

    def _traffic(self) -> list[Text]:
        """A line of what memories did, where that is known."""
        if self.figures.bytes is None:
            return []
        parts = [(f"{self.figures.bytes:,}", " bytes read and written")]
        if self.intensity is not None:
            parts.append((f"{self.intensity:.3f}", " operations a byte"))
        return [_joined(parts)]

    def _verdict(self) -> Text:
        verification = self.verification
        error = self._error()
        if not self.matches:
            return Text(f"✘ {verification.difference}, {error}", "bold red")
        how = "bit-exact" if verification.bit_exact else "within its bound"
        return Text(f"{self.sign} {how}, {error}", "yellow" if verification.lost else "green")

    @property
    def sign(self) -> str:
        """What stands before results that are what they must be: no tick where some are lost."""
        return "!" if self.verification.lost else "✔"

    def _error(self) -> str:
        error = self.verification.max_rel_error
        if math.isnan(error):
            return "no finite output to compare with float64"
        others = self.verification.not_finite is not None and math.isfinite(error)
        return f"error against float64{' of finite outputs' if others else ''} {error:.1e}"

    def warnings(self) -> list[str]:
        """Warnings of outputs that are lost or not finite, and of inputs that become 0."""
        verification, texts = self.verification, []
        if verification.lost is not None:
            texts.append(verification.lost.text("lost"))
        if verification.not_finite is not None:
            texts.append(verification.not_finite.text("not finite"))
        if self.vanished is not None:
            begins = "1 input that is not 0 becomes 0:"
            if self.vanished.count > 1:
                begins = f"{self.vanished.count:,} inputs that are not 0 become 0; the first is"
            texts.append(f"{begins} {self.vanished.first}, in {self.vanished.format}")
        return texts

    def _launches(self) -> RenderableType:
        lines = [
            name + ("" if launch.cycles is None else f" {launch.cycles:,} cycles")
            for name, launch in self.launches.items()
        ]
        if not self.figures.launches:
            return titled("Launches", Text(" · ".join(lines)))
        first = next(iter(self.figures.launches.values()))
        table = Table(box=None, pad_edge=False)
        table.add_column("launch")
        table.add_column("cycles", justify="right")
        shown = [name for name, value in first.items() if not isinstance(value, Mapping)]
        for name in shown:
            value = first[name]
            title = name.replace("_", " " if isinstance(value, str) else "\n")
            table.add_column(title, justify="right", overflow="fold")
        for name, launch in self.launches.items():
            own = self.figures.launches[name]
            cycles = "" if launch.cycles is None else f"{launch.cycles:,}"
            table.add_row(name, cycles, *(_figure(own[each]) for each in shown))
        return titled("Launches", table)

    def _times(self) -> RenderableType:
        stages = [f"{name} {duration(seconds)}" for name, seconds in self.seconds.items()]
        return titled("Time", Text(" · ".join(stages)))


def _joined(parts: Sequence[tuple[str, str]]) -> Text:
    """Numbers and their units as a line."""
    shown = [Text.assemble((number, "bold cyan"), unit) for number, unit in parts]
    return Text(" · ").join(shown)


def _figure(value: LaunchFigure) -> str:
    """A figure of a launch: digits in groups of three."""
    if value is None or isinstance(value, str | Mapping):
        return str(value or "")
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def _count(found: Counted | None) -> int:
    return 0 if found is None else found.count


def duration(seconds: float) -> str:
    """A duration as people read it: in seconds or milliseconds."""
    return f"{seconds * 1000:.0f} ms" if seconds < 0.9995 else f"{seconds:.1f} s"


def titled(title: str, body: RenderableType) -> RenderableType:
    """A part of a page below its title."""
    return Group(Text(), Text(title, "bold"), Padding(body, INDENT, expand=False))


def _drawn(chart: Chart) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="cyan", no_wrap=True)
    for label, count in chart.bars:
        share = count / chart.whole if chart.whole else 0.0
        percent = f"{100 * share:.0f} %" if chart.whole else ""
        table.add_row(label, f"{count:,}", percent, bar(min(1.0, share)))
    return titled(chart.title, table)


def bar(share: float) -> str:
    """A bar of block characters; ``share`` is 0 to 1."""
    eighths = round(share * _BAR * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()

"""What a batch costs in instructions, by running machine code on the CPU: before and now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cuda_parts.goals import most_line
from bench.cuda_parts.models import models
from bench.cuda_static_parts.before import INSTRUCTIONS
from bench.cuda_static_parts.counted import INSTRUCTION_BYTES, CountedKernel, is_one_hot, only
from bench.cuda_static_parts.measure import build, compiler
from bench.cuda_static_parts.row_loads import compile_with_lines, loads_of_codes
from bench.lib.measurements import measure_all
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, Setting, rows
from bench.lib.request import Request
from bench.lib.summary import cell, mark
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from gnarl.sw.workloads.embedding.recflex import load_model

BENCH = "cuda_static.instructions"

CONFIG = "cuda_sm90"
SAMPLES = 512
_QUICK_SAMPLES = 16

GOALS_M = {"D": 14.0, "E": 48.0, "A": 54.0, "B": 14.0, "C": 35.0}
"""Warp instructions of ``SAMPLES`` samples, millions at most."""
GOAL_ROUND = 64.0
GOAL_USEFUL = 85.0
GOAL_FIRST_WAITS, GOAL_LATER_WAITS = 3, 0
GOAL_ONE_HOT_KB, GOAL_MULTI_HOT_KB = 40.0, 64.0
GOAL_TEXT_KB, GOAL_PATH_KB = 32.0, 4.0
GOAL_SPILL, GOAL_COMPILE_S = 0, 2.0

METRICS = {
    "executed": Metric("", "lower"),
    "one_sample": Metric("", "lower"),
    "rows_share": Metric("%", "higher"),
    "least_round": Metric("", "lower"),
    "most_round": Metric("", "lower"),
    "useful": Metric("%", "higher"),
    "first_waits": Metric("", "lower"),
    "later_waits": Metric("", "lower"),
    "one_hot_kb": Metric("KB", "higher"),
    "one_hot_useful_kb": Metric("KB", "higher"),
    "multi_hot_kb": Metric("KB", "higher"),
    "multi_hot_useful_kb": Metric("KB", "higher"),
    "text_kb": Metric("KB", "lower"),
    "path_kb": Metric("KB", "lower"),
    "spill_bytes": Metric("bytes", "lower"),
    "compile_s": Metric("s", "lower"),
}
"""``executed``, ``one_sample``: warp instructions of a launch of ``SAMPLES`` samples, of one.
``rows_share``: of them, those of innermost loops that load rows. ``least_round``, ``most_round``:
instructions for eight loads of rows, of the loops that have so many. ``useful``: lanes of loads of
rows that load. ``first_waits``, ``later_waits``: how often a warp waits for global memory before a
row, of its first task and between two. ``one_hot_kb`` …: rows in flight on a multiprocessor,
pooling features with at most one index and the others; whole loads, and what lanes load.
``path_kb``: instructions that a task executes. ``compile_s``: with nothing cached."""
_HEADER = {
    "executed": "warp instructions, M",
    "one_sample": "of one sample",
    "rows_share": "in rounds, %",
    "least_round": "round, least",
    "most_round": "most",
    "useful": "useful lanes, %",
    "first_waits": "waits, first task",
    "later_waits": "later",
    "one_hot_kb": "in flight, one-hot, KB",
    "one_hot_useful_kb": "useful",
    "multi_hot_kb": "multi-hot, KB",
    "multi_hot_useful_kb": "useful",
    "text_kb": "text, KB",
    "path_kb": "a task's, KB",
    "spill_bytes": "spilled, bytes",
    "compile_s": "compile, s",
}
_MILLIONS = ("executed",)


@dataclass(frozen=True)
class Job:
    """A model, and the samples of a batch."""

    path: Path
    samples: int
    seed: int

    @property
    def labels(self) -> dict[str, str | int]:
        return {"model": self.path.stem, "samples": self.samples}

    def setting(self) -> Setting:
        return Setting.of(load_configuration(CONFIG), self.seed)

    def __str__(self) -> str:
        return f"{self.path.stem}, {self.samples} samples"


def run(request: Request) -> tuple[list[Record], bool]:
    """Compiles, disassembles and executes every model, one after the other."""
    samples = _QUICK_SAMPLES if request.quick else SAMPLES
    jobs = [Job(path, samples, request.seed) for path in models(request)]
    return measure_all(
        BENCH, measure, jobs, METRICS, console=request.console, also=compiler(), fresh=True
    )


def measure(job: Job) -> dict[str, float]:
    """Values of ``METRICS``; of rows in flight only where features have them."""
    model, config = load_model(job.path), load_configuration(CONFIG).config
    assert isinstance(config, CudaConfig)
    schedules = choose_schedules(model, config)
    program = build_program(model, schedules)
    compiled = compile_with_lines(program)
    tables_ = synthesise_tables(model, job.seed)
    kernel = CountedKernel(program, compiled, tables_)
    batch = synthesise_batch(model, job.samples, job.seed)
    counts = kernel.run(batch)
    rounds = kernel.rounds(counts)
    values = {
        "executed": int(counts.executed.sum()),
        "one_sample": int(kernel.run(synthesise_batch(model, 1, job.seed)).executed.sum()),
        "rows_share": 100 * kernel.rows_share(counts),
        "least_round": min(rounds),
        "most_round": max(rounds),
        "useful": 100 * kernel.useful_share(counts),
        "first_waits": max(
            each.waits for each in loads_of_codes(kernel.code, program.kernel).values()
        ),
        "later_waits": kernel.later_waits(),
        "text_kb": INSTRUCTION_BYTES * len(kernel.code) / 1e3,
        "path_kb": kernel.path_bytes(counts) / 1e3,
    }
    kinds = (("one_hot", is_one_hot), ("multi_hot", lambda feature: not is_one_hot(feature)))
    for name, wanted in kinds:
        if (part := only(batch, model.features, wanted)) is not None:
            whole, useful = kernel.in_flight(kernel.run(part))
            values |= {f"{name}_kb": whole, f"{name}_useful_kb": useful}
    built = build(model, schedules)  # turns the cache off, so it is the last
    return values | {name: built[name] for name in ("spill_bytes", "compile_s")}


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model, with what was ``before`` in the same cells."""
    body = []
    for labels, row in rows(records).items():
        before = INSTRUCTIONS.get(str(labels[0]), {}) if labels[1] == SAMPLES else {}
        cells = (_cell(name, before.get(name), row.get(name)) for name in _HEADER)
        body.append([*map(str, labels), *cells])
    return {
        "Instructions of fused kernels, before → now": Cells(
            ["model", "samples", *_HEADER.values()], body, names=2
        )
    }


def _cell(name: str, before: float | None, now: float | None) -> str:
    scale = 1e6 if name in _MILLIONS else 1
    found = [value for value in (before, now) if value is not None]
    values = [value / scale if scale > 1 else value for value in found]
    return " → ".join(dict.fromkeys(cell(value, places=1) for value in values))


def verdict(records: Sequence[Record]) -> str:
    """Each figure's worst model against its goal; of the instructions, every model."""
    table = {str(labels[0]): row for labels, row in rows(records).items() if labels[1] == SAMPLES}
    if not table:
        return f"no model with {SAMPLES} samples"
    lines = [
        most_line(f"{name}: warp instructions", table[name]["executed"] / 1e6, goal, "M")
        for name, goal in GOALS_M.items()
        if name in table
    ]
    most, least = _worst(table, max), _worst(table, min)
    lines += [
        most("most_round", "instructions of a full round of 8 loads", GOAL_ROUND),
        least("useful", "lanes with useful bytes", GOAL_USEFUL, " %"),
        most("first_waits", "waits before a task's first row, first task", GOAL_FIRST_WAITS),
        most("later_waits", "later tasks", GOAL_LATER_WAITS),
        least("one_hot_kb", "in flight on a multiprocessor, one-hot", GOAL_ONE_HOT_KB, " KB"),
        least("multi_hot_kb", "multi-hot", GOAL_MULTI_HOT_KB, " KB"),
        most("text_kb", "kernel text", GOAL_TEXT_KB, " KB"),
        most("path_kb", "on one task's path", GOAL_PATH_KB, " KB"),
        most("spill_bytes", "spilled", GOAL_SPILL, " bytes"),
        most("compile_s", "compiled in", GOAL_COMPILE_S, " s"),
    ]
    return "\n".join(filter(None, lines))


def _worst(table: Mapping[str, Mapping[str, Any]], worst: Callable[..., Any]) -> Callable[..., str]:
    """Writes the line of a metric: its worst value of all models, and the goal."""

    def line(metric: str, what: str, goal: float, unit: str = "") -> str:
        values = {name: row[metric] for name, row in table.items() if metric in row}
        if not values:
            return ""
        name = worst(values, key=lambda each: values[each])
        value, most = values[name], worst is max
        good = value <= goal if most else value >= goal
        bound = "at most" if most else "at least"
        return f"{what}: {bound} {value:.3g}{unit} ({name}), goal {goal:g}{unit} {mark(good)}"

    return line


def draw(records: Sequence[Record], path: Path) -> None:
    """Warp instructions, before and now, and the goals."""
    table = {str(labels[0]): row for labels, row in rows(records).items()}
    figure, (axes,) = subplots(1, (8, 4.2))
    bars(
        axes,
        {
            "before": [(INSTRUCTIONS.get(name, {}).get("executed") or 0) / 1e6 for name in table],
            "now": [row["executed"] / 1e6 for row in table.values()],
            "goal": [GOALS_M.get(name, 0.0) for name in table],
        },
    )
    axes.set_xticks(range(len(table)), table)
    axes.set(ylabel="warp instructions, millions")
    axes.legend(frameon=False, fontsize=8)
    save(figure, path)

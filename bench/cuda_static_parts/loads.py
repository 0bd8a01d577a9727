"""How fused kernels read memory, from machine code and emulation: at an earlier commit, and now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.cuda_parts.models import models
from bench.cuda_parts.uniform import uniform_schedules
from bench.cuda_static_parts.before import BEFORE
from bench.cuda_static_parts.kernels import Job
from bench.cuda_static_parts.measure import compiler
from bench.cuda_static_parts.row_loads import compile_with_lines, row_loads
from bench.lib.measurements import measure_all
from bench.lib.plots import bars, save, subplots
from bench.lib.records import Metric, Record, rows
from bench.lib.request import Request
from bench.lib.summary import cell, geometric_mean
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.runtime.cuda.emulation.embedding import EmulatedEmbedding
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from gnarl.sw.workloads.embedding.recflex import load_model

BENCH = "cuda_static.loads"

CONFIGS = ("cuda_sm80", "cuda_sm90")
BATCH = 16
"""Batch size of the emulation."""

METRICS = {
    "codes": Metric("", "none"),
    "split_codes": Metric("", "lower"),
    "in_flight": Metric("", "higher"),
    "predicated": Metric("%", "none"),
    "before_first": Metric("", "lower"),
    "waits": Metric("", "lower"),
    "registers": Metric("", "none"),
    "spill_bytes": Metric("bytes", "lower"),
    "shared_bytes": Metric("bytes", "lower"),
    "uniform_shared_bytes": Metric("bytes", "lower"),
    "loaded_bytes": Metric("bytes", "lower"),
}
"""``split_codes``: codes with a round whose rows are not in flight together. Averages over the
codes: ``in_flight``, loads of rows, and ``before_first``, instructions; ``waits`` is the most of
any code. ``predicated``: loads of rows under a predicate. ``shared_bytes``: of a block as launched,
padding included, ``uniform_shared_bytes`` the same of one schedule for all features.
``loaded_bytes``: from global memory, for a batch of ``BATCH``."""
_HEADER = {
    "codes": "codes",
    "split_codes": "of them split",
    "in_flight": "rows in flight",
    "predicated": "predicated, %",
    "before_first": "instructions before a row",
    "waits": "waits before a row",
    "registers": "registers",
    "spill_bytes": "spilled, bytes",
    "shared_bytes": "shared, bytes",
    "uniform_shared_bytes": "uniform schedule's",
    "loaded_bytes": "loaded, bytes",
}


def run(request: Request) -> tuple[list[Record], bool]:
    """Compiles, disassembles and emulates every model, one after the other."""
    configs = CONFIGS[-1:] if request.quick else CONFIGS
    jobs = [Job(path, config, request.seed) for path in models(request) for config in configs]
    return measure_all(
        BENCH, measure, jobs, METRICS, console=request.console, also=compiler(), fresh=True
    )


def measure(job: Job) -> dict[str, float]:
    """Values of ``METRICS``."""
    model, config = load_model(job.path), job.configuration().config
    assert isinstance(config, CudaConfig)
    program = build_program(model, choose_schedules(model, config))
    uniform = build_program(model, uniform_schedules(model, config))
    compiled = compile_with_lines(program)
    codes = row_loads(compiled, program.kernel).values()
    loads = sum(code.loads for code in codes)
    batch = synthesise_batch(model, BATCH, job.seed)
    emulated = EmulatedEmbedding(program, synthesise_tables(model, job.seed)).run(batch)
    return {
        "codes": len(codes),
        "split_codes": sum(code.splits for code in codes),
        "in_flight": fmean(code.in_flight for code in codes),
        "predicated": 100 * sum(code.predicated for code in codes) / loads,
        "before_first": fmean(code.before_first for code in codes),
        "waits": max(code.waits for code in codes),
        "registers": compiled.registers,
        "spill_bytes": compiled.spill_bytes,
        "shared_bytes": program.kernel.shared_bytes,
        "uniform_shared_bytes": uniform.kernel.shared_bytes,
        "loaded_bytes": emulated.statistics.global_load_bytes,
    }


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model and architecture, with what was ``BEFORE`` in the same cells."""
    body = []
    for labels, row in rows(records).items():
        before = BEFORE.get("/".join(labels), {})
        body.append([*labels, *(_cell(before.get(name), row[name]) for name in _HEADER)])
    title = "Loads of fused kernels, before → now"
    return {title: Cells(["model", "architecture", *_HEADER.values()], body, names=2)}


def _cell(before: float | None, now: float) -> str:
    texts = [cell(value, places=1) for value in (before, now) if value is not None]
    return " → ".join(dict.fromkeys(texts))


def verdict(records: Sequence[Record]) -> str:
    """What is in flight, what waits and what is loaded, against what was ``BEFORE``."""
    table = {"/".join(labels): row for labels, row in rows(records).items()}
    known = {name: row for name, row in table.items() if name in BEFORE}
    codes = sum(row["codes"] for row in table.values())
    lines = [
        f"codes whose rounds have all rows in flight: "
        f"{codes - sum(row['split_codes'] for row in table.values())} of {codes}",
        f"waits for memory before the first row: at most {max(_all(table, 'waits'))}",
    ]
    if known:
        before = {name: BEFORE[name] for name in known}
        codes = sum(_all(before, "codes"))
        lines[0] += f" (before: {codes - sum(_all(before, 'split_codes'))} of {codes})"
        lines[1] += f" (before: {max(_all(before, 'waits'))})"
        for name, what in (
            ("before_first", "instructions before the first row"),
            ("loaded_bytes", "bytes loaded"),
        ):
            ratio = geometric_mean([row[name] / BEFORE[key][name] for key, row in known.items()])
            lines.append(f"{what}: {ratio:.2f} times those before")
    return "\n".join(lines)


def _all(table: Mapping[str, Mapping[str, Any]], metric: str) -> list[Any]:
    return [row[metric] for row in table.values()]


def draw(records: Sequence[Record], path: Path) -> None:
    """Rows in flight, before and now."""
    table = {"/".join(labels): row for labels, row in rows(records).items()}
    figure, (axes,) = subplots(1, (8, 4.2))
    bars(
        axes,
        {
            "before": [BEFORE.get(name, {}).get("in_flight", 0.0) for name in table],
            "now": _all(table, "in_flight"),
        },
    )
    axes.set_xticks(range(len(table)), table)
    axes.set(ylabel="loads of rows in flight, mean of the codes")
    axes.legend(frameon=False, fontsize=8)
    save(figure, path)

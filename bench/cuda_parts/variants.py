"""Parts of the design off and on: what each of them is worth.

A variant is a ``Variant`` in ``VARIANTS``, by its name: another one is another line there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.cuda_parts.comparison import Comparison, run_comparison
from bench.cuda_parts.contenders import Contender, Fused
from bench.cuda_parts.field import Field
from bench.cuda_parts.goals import goal_line
from bench.cuda_parts.measure import ON_DEVICE, OURS, VARYING, Job
from bench.cuda_parts.model_sources import ModelFolder
from bench.cuda_parts.models import models
from bench.lib.plots import save, subplots
from bench.lib.records import Record
from bench.lib.request import Request
from bench.lib.results import Results
from bench.lib.tables import Cells
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.runtime.cuda.gpu.embedding import GpuEmbedding
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo

BENCH = "cuda.variants"

BATCHES = 32

_QUICK_BATCHES = 1


@dataclass(frozen=True)
class Variant:
    """What is different, in words; and how it is made on a field, from this project's schedules."""

    about: str
    make: Callable[[Field, ScheduleSet], Contender]


def _with_blocks(field: Field, chosen: ScheduleSet) -> Fused:
    return field.fused(choose_schedules(field.model, replace(field.config, workers="blocks")))


def _mapped_on_device(field: Field, chosen: ScheduleSet) -> Contender:
    return Fused(_with_blocks(field, chosen).embedding, field.cold, "device")


def _checked(field: Field, chosen: ScheduleSet) -> Contender:
    program = build_program(field.model, chosen)
    return Fused(GpuEmbedding(program, field.on_device, checked=True), field.cold)


def _half_occupied(field: Field, chosen: ScheduleSet) -> Contender:
    return field.fused(replace(chosen, blocks_per_sm=max(1, chosen.blocks_per_sm // 2)))


def _small_blocks(field: Field, chosen: ScheduleSet) -> Contender:
    return field.fused(choose_schedules(field.model, replace(field.config, block_threads=128)))


VARIANTS: dict[str, Variant] = {
    "blocks": Variant("tasks of whole blocks, by the cost model", _with_blocks),
    ON_DEVICE: Variant("the same, a kernel before it maps threads", _mapped_on_device),
    "checked": Variant("every index is checked", _checked),
    "half the blocks": Variant("half as many blocks on a multiprocessor", _half_occupied),
    "blocks of 128": Variant("blocks of 128 threads, by the cost model", _small_blocks),
}
"""Variants by name, in the order in which they are measured."""


def run(request: Request) -> tuple[list[Record], bool]:
    """Measures every model; whether all went well."""
    batches = min(BATCHES, request.options["batches"])
    folders = models(request)

    def jobs(results: Results, gpu: GpuInfo) -> list[Job]:
        return [
            job_of(
                ModelFolder(path),
                _QUICK_BATCHES if request.quick else batches,
                request.seed,
                request.options["schedules"],
                results,
                request.options["deadline"],
            )
            for path in folders
        ]

    return run_comparison(request, BENCH, jobs)


def job_of(
    source: ModelFolder,
    batches: int,
    seed: int,
    schedules: Path,
    results: Results,
    deadline: float | None = None,
) -> Job:
    """A model with all variants."""
    return Job(
        BENCH,
        source,
        VARYING,
        batches,
        seed,
        schedules,
        tuple(VARIANTS),
        results,
        deadline,
        ways,
    )


def ways(job: Job, field: Field, chosen: ScheduleSet) -> dict[str, Callable[[], Contender]]:
    """How each variant is made, and this project's kernel as it is."""

    def made(variant: Variant) -> Callable[[], Contender]:
        return lambda: variant.make(field, chosen)

    return {
        OURS: lambda: field.fused(chosen),
        **{name: made(variant) for name, variant in VARIANTS.items()},
    }


def tables(records: Sequence[Record]) -> dict[str, Cells]:
    """A row for each model."""
    return {"Variants": Comparison.of(records, BENCH).speedup_table((OURS, *VARIANTS))}


def verdict(records: Sequence[Record]) -> str:
    """How much slower each variant is, geometric mean."""
    comparison = Comparison.of(records, BENCH)
    return "\n".join(
        [
            comparison.bit_exact(),
            *(
                goal_line(f"over {name} ({variant.about})", comparison.mean(name, VARYING))
                for name, variant in VARIANTS.items()
            ),
        ]
    )


def draw(records: Sequence[Record], path: Path) -> None:
    """Times as multiples of this project's."""
    figure, (axes,) = subplots(1, (8, 4.2))
    Comparison.of(records, BENCH).draw(axes, (OURS, *VARIANTS))
    save(figure, path)

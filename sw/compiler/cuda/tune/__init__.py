"""Finds the schedules of a model by measuring them on historical batches (RecFlex, IV-A)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda import schedule_file
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_for_sizes
from gnarl.sw.compiler.cuda.feature_groups import BlockSize, block_sizes
from gnarl.sw.compiler.cuda.schedule import QUICK_CANDIDATES, STRATEGIES, ScheduleSet
from gnarl.sw.compiler.cuda.templates import templates
from gnarl.sw.compiler.cuda.tune.journal import Journal, journal_path
from gnarl.sw.compiler.cuda.tune.measurer import DeviceFailure, Measurer
from gnarl.sw.compiler.cuda.tune.separate import separate
from gnarl.sw.compiler.cuda.tune.tuning import Progress, Tuning
from gnarl.sw.compiler.cuda.tune.two_stage import two_stage
from gnarl.sw.program.cache import digest_of, file_texts
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel
from gnarl.sw.workloads.embedding.statistics import from_batches

_MEASURING: dict[str, Callable[[Tuning], ScheduleSet]] = {
    "two-stage": two_stage,
    "separate": separate,
}


def tune(
    model: EmbeddingModel,
    config: CudaConfig,
    batches: Sequence[Batch],
    measurer: Measurer | None,
    *,
    strategy: str = STRATEGIES[0],
    candidates: int = 8,
    quick: bool = False,
    seed: int = 0,
    output: Path | None = None,
    journal: Path | None = None,
    progress: Progress = lambda *_: None,
    note: Callable[[str], None] = lambda _: None,
) -> ScheduleSet:
    """Schedules for batches like these.

    measurer
        without one, or without a device, the cost model chooses, and the result's origin says so.
    strategy
        one of ``STRATEGIES``.
    candidates
        schedules of each feature to measure, the best by the cost model.
    quick
        whether to measure at the occupancy that the cost model finds best alone, and at most
        ``QUICK_CANDIDATES``.
    seed
        of the batches; a journal is that of one seed.
    output
        file for the result, which appears whole or not at all.
    journal
        file for what has been measured until then, so that a later call resumes where this one was
        interrupted; by default ``output`` with ``.journal`` behind its name.
    note
        called with a line about each device that fails; others go on.

    Raises ``WorkloadError`` for no batches, features that no template takes, and journals as
    ``Journal`` does; ``DeviceFailure`` where no device is left; ``JobFailure`` where no fused
    kernel can be measured.
    """
    _check(model, batches, strategy)
    size = round(float(np.mean([batch.size for batch in batches if batch.size])))
    sizes = block_sizes(model, config, from_batches(model, batches), size)
    history = "1 batch" if len(batches) == 1 else f"{len(batches)} batches"
    if measurer is None or not measures(strategy) or not measurer.devices():
        schedules = _by_cost_model(model, sizes, strategy, history)
        _save(schedules, output, None)
        return schedules
    if quick:
        sizes = _best_alone(model, sizes)
        candidates = min(candidates, QUICK_CANDIDATES)
    if journal is None and output is not None:
        journal = journal_path(output)
    measured_with = config if not quick else sizes[0].config
    identity = _identity(model, measured_with, batches, strategy, candidates, seed)
    identity["GPUs"] = measurer.products()
    kind = f"quick {strategy}" if quick else strategy
    with _resumable(journal, identity) as measured:
        schedules = _MEASURING[strategy](
            Tuning(
                model=model,
                sizes=sizes,
                candidates=candidates,
                origin=f"{kind} tuning of {candidates} candidates on {history}",
                measurer=measurer,
                journal=measured,
                progress=progress,
                note=note,
            )
        )
    _save(schedules, output, journal)
    return schedules


def _by_cost_model(
    model: EmbeddingModel, sizes: Sequence[BlockSize], strategy: str, history: str
) -> ScheduleSet:
    reason = f"; there was no GPU for {strategy} tuning" if measures(strategy) else ""
    schedules = choose_for_sizes(model, sizes)
    return replace(schedules, origin=f"cost model, {history}{reason}")


def _check(model: EmbeddingModel, batches: Sequence[Batch], strategy: str) -> None:
    if not any(batch.size for batch in batches):
        raise WorkloadError(f"model {model.name}: has no samples to tune on")
    if strategy not in STRATEGIES:
        raise WorkloadError(f"strategy {strategy}: must be one of {', '.join(STRATEGIES)}")


def _save(schedules: ScheduleSet, output: Path | None, journal: Path | None) -> None:
    """Writes the result to its file, which needs no journal any more."""
    if output is not None:
        schedule_file.save(output, schedules)
    if journal is not None:
        journal.unlink()


def measures(strategy: str) -> bool:
    """Whether the strategy of that name has a use for a measurer."""
    return strategy in _MEASURING


def _best_alone(model: EmbeddingModel, sizes: Sequence[BlockSize]) -> list[BlockSize]:
    """The block size and the occupancy that the cost model finds best."""
    chosen = choose_for_sizes(model, sizes)
    return [
        BlockSize(replace(each.config, blocks_per_sm=chosen.blocks_per_sm), each.groups)
        for each in sizes
        if each.config.block_threads == chosen.block_threads
    ]


@contextmanager
def _resumable(path: Path | None, identity: dict[str, str]) -> Iterator[Journal | None]:
    """The journal there, if any, which failures of devices name."""
    if path is None:
        yield None
        return
    try:
        with Journal(path, identity) as journal:
            yield journal
    except DeviceFailure as failure:
        raise DeviceFailure(f"{failure}; the same command resumes from {path}") from failure


def _identity(
    model: EmbeddingModel,
    config: CudaConfig,
    batches: Sequence[Batch],
    strategy: str,
    candidates: int,
    seed: int,
) -> dict[str, str]:
    """What a journal is for."""
    folders = dict.fromkeys(template.include for template in templates().values())
    digest = hashlib.sha256()
    for batch in batches:
        digest.update(batch.size.to_bytes(8, "little"))
        for inputs in batch.features:
            digest.update(np.ascontiguousarray(inputs.offsets).data)
    return {
        "model": model.digest,
        "configuration": config.digest,
        "strategy": strategy,
        "candidates": str(candidates),
        "seed": str(seed),
        "batches": digest.hexdigest(),
        "headers": digest_of(*(text for folder in folders for text in file_texts(folder))),
    }

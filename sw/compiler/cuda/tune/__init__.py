"""Finds the schedules of a model by measuring them on historical batches (RecFlex, IV-A)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np

from hw.lib.errors import WorkloadError
from sw.compiler.cuda import schedule_file
from sw.compiler.cuda.config import CudaConfig
from sw.compiler.cuda.cost_model import choose_for_groups
from sw.compiler.cuda.feature_groups import group_features
from sw.compiler.cuda.schedule import STRATEGIES, ScheduleSet
from sw.compiler.cuda.templates import templates
from sw.compiler.cuda.tune.journal import Journal, journal_path
from sw.compiler.cuda.tune.measurer import DeviceFailure, Measurer
from sw.compiler.cuda.tune.separate import separate
from sw.compiler.cuda.tune.tuning import Progress, Tuning
from sw.compiler.cuda.tune.two_stage import two_stage
from sw.program.cache import digest_of, file_texts
from sw.workloads.embedding.model import Batch, EmbeddingModel
from sw.workloads.embedding.statistics import from_batches

_MEASURING: dict[str, Callable[[Tuning], ScheduleSet]] = {
    "two-stage": two_stage,
    "separate": separate,
}


def _quiet(*_: object) -> None:
    pass


def tune(
    model: EmbeddingModel,
    config: CudaConfig,
    batches: Sequence[Batch],
    measurer: Measurer | None,
    *,
    strategy: str = STRATEGIES[0],
    candidates: int = 8,
    seed: int = 0,
    journal: Path | None = None,
    progress: Progress = _quiet,
    note: Callable[[str], None] = _quiet,
) -> ScheduleSet:
    """Schedules for batches like these.

    measurer
        without one, or without a device, the cost model chooses, and the result's origin says so.
    strategy
        one of ``STRATEGIES``.
    candidates
        schedules of each feature to measure, the best by the cost model.
    seed
        of the batches; a journal is that of one seed.
    journal
        file that keeps what has been measured, so that a later call resumes where this one was
        interrupted. It is left for the caller to remove.
    note
        called with a line about each device that fails; others go on.

    Raises ``WorkloadError`` for no batches, features that no template takes, and journals as
    ``Journal`` does; ``DeviceFailure`` where no device is left; ``JobFailure`` where no fused
    kernel can be measured.
    """
    if not any(batch.size for batch in batches):
        raise WorkloadError(f"model {model.name}: has no samples to tune on")
    if strategy not in STRATEGIES:
        raise WorkloadError(f"strategy {strategy}: must be one of {', '.join(STRATEGIES)}")
    size = round(float(np.mean([batch.size for batch in batches if batch.size])))
    groups = group_features(model, config.block_threads, from_batches(model, batches), size)
    history = "1 batch" if len(batches) == 1 else f"{len(batches)} batches"
    if measurer is None or not _measures(strategy, measurer):
        reason = f"; there was no GPU for {strategy} tuning" if strategy in _MEASURING else ""
        chosen = choose_for_groups(model, config, groups)
        return replace(chosen, origin=f"cost model, {history}{reason}")
    identity = _identity(model, config, batches, strategy, candidates, seed)
    identity["GPUs"] = measurer.products()
    with nullcontext() if journal is None else Journal(journal, identity) as opened:
        return _MEASURING[strategy](
            Tuning(
                model=model,
                config=config,
                groups=groups,
                candidates=candidates,
                origin=f"{strategy} tuning of {candidates} candidates on {history}",
                measurer=measurer,
                journal=opened,
                progress=progress,
                note=note,
            )
        )


def tune_to_file(
    model: EmbeddingModel,
    config: CudaConfig,
    batches: Sequence[Batch],
    measurer: Measurer | None,
    output: Path,
    *,
    strategy: str = STRATEGIES[0],
    candidates: int = 8,
    seed: int = 0,
    progress: Progress = _quiet,
    note: Callable[[str], None] = _quiet,
) -> ScheduleSet:
    """As ``tune``, with the result in a file that appears whole or not at all.

    What has been measured is in ``output`` with ``.journal`` behind its name until then.
    """
    journal = journal_path(output)
    try:
        found = tune(
            model,
            config,
            batches,
            measurer,
            strategy=strategy,
            candidates=candidates,
            seed=seed,
            journal=journal,
            progress=progress,
            note=note,
        )
    except DeviceFailure as failure:
        raise DeviceFailure(f"{failure}; the same command resumes from {journal}") from failure
    schedule_file.save(output, found)
    if _measures(strategy, measurer):
        journal.unlink()
    return found


def measures(strategy: str) -> bool:
    """Whether the strategy of that name has a use for a measurer."""
    return strategy in _MEASURING


def _measures(strategy: str, measurer: Measurer | None) -> bool:
    return measures(strategy) and measurer is not None and measurer.devices() > 0


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

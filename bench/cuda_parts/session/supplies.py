"""What steps of a session need, made on other cores while a GPU works: batches, machine code."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing.pool import AsyncResult, Pool
from pathlib import Path
from typing import Any, Protocol

from bench.cuda_parts.field import config_for, our_schedules, uniform_choices
from bench.cuda_parts.model_sources import ModelSource
from bench.cuda_parts.session.processes import CONTEXT
from bench.cuda_parts.session.subjects import Subject, key
from bench.cuda_parts.stored_batches import StoredBatches
from bench.cuda_parts.uniform import uniform_schedules
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.runtime.cuda.gpu.embedding import compile_program
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo
from gnarl.sw.workloads.embedding.model import EmbeddingModel

OURS, UNIFORM, UNIFORM_CHOICES = "ours", "uniform", "choices"
"""Schedules whose kernels are compiled ahead."""

_NICENESS = 10


@cache
def _model(source: ModelSource) -> EmbeddingModel:
    return source.load()


class Item(Protocol):
    """A thing to be made."""

    def make(self, stored: StoredBatches, gpu: GpuInfo | None) -> None:
        """Makes it, unless it is there."""


@dataclass(frozen=True)
class BatchItem:
    """A batch of a model."""

    source: ModelSource
    samples: int
    seed: int
    number: int

    def make(self, stored: StoredBatches, gpu: GpuInfo | None) -> None:
        """Makes it, unless it is there."""
        stored.make(_model(self.source), self.samples, self.seed, self.number)

    def path(self, stored: StoredBatches) -> Path:
        """The file that has it."""
        return stored.path(_model(self.source), self.samples, self.seed, self.number)


@dataclass(frozen=True)
class KernelItem:
    """Machine code of a model, for the cache of compiled kernels."""

    source: ModelSource
    schedules: Path
    which: str

    def make(self, stored: StoredBatches, gpu: GpuInfo | None) -> None:
        """Makes it, unless it is there, or the GPU is not known."""
        if gpu is None:
            return
        for each in self._schedule_sets(gpu):
            compile_program(build_program(_model(self.source), each))

    def _schedule_sets(self, gpu: GpuInfo) -> list[ScheduleSet]:
        model, config = _model(self.source), config_for(gpu)
        if self.which == UNIFORM:
            return [uniform_schedules(model, config)]
        if self.which == UNIFORM_CHOICES:
            return uniform_choices(model, config)
        return [our_schedules(self.source.name, self.schedules, model, config)]


class Keys:
    """What figures of subjects are known by, as soon as makers have found it out."""

    def __init__(self, pool: Pool, gpu: GpuInfo) -> None:
        self._pool = pool
        self._gpu = gpu
        self._asked: dict[Subject, AsyncResult[dict[str, str]]] = {}

    def ask(self, subject: Subject) -> None:
        """Has a subject's key found out, unless it has been asked for."""
        if subject not in self._asked:
            self._asked[subject] = self._pool.apply_async(key, (subject, self._gpu))

    def of(self, subject: Subject, until: float) -> dict[str, str]:
        """A subject's key; empty where it is not known by ``until``, of ``time.time``."""
        self.ask(subject)
        try:
            return self._asked[subject].get(max(0.0, until - time.time()))
        except Exception:  # the step fails by the same, and says why
            return {}


class Supplies:
    """Makers on some cores, and the folder of what they make.

    memory
        bytes that batches may take there.

    To be used in a ``with`` block.
    """

    def __init__(self, folder: Path, cores: int, memory: int) -> None:
        self.stored = StoredBatches(folder)
        self.gpu: GpuInfo | None = None
        self._memory = memory
        self._pool = CONTEXT.Pool(max(1, cores - 1), os.nice, (_NICENESS,))
        self._begun: dict[Item, AsyncResult[None]] = {}

    def __enter__(self) -> Supplies:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.terminate()
        self._pool.join()

    def keys(self, gpu: GpuInfo) -> Keys:
        """What figures are known by, which makers find out."""
        return Keys(self._pool, gpu)

    def begin(self, items: Iterable[Item]) -> None:
        """Has these made, as long as there is memory."""
        for item in items:
            if isinstance(item, KernelItem) and self.gpu is None:
                continue
            if item not in self._begun and self._used() < self._memory:
                arguments = (item, self.stored, self.gpu)
                self._begun[item] = self._pool.apply_async(_make, arguments)

    def wait(self, items: Sequence[Item], until: float) -> None:
        """Until these are made, or it is as late as ``until``, of ``time.time``."""
        for item in items:
            if (making := self._begun.get(item)) is not None:
                making.wait(max(0.0, until - time.time()))

    def drop(self, items: Iterable[Item]) -> None:
        """Removes batches that nothing needs any more."""
        for item in items:
            if isinstance(item, BatchItem) and self._begun.pop(item, None) is not None:
                item.path(self.stored).unlink(missing_ok=True)

    def _used(self) -> int:
        total = 0
        for each in os.scandir(self.stored.folder):
            with suppress(OSError):  # renamed since
                total += each.stat().st_size
        return total


def _make(item: Item, *arguments: Any) -> None:
    with suppress(GnarlError):  # the step that needs it meets the same, and says why
        item.make(*arguments)

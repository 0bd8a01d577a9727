"""What a schedule template provides to the fusion compiler, the thread mapping and the tuner.

A template is a header with a device function (``sw/compiler/cuda/include/gnarl/``) and a class
here. Users add theirs by ``register``.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from gnarl.hw.lib.errors import WorkloadError, quoted
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.program.paths import INCLUDE
from gnarl.sw.workloads.embedding.model import Feature

MAXIMUM_VECTOR_BYTES = 16


@dataclass(frozen=True)
class Parameter:
    """A tunable parameter: its name, the values that candidates try, and what it means."""

    name: str
    values: tuple[int, ...]
    meaning: str


@dataclass(frozen=True)
class BlockCount:
    """How many blocks a schedule wants for a batch: ``ceil(units * numerator / denominator)``.

    ``units`` are the batch's samples or its indices ("values"). At least one block.
    """

    units: str
    numerator: int = 1
    denominator: int = 1

    def blocks(self, batch: np.ndarray | int, values: np.ndarray | int) -> np.ndarray:
        """int64, in the arguments' shape."""
        units = np.asarray(batch if self.units == "samples" else values, np.int64)
        return np.maximum(1, -(-units * self.numerator // self.denominator))


@dataclass(frozen=True)
class Workspace:
    """Global memory that a schedule needs: ``size`` bytes for each ``per`` units or part of them.

    ``units`` are the batch's samples or the feature's indices ("values"). At least ``size``.
    """

    units: str
    size: int
    per: int = 1


NO_WORKSPACE = Workspace("samples", 0)


@dataclass(frozen=True)
class Work:
    """What one block of a schedule does on average, for the cost model.

    How templates count: bags have the mean length, or, where that is what counts, the length
    ``longest``; partly filled rounds count as full ones. Nothing is measured, and what all
    templates have in common is left out: finding the task, and waiting for the first offsets and
    indices.

    warp_loads
        times that its longest warp waits for global memory, once it has its first indices: each
        round of rows in flight together counts once, in each pass over a long row's columns; so do
        indices that no earlier round fetched ahead, and partials of other blocks.
    instructions
        warp instructions of all its warps, those included whose lanes have nothing to do: in a
        round per row an address, a test, a load for each vector, for each element an addition, and
        what converts it to float32; how the row's index is found; loops, combination, stores.
    sectors
        32-byte sectors that it loads or stores, each row's by itself: tables, indices, weights,
        offsets and outputs together.
    barriers
        times that the block waits for all its threads.
    """

    warp_loads: float
    instructions: float
    sectors: float
    barriers: float


class Template(ABC):
    """One way to map a feature's samples to the threads of blocks."""

    name: ClassVar[str]
    """As schedules call it, such as ``one_hot``."""
    header: ClassVar[str]
    """What the generated source includes, such as ``gnarl/one_hot.cuh``."""
    struct: ClassVar[str]
    """The C++ template: its arguments are the kind, the threads of a block, and the parameters."""
    parameters: ClassVar[tuple[Parameter, ...]]
    include: ClassVar[Path] = INCLUDE
    """Folder of the header."""
    workers: ClassVar[str] = "blocks"
    """What does its tasks: a name of ``WORKERS``. A kernel has one kind of them."""
    registers: ClassVar[int] = 46
    """About what a thread needs besides its vectors in flight; for the cost model."""

    @abstractmethod
    def refusal(self, schedule: Schedule, feature: Feature, block_threads: int) -> str:
        """Why it cannot compute the feature so, as ``what: what would be right``; empty if it can.

        Called with parameters that have one of their values.
        """

    @abstractmethod
    def block_count(self, schedule: Schedule, feature: Feature, block_threads: int) -> BlockCount:
        """Its blocks for a workload: the runtime's thread mapping."""

    def shared_bytes(self, schedule: Schedule, feature: Feature, block_threads: int) -> int:
        """``sizeof`` its ``Shared``; an empty struct has 1."""
        return 1

    def workspace(self, schedule: Schedule, feature: Feature, block_threads: int) -> Workspace:
        """Global memory that it needs for a batch; zeroes at first, and left as zeroes."""
        return NO_WORKSPACE

    @abstractmethod
    def work(
        self,
        schedule: Schedule,
        feature: Feature,
        block_threads: int,
        batch: float,
        values: float,
        longest: float,
    ) -> Work:
        """What its average block does for a batch of so many samples and indices.

        ``longest`` is the expected length of the longest bag among those of one block.
        """

    def candidates(self, feature: Feature, block_threads: int) -> Iterator[Schedule]:
        """Every schedule of this template that can compute the feature, in a fixed order."""
        names = [parameter.name for parameter in self.parameters]
        for values in itertools.product(*(parameter.values for parameter in self.parameters)):
            schedule = Schedule(self.name, tuple(zip(names, values, strict=True)))
            if not self.refusal(schedule, feature, block_threads):
                yield schedule

    def suits(self, feature: Feature) -> bool:
        """Whether a choice is to consider it for what the feature's factors say."""
        return True

    @staticmethod
    def vector_refusal(feature: Feature, vector: int) -> str:
        """Why rows cannot be loaded in vectors of so many elements, or empty."""
        if feature.dim % vector:
            return f"vector = {vector}: must divide dim {feature.dim}"
        bits = vector * feature.element_bits
        if bits > 8 * MAXIMUM_VECTOR_BYTES:
            return f"vector = {vector}: must be at most {MAXIMUM_VECTOR_BYTES} bytes"
        if bits < 8:
            return f"vector = {vector}: must be whole bytes of {feature.table_type}"
        return ""


_TEMPLATES: dict[str, Template] = {}


def register(template: Template) -> Template:
    """Makes a template known by its name; another of that name is replaced."""
    _TEMPLATES[template.name] = template
    return template


def templates() -> dict[str, Template]:
    """All known templates by name, in the order of registration."""
    return dict(_TEMPLATES)


def template(name: str) -> Template:
    """Raises ``WorkloadError`` if there is none of that name."""
    if name not in _TEMPLATES:
        raise WorkloadError(f"template {quoted(name)}: there are {', '.join(_TEMPLATES)}")
    return _TEMPLATES[name]

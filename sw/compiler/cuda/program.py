"""A compiled model: its schedules, and the fused kernel that was generated from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from sw.compiler.cuda.fusion import FusedKernel, fuse
from sw.compiler.cuda.layouts import BLOCK_COUNT, OutputLayout, output_layout
from sw.compiler.cuda.schedule import ScheduleSet
from sw.compiler.cuda.templates import template
from sw.compiler.cuda.templates.template import INCLUDE
from sw.compiler.frontend.embedding_model import Batch, EmbeddingModel


@dataclass(frozen=True)
class EmbeddingProgram:
    """What a GPU, or its emulation, needs to run a model."""

    model: EmbeddingModel
    schedules: ScheduleSet
    kernel: FusedKernel

    @cached_property
    def outputs(self) -> OutputLayout:
        return output_layout(self.model)

    @property
    def include(self) -> list[Path]:
        """Folders of the headers that the kernel's source includes: the project's, and those of
        templates from elsewhere."""
        own = (template(schedule.template).include for schedule in self.schedules.schedules)
        return list(dict.fromkeys([INCLUDE, *own]))

    @cached_property
    def block_counts(self) -> np.ndarray:
        """``BLOCK_COUNT`` [features]: the blocks that each feature's schedule wants."""
        counts = np.empty(len(self.model.features), BLOCK_COUNT)
        for number, feature in enumerate(self.model.features):
            schedule = self.schedules.schedule(number)
            count = template(schedule.template).block_count(
                schedule, feature, self.schedules.block_threads
            )
            counts[number] = (count.units == "values", count.numerator, count.denominator)
        return counts

    def workspace_bytes(self, batch: Batch) -> np.ndarray:
        """int64 [features]: global memory that each feature's schedule needs for a batch."""
        return np.array(
            [
                template(schedule.template).workspace_bytes(
                    schedule,
                    feature,
                    self.schedules.block_threads,
                    batch.size,
                    len(inputs.indices),
                )
                for number, (feature, inputs) in enumerate(
                    zip(self.model.features, batch.features, strict=True)
                )
                for schedule in (self.schedules.schedule(number),)
            ],
            np.int64,
        )


def build_program(model: EmbeddingModel, schedules: ScheduleSet) -> EmbeddingProgram:
    return EmbeddingProgram(model, schedules, fuse(model, schedules))

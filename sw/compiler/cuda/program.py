"""A compiled model: its schedules, and the fused kernel that was generated from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from sw.compiler.cuda.fusion import FusedKernel, fuse
from sw.compiler.cuda.layouts import BLOCK_COUNT, FEATURE_ARGUMENTS, OutputLayout, output_layout
from sw.compiler.cuda.schedule import ScheduleSet
from sw.compiler.cuda.templates import template
from sw.compiler.cuda.templates.template import INCLUDE, Template
from sw.workloads.embedding.model import TABLE_TYPES, EmbeddingModel


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

    def split(self, buffers: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Each feature's columns [batch, dim] of the output buffers, by name; no copies."""
        features, layout = self.model.features, self.outputs
        return {
            feature.name: buffers[type][:, column : column + feature.dim]
            for feature, type, column in zip(features, layout.types, layout.columns, strict=True)
        }

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

    @cached_property
    def arguments(self) -> np.ndarray:
        """``FEATURE_ARGUMENTS`` [features]: what all launches have in common; other fields are 0.

        An output is its distance from the begin of its buffer, bytes.
        """
        features, layout = self.model.features, self.outputs
        found = np.zeros(len(features), FEATURE_ARGUMENTS)
        found["rows"] = [feature.rows for feature in features]
        found["feature"] = np.arange(len(features))
        found["output_stride"] = [layout.widths[type] for type in layout.types]
        found["output"] = np.array(layout.columns) * [
            TABLE_TYPES[type].itemsize for type in layout.types
        ]
        return found

    @cached_property
    def buffer_of_feature(self) -> np.ndarray:
        """int64 [features]: each output's buffer, by its place in ``outputs.widths``."""
        types = list(self.outputs.widths)
        return np.array([types.index(type) for type in self.outputs.types])

    def workspace_bytes(self, batch: int, counts: Sequence[int]) -> np.ndarray:
        """int64 [features]: global memory that each feature's schedule needs.

        ``batch``, ``counts``: samples, and values of each feature.
        """
        sizes = np.zeros(len(counts), np.int64)
        for number in self._with_workspace:
            schedule = self.schedules.schedule(number)
            sizes[number] = template(schedule.template).workspace_bytes(
                schedule,
                self.model.features[number],
                self.schedules.block_threads,
                batch,
                counts[number],
            )
        return sizes

    @cached_property
    def _with_workspace(self) -> list[int]:
        """Features that may need one. Most do not, and to ask each for every batch takes long."""
        return [
            number
            for number in range(len(self.model.features))
            if type(template(self.schedules.schedule(number).template)).workspace_bytes
            is not Template.workspace_bytes
        ]


def build_program(model: EmbeddingModel, schedules: ScheduleSet) -> EmbeddingProgram:
    return EmbeddingProgram(model, schedules, fuse(model, schedules))

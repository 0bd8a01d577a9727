"""A compiled model: its schedules, and the fused kernel that was generated from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from gnarl.sw.compiler.cuda.demands import feature_demands
from gnarl.sw.compiler.cuda.fusion import FusedKernel, fuse
from gnarl.sw.compiler.cuda.layouts import BLOCK_COUNT, OutputLayout, output_layout
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.compiler.cuda.templates import template
from gnarl.sw.compiler.cuda.templates.template import INCLUDE
from gnarl.sw.workloads.embedding.model import EmbeddingModel


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
    def demands(self) -> np.ndarray:
        """``DEMAND`` [features]: what each feature's schedule wants of a launch."""
        return feature_demands(self.model, self.schedules)

    @cached_property
    def block_counts(self) -> np.ndarray:
        """``BLOCK_COUNT`` [features]: the blocks that each feature's schedule wants."""
        counts = np.empty(len(self.demands), BLOCK_COUNT)
        for name in counts.dtype.names or ():
            counts[name] = self.demands[name]
        return counts


def build_program(model: EmbeddingModel, schedules: ScheduleSet) -> EmbeddingProgram:
    return EmbeddingProgram(model, schedules, fuse(model, schedules))

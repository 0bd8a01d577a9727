"""A compiled model: its schedules, and the fused kernel that was generated from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from gnarl.sw.compiler.cuda.demands import feature_demands
from gnarl.sw.compiler.cuda.device_rates import RATES
from gnarl.sw.compiler.cuda.fusion import fuse
from gnarl.sw.compiler.cuda.layouts import BLOCK_COUNT, OutputLayout, output_layout
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.compiler.cuda.source_parts import FusedKernel
from gnarl.sw.compiler.cuda.task_plan import TaskPlan, plan_tasks
from gnarl.sw.compiler.cuda.templates import template
from gnarl.sw.compiler.cuda.templates.template import INCLUDE
from gnarl.sw.workloads.embedding.model import EmbeddingModel

_KEPT_PLANS = 4096


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

    def plan(self, batch: int, blocks: int = 0) -> TaskPlan:
        """What the warps of so many blocks do with a batch of so many samples: made once for each.

        Of kernels whose workers are warps. ``blocks``: 0 for those of the GPU that ``RATES`` names.
        Raises ``CapacityError`` as ``plan_tasks`` does.
        """
        layout = self.kernel.layout
        assert layout is not None, "workers are blocks"
        schedules = self.schedules
        blocks = blocks or RATES[schedules.arch].multiprocessors * schedules.blocks_per_sm
        key = batch, blocks
        if key not in self._plans:
            if len(self._plans) >= _KEPT_PLANS:
                self._plans.clear()
            self._plans[key] = plan_tasks(layout, batch, blocks, schedules.block_threads)
        return self._plans[key]

    @cached_property
    def _plans(self) -> dict[tuple[int, int], TaskPlan]:
        return {}

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

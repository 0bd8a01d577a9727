"""What features want of a launch by their schedules: blocks, and room in the workspace."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gnarl.sw.compiler.cuda.layouts import DEMAND
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.compiler.cuda.templates import template
from gnarl.sw.workloads.embedding.model import EmbeddingModel

WORKSPACE_ALIGNMENT = 256
"""Alignment of each feature's place in the workspace, bytes: ``kWorkspaceAlignment`` of
``task_map.cuh``."""


def feature_demands(model: EmbeddingModel, schedules: ScheduleSet) -> np.ndarray:
    """``DEMAND`` [features]."""
    demands = np.empty(len(model.features), DEMAND)
    for number, feature in enumerate(model.features):
        schedule = schedules.schedule(number)
        chosen = template(schedule.template)
        count = chosen.block_count(schedule, feature, schedules.block_threads)
        room = chosen.workspace(schedule, feature, schedules.block_threads)
        demands[number] = (
            count.units == "values",
            count.numerator,
            count.denominator,
            room.units == "values",
            room.per,
            room.size,
        )
    return demands


def workspace_places(demands: np.ndarray, batch: int, values: np.ndarray) -> tuple[np.ndarray, int]:
    """int64 [features], where in the workspace each feature's begins; bytes of it all.

    ``batch``, ``values``: samples; int64 [features], indices of each feature.
    """
    units = np.where(demands["workspace_per_value"] != 0, values, batch)
    pieces = np.maximum(1, -(-units // demands["workspace_units"]))
    ends = np.cumsum(_aligned(pieces * demands["workspace_bytes"].astype(np.int64)))
    return np.concatenate([[0], ends[:-1]]), int(ends[-1])


@dataclass(frozen=True)
class Bounds:
    """The most that batches of one size can want, whatever their bags: what a host knows that does
    not wait for the device to count indices.

    tasks, workspace
        where there are no indices; bytes.
    tasks_per_value, workspace_per_value
        that one more index, of whatever feature, adds at most.
    """

    tasks: int
    workspace: int
    tasks_per_value: float
    workspace_per_value: float

    @classmethod
    def of(cls, demands: np.ndarray, batch: int) -> Bounds:
        """Bounds of a batch, from ``DEMAND`` [features]."""
        by_value = demands["per_value"] != 0
        rates = demands["numerator"] / demands["denominator"]
        blocks = np.maximum(1, np.ceil(np.where(by_value, 0, batch * rates)))
        sized = demands["workspace_per_value"] != 0
        sizes = demands["workspace_bytes"].astype(np.int64)
        pieces = np.maximum(1, -(-np.where(sized, 0, batch) // demands["workspace_units"]))
        return cls(
            # Rounding up adds less than one to what indices want, or bytes of one piece.
            int(blocks.sum()) + int(by_value.sum()),
            int(_aligned(pieces * sizes + np.where(sized, sizes + WORKSPACE_ALIGNMENT, 0)).sum()),
            float(np.max(rates, where=by_value, initial=0)),
            float(np.max(sizes / demands["workspace_units"], where=sized, initial=0)),
        )

    def most_tasks(self, values: int) -> int:
        return self.tasks + math.ceil(values * self.tasks_per_value)

    def most_workspace(self, values: int) -> int:
        """Bytes, a multiple of 8."""
        return self.workspace + 8 * math.ceil(values * self.workspace_per_value / 8)


def _aligned(sizes: np.ndarray) -> np.ndarray:
    return -(-sizes // WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT

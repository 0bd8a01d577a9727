"""Both designs on a batch: what is modelled of each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bench.cuda_schedule_parts import kernel_plan, plan, today
from bench.cuda_schedule_parts.constants import CONSTANTS
from bench.cuda_schedule_parts.costs import Counts, needs_of_blocks, needs_of_warps
from bench.cuda_schedule_parts.device import EMPTY_US, MULTIPROCESSORS
from bench.cuda_schedule_parts.engine import Dealt, Needs, imbalance, simulate
from bench.cuda_schedule_parts.warps import warp_work
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.compiler.cuda.program import EmbeddingProgram
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel

CONFIG = "cuda_sm90"

_STEPS = 4000
"""Of a simulation, about."""


@dataclass(frozen=True)
class Modelled:
    """What the model says of a kernel on a batch.

    us
        a launch included.
    imbalance
        bytes of the fullest multiprocessor over the mean.
    instructions
        of all warps.
    tasks
        of the batch.
    """

    us: float
    imbalance: float
    instructions: float
    tasks: int


def schedules_of(model: EmbeddingModel, workers: str = "blocks") -> ScheduleSet:
    """The cost model's."""
    config = load_configuration(CONFIG).config
    assert isinstance(config, CudaConfig)
    return choose_schedules(model, replace(config, workers=workers))


def with_blocks(model: EmbeddingModel, schedules: ScheduleSet, batch: Batch) -> Modelled:
    """Today's design."""
    work = today.block_work(model, schedules, batch)
    needs = needs_of_blocks(work, today.warps_of(schedules), CONSTANTS)
    dealt = today.deal(len(work), today.grid_blocks(schedules), CONSTANTS.steal_us)
    return _modelled(needs, dealt, work.bytes)


def with_plan(program: EmbeddingProgram, batch: Batch, counts: Counts) -> Modelled:
    """The design with warps, by the program's own plan."""
    schedules, made = program.schedules, program.plan(batch.size)
    dealt = kernel_plan.deal(made, schedules.blocks_per_sm, schedules.block_threads)
    work = kernel_plan.plan_work(program, made, batch, dealt)
    return _modelled(needs_of_warps(work, CONSTANTS, counts), dealt, work.bytes, CONSTANTS.start_us)


def with_warps(
    model: EmbeddingModel,
    made: plan.Plan,
    batch: Batch,
    counts: Counts,
    dealt: Dealt | None = None,
) -> Modelled:
    """The design with warps; ``dealt``: other than ``plan.deal`` has it."""
    if dealt is None:
        dealt = plan.deal(int(plan.count_tasks(made).sum()))
    work = warp_work(model, made, batch, dealt)
    return _modelled(needs_of_warps(work, CONSTANTS, counts), dealt, work.bytes, CONSTANTS.start_us)


def _modelled(needs: Needs, dealt: Dealt, moved: np.ndarray, start_us: float = 0.0) -> Modelled:
    device = CONSTANTS.device()
    roughly = max(
        needs.alone.sum() / len(dealt.home), needs.l2.sum() / device.l2, 1.0 + needs.alone.max()
    )
    run = simulate(
        needs,
        dealt,
        device,
        first_us=CONSTANTS.first_us + start_us,
        step_us=float(min(0.2, max(0.02, roughly / _STEPS))),
    )
    return Modelled(
        EMPTY_US + run.us,
        imbalance(moved, run.where, MULTIPROCESSORS),
        float(needs.instructions.sum()),
        len(needs.alone),
    )

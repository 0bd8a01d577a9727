"""The DPU as a target of commands and devices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hw.dpu.config import DpuConfig
from hw.dpu.memory_map import memory_map
from hw.dpu.top import build
from sw.compiler.dpu.compile import PASSES, compile
from sw.compiler.dpu.sections import DPU_SCHEMA
from sw.compiler.passes import Trace
from sw.program.program import Program
from sw.runtime.dpu.diagnosis import first_difference, volatile_rows, written_rows
from sw.runtime.dpu.figures import activity, cycle_limit, figures, listing
from sw.runtime.dpu.image import bind, image, leaves, outputs, result_rows
from sw.runtime.dpu.models import golden, model, reference
from sw.runtime.dpu.options import OPTIONS
from sw.runtime.dpu.sources import inputs, warm_up, workload
from sw.runtime.host_target import HostTarget
from sw.runtime.target import Example
from sw.workloads.dag.generate import write_examples
from sw.workloads.dag.workload import DagWorkload


class DpuTarget(HostTarget[DpuConfig, DagWorkload, np.ndarray]):
    """See ``sw.runtime.target.Target``.

    Operands of jobs are the leaves: words, uint32, of all inputs and then all constants.
    """

    name = "dpu"
    configuration = DpuConfig
    demo = "dpu_d3_b64"
    options = OPTIONS
    passes = PASSES
    schema = DPU_SCHEMA

    build = staticmethod(build)
    memory_map = staticmethod(memory_map)
    model = staticmethod(model)
    workload = staticmethod(workload)
    warm_up = staticmethod(warm_up)
    listing = staticmethod(listing)
    inputs = staticmethod(inputs)
    bind = staticmethod(bind)
    operands = staticmethod(leaves)
    image = staticmethod(image)
    result_rows = staticmethod(result_rows)
    outputs = staticmethod(outputs)
    cycle_limit = staticmethod(cycle_limit)
    written_rows = staticmethod(written_rows)
    volatile_rows = staticmethod(volatile_rows)
    first_difference = staticmethod(first_difference)
    golden = staticmethod(golden)
    reference = staticmethod(reference)
    figures = staticmethod(figures)
    activity = staticmethod(activity)

    def examples(self, folder: Path) -> list[Example]:
        """A probabilistic circuit and a triangular system, both generated."""
        return [Example(path.stem, str(path)) for path in write_examples(folder)]

    def compile(
        self,
        workload: DagWorkload,
        config: DpuConfig,
        *,
        seed: int = 0,
        trace: Trace,
        **options: Any,
    ) -> Program:
        return compile(workload, config, seed=seed, trace=trace, **options)


TARGET = DpuTarget()

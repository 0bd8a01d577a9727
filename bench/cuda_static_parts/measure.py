"""Measures the way from a model to machine code: seconds, and what the kernel needs."""

from __future__ import annotations

import os
import time
from tempfile import TemporaryDirectory

from bench.lib.records import Metric
from gnarl.sw.compiler.cuda.architectures import ARCHITECTURES, WARP_THREADS
from gnarl.sw.compiler.cuda.nvrtc import nvrtc_version
from gnarl.sw.compiler.cuda.occupancy import blocks_per_sm
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.runtime.cuda.gpu.embedding import compile_program
from gnarl.sw.workloads.embedding.model import EmbeddingModel

METRICS = {
    "generate_s": Metric("s", "lower"),
    "source_bytes": Metric("bytes", "none"),
    "codes": Metric("", "none"),
    "compile_s": Metric("s", "lower"),
    "registers": Metric("", "none"),
    "spill_bytes": Metric("bytes", "lower"),
    "shared_bytes": Metric("bytes", "none"),
    "occupancy": Metric("%", "none"),
}
"""``generate_s`` is for the source; ``compile_s`` for its machine code, with nothing cached.
``registers``, ``spill_bytes`` of a thread, ``shared_bytes`` of a block; ``occupancy``: warps that
run on a multiprocessor at a time, of those it has room for."""


def compiler() -> dict[str, str]:
    """The version that took part."""
    return {"nvrtc": ".".join(map(str, nvrtc_version()))}


def build(model: EmbeddingModel, schedules: ScheduleSet) -> dict[str, float]:
    """Values of ``METRICS``. For a process of its own, whose cache it turns off."""
    begin = time.perf_counter()
    program = build_program(model, schedules)
    generate_s = time.perf_counter() - begin
    with TemporaryDirectory() as folder:
        os.environ["GNARL_CACHE"] = folder
        begin = time.perf_counter()
        kernel = compile_program(program)
        compile_s = time.perf_counter() - begin
    shared_bytes = program.kernel.shared_bytes + kernel.shared_bytes
    threads = schedules.block_threads
    blocks = blocks_per_sm(schedules.arch, kernel.registers, shared_bytes, threads)
    room = ARCHITECTURES[schedules.arch].warps_per_sm * WARP_THREADS
    return {
        "generate_s": generate_s,
        "source_bytes": len(program.kernel.source.encode()),
        "codes": max(program.kernel.code_of_feature) + 1,
        "compile_s": compile_s,
        "registers": kernel.registers,
        "spill_bytes": kernel.spill_bytes,
        "shared_bytes": shared_bytes,
        "occupancy": 100 * blocks * threads / room,
    }

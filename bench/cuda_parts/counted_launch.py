"""Launches a model's kernel a few times, for a profiler to count: ``python -m`` this module."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench.cuda_parts.field import config_for, our_schedules, require_gpu_of
from bench.cuda_parts.stored_batches import StoredBatches
from bench.cuda_parts.uniform import uniform_schedules
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.runtime.cuda.gpu.embedding import GpuEmbedding
from gnarl.sw.workloads.embedding.data import synthesise_tables
from gnarl.sw.workloads.embedding.recflex import load_model


def main(text: str) -> None:
    """``text``: an object of JSON with ``path``, ``uniform``, ``samples``, ``seed``, ``launches``,
    ``schedules`` and ``stored``."""
    asked = json.loads(text)
    path = Path(asked["path"])
    model, config = load_model(path), config_for(require_gpu_of(0))
    schedules = (
        uniform_schedules(model, config)
        if asked["uniform"]
        else our_schedules(path.stem, Path(asked["schedules"]), model, config)
    )
    tables = synthesise_tables(model, asked["seed"])
    embedding = GpuEmbedding(build_program(model, schedules), tables)
    batch, _ = StoredBatches(Path(asked["stored"])).load(model, asked["samples"], asked["seed"], 0)
    for _ in range(asked["launches"]):
        embedding.run(batch)


if __name__ == "__main__":
    main(sys.argv[1])

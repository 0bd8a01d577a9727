"""The configurations that are tested as a whole: the least there is, and one with room."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace

from gnarl.hw.tmu.config import TmuConfig

LEAST = TmuConfig(
    layers=5,
    lanes=2,
    streams=6,
    stream_words=16,
    requests=1,
    data_words=4,
    control_tokens=2,
    program_words=512,
    loads=1,
    l1_bytes=1 << 10,
    l2_bytes=1 << 10,
    memory_bytes=1 << 14,
    latency=11,
    bandwidth=4,
)
"""Queues, caches and requests as few as can be; layers and streams that all operations need."""

ROOMY = TmuConfig(
    layers=5,
    lanes=4,
    streams=6,
    stream_words=128,
    requests=8,
    data_words=64,
    control_tokens=16,
    program_words=512,
    loads=4,
    l1_bytes=1 << 10,
    l2_bytes=1 << 12,
    memory_bytes=1 << 14,
    latency=37,
    bandwidth=64,
)

LONG = replace(LEAST, memory_bytes=1 << 20, program_words=1 << 15)
"""With memory for long rows, and for programs that have them unrolled."""

CONFIGS = {"least": LEAST, "roomy": ROOMY}

_VARIABLE = "TMU_CONFIG"
_DIMENSIONS = "TMU_DIMENSIONS"
_RUNS = "TMU_RUNS"

DIMENSIONS = (1, 7, 8, 9, 63, 64, 65)


def environment(
    config: TmuConfig, dimensions: Sequence[int] = DIMENSIONS, *, runs: int = 2
) -> dict[str, str]:
    """Variables that tell the tests inside the simulator what they test.

    All operations together run with each of ``dimensions``, each so many ``runs``.
    """
    return {
        _VARIABLE: json.dumps(config.to_dict()),
        _DIMENSIONS: json.dumps(list(dimensions)),
        _RUNS: str(runs),
    }


def dimensions() -> list[int]:
    """Dimensions of rows of operations, inside the simulator."""
    found: list[int] = json.loads(os.environ[_DIMENSIONS])
    return found


def runs_of_each() -> int:
    """How many runs each operation is tested with, inside the simulator."""
    return int(os.environ[_RUNS])


def config_under_test() -> TmuConfig:
    """The configuration under test, inside the simulator."""
    return TmuConfig.from_dict(json.loads(os.environ[_VARIABLE]))

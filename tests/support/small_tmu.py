"""A TMU as small as random programs leave it, which builds quickly."""

from __future__ import annotations

from hw.tmu.config import TmuConfig
from sw.runtime.configuration import NamedConfiguration
from sw.runtime.tmu.target import TARGET

CONFIG = TmuConfig(
    layers=3,
    lanes=2,
    streams=5,
    stream_words=32,
    requests=2,
    data_words=8,
    control_tokens=2,
    program_words=64,
    loads=2,
    l1_bytes=1 << 10,
    l2_bytes=1 << 10,
    memory_bytes=1 << 14,
    latency=5,
    bandwidth=64,
)

HARDWARE = NamedConfiguration("tmu_small", "", TARGET, CONFIG, {})

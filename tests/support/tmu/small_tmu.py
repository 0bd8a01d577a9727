"""TMUs as small as random programs leave them, which build quickly."""

from __future__ import annotations

from dataclasses import replace

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.runtime.target.configuration import NamedConfiguration
from gnarl.sw.runtime.tmu.target import TARGET

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

WIDER = replace(
    CONFIG,
    layers=5,
    lanes=4,
    requests=4,
    data_words=32,
    control_tokens=4,
    program_words=128,
    bandwidth=8,
)
"""With more layers and lanes."""

WIDER_HARDWARE = NamedConfiguration("tmu_wider", "", TARGET, WIDER, {})

WIDEST = replace(
    WIDER,
    layers=8,
    lanes=16,
    streams=8,
    stream_words=128,
    data_words=256,
    program_words=512,
)
"""As many of all as there can be, for models."""

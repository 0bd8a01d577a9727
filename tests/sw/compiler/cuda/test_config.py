"""Configurations of the CUDA target, and their refusals."""

from __future__ import annotations

import re
from dataclasses import astuple
from typing import Any

import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.lib.errors import ConfigError
from gnarl.sw.compiler.cuda.architectures import ARCHITECTURES
from gnarl.sw.compiler.cuda.config import (
    BLOCK_THREADS,
    WARP_BLOCK_THREADS,
    CudaConfig,
    require_cuda,
)

NAMES = "sm_75, sm_80, sm_86, sm_87, sm_89, sm_90, sm_100, sm_103, sm_110, sm_120, sm_121"


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("block_threads", BLOCK_THREADS)
def test_every_size_of_block_is_allowed_on_every_architecture(
    arch: str, block_threads: int
) -> None:
    config = CudaConfig(arch=arch, block_threads=block_threads, blocks_per_sm=1)
    assert CudaConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"arch": "sm_70"}, f"arch = 'sm_70': must be one of {NAMES}"),
        ({"arch": 90}, f"arch = 90: must be one of {NAMES}"),
        (
            {"block_threads": 96},
            "block_threads = 96: must be one of 0, 32, 64, 128, 256, 512, 1024",
        ),
        (
            {"block_threads": 128.0},
            "block_threads = 128.0: must be one of 0, 32, 64, 128, 256, 512, 1024",
        ),
        (
            {"block_threads": "128"},
            "block_threads = '128': must be one of 0, 32, 64, 128, 256, 512, 1024",
        ),
        ({"blocks_per_sm": 17}, "blocks_per_sm = 17: must be a whole number from 0 to 16"),
        ({"blocks_per_sm": -1}, "blocks_per_sm = -1: must be a whole number from 0 to 16"),
        (
            {"arch": "sm_86", "block_threads": 1024, "blocks_per_sm": 2},
            "blocks_per_sm = 2: must be a whole number from 0 to 1",
        ),
        ({"checked": 1}, "checked = 1: must be true or false"),
        (
            {"format": "float64"},
            "format = 'float64': must be one of float32, float16, bfloat16",
        ),
        ({"workers": "threads"}, "workers = 'threads': must be one of warps, blocks"),
        (
            {"threads": 1},
            "threads = 1: no such field; there are arch, block_threads, blocks_per_sm, checked, "
            "format, workers",
        ),
    ],
)
def test_refusals(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(text)}$"):
        CudaConfig.from_dict(fields)


def test_all_violations_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as refusal:
        CudaConfig(arch="sm_70", block_threads=96, checked=None)  # type: ignore[arg-type]
    assert [text.partition(" = ")[0] for text in refusal.value.violations] == [
        "arch",
        "block_threads",
        "checked",
    ]


def test_sizes_of_blocks_that_a_choice_is_among() -> None:
    def sizes(workers: str = "blocks", **fields: int) -> list[int]:
        config = CudaConfig(arch="sm_90", workers=workers, **fields)
        return [sized.block_threads for sized in config.sized]

    assert sizes(block_threads=512) == [512]
    assert sizes(block_threads=0) == [64, 128, 256]
    # 64 warps of a multiprocessor are 8 blocks of 256 threads.
    assert sizes(block_threads=0, blocks_per_sm=9) == [64, 128]
    assert sizes("warps", block_threads=0) == [WARP_BLOCK_THREADS]
    assert sizes("warps", block_threads=512) == [512]
    assert CudaConfig(block_threads=0).plain_block_threads == 128
    with pytest.raises(ConfigError, match="blocks_per_sm = 33: must be .* from 0 to 32"):
        CudaConfig(arch="sm_90", block_threads=0, blocks_per_sm=33)


def test_configurations_of_other_targets_are_refused_by_name() -> None:
    config = CudaConfig()
    assert require_cuda("mine", config) is config
    with pytest.raises(ConfigError, match="^mine: is of target dpu: must be of target cuda$"):
        require_cuda("mine", DpuConfig())


def test_limits_of_multiprocessors() -> None:
    """Warps and blocks of each, from compute capability 7.5 to 12.1."""
    found = [astuple(each)[:2] for each in ARCHITECTURES.values()]
    first = [(32, 16), (64, 32), (48, 16), (48, 16), (48, 24)]
    assert found == [*first, *[(64, 32)] * 3, *[(48, 24)] * 3]

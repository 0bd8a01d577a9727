"""Occupancy, against what NVIDIA's calculator gives and against its own inverse functions."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from gnarl.sw.compiler.cuda.architectures import ARCHITECTURES
from gnarl.sw.compiler.cuda.config import BLOCK_THREADS
from gnarl.sw.compiler.cuda.occupancy import (
    blocks_per_sm,
    maximum_blocks,
    occupancies,
    register_limit,
    shared_limit,
)

KIB = 1024

ANY_ARCH = st.sampled_from(sorted(ARCHITECTURES))
ANY_THREADS = st.sampled_from(BLOCK_THREADS)


@pytest.mark.parametrize(
    ("arch", "registers", "shared_bytes", "block_threads", "blocks"),
    [
        # Nothing but the limits of warps and blocks: 64 / 8, 48 / 8, 32 / 8; 32 blocks; 16.
        ("sm_80", 32, 0, 256, 8),
        ("sm_86", 32, 0, 256, 6),
        ("sm_75", 32, 0, 256, 4),
        ("sm_90", 32, 0, 32, 32),
        ("sm_86", 32, 0, 32, 16),
        # 33 registers are 1,280 for a warp: 12 of a partition's 16,384, so 48 warps of 4 a block.
        ("sm_80", 33, 0, 128, 12),
        # 64 are 2,048: 32 warps of 8. 65 are 2,304: 7 in a partition, 28 warps.
        ("sm_80", 64, 0, 256, 4),
        ("sm_80", 65, 0, 256, 3),
        # 255 are 8,192: 2 in a partition, 8 warps.
        ("sm_80", 255, 0, 256, 1),
        ("sm_80", 255, 0, 128, 2),
        ("sm_80", 128, 0, 1024, 0),
        ("sm_80", 256, 0, 32, 0),
        # 163 KiB and the system's 1 KiB are all of 164 KiB; one byte more than that is too much.
        ("sm_80", 32, 163 * KIB, 128, 1),
        ("sm_80", 32, 163 * KIB + 1, 128, 0),
        # 40 KiB and 1 KiB fit four times; 40 KiB and a byte are 41 KiB and 128 bytes: three times.
        ("sm_80", 32, 40 * KIB, 128, 4),
        ("sm_80", 32, 40 * KIB + 1, 128, 3),
        ("sm_90", 32, 48 * KIB, 128, 4),
        # Even a kernel without any takes 1 KiB: 100 of them, and 228, exceed the limits of blocks.
        ("sm_120", 32, 0, 128, 12),
        # sm_75 has no such reserve, and units of 256 bytes.
        ("sm_75", 32, 64 * KIB, 128, 1),
        ("sm_75", 32, 8 * KIB, 128, 8),
        ("sm_75", 32, 8 * KIB + 1, 128, 7),
        ("sm_75", 32, 21 * KIB + 256, 128, 3),
        ("sm_75", 32, 21 * KIB + 257, 128, 2),
    ],
)
def test_blocks_per_sm(
    arch: str, registers: int, shared_bytes: int, block_threads: int, blocks: int
) -> None:
    assert blocks_per_sm(arch, registers, shared_bytes, block_threads) == blocks


@pytest.mark.parametrize(
    ("arch", "block_threads", "blocks", "registers"),
    [
        ("sm_80", 256, 8, 32),  # 65,536 / (8 * 256)
        ("sm_80", 256, 6, 40),  # 42 and two thirds, in steps of 8
        ("sm_80", 128, 5, 96),  # 102
        ("sm_80", 128, 2, 255),
        ("sm_80", 32, 5, 255),  # 5 warps are 2 in one of the partitions
        ("sm_80", 32, 9, 168),  # 9 warps are 3
        ("sm_90", 1024, 1, 64),
    ],
)
def test_register_limit(arch: str, block_threads: int, blocks: int, registers: int) -> None:
    assert register_limit(arch, block_threads, blocks) == registers


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("block_threads", BLOCK_THREADS)
def test_limits_are_the_most_that_leave_room(arch: str, block_threads: int) -> None:
    for blocks in range(1, maximum_blocks(arch, block_threads) + 1):
        registers = register_limit(arch, block_threads, blocks)
        assert blocks_per_sm(arch, registers, 0, block_threads) >= blocks
        assert blocks_per_sm(arch, registers + 1, 0, block_threads) < blocks
        shared = shared_limit(arch, blocks)
        assert blocks_per_sm(arch, 1, shared, 32) >= blocks
        assert blocks_per_sm(arch, 1, shared + 1, 32) < blocks


def test_occupancies_are_those_with_more_registers() -> None:
    assert occupancies("sm_80", 256) == (8, 6, 5, 4, 3, 2, 1)
    assert occupancies("sm_75", 256) == (4, 3, 2, 1)
    assert occupancies("sm_75", 1024) == (1,)


def test_of_too_many_occupancies_those_between_near_neighbours_go() -> None:
    assert occupancies("sm_80", 128) == (16, 12, 10, 8, 6, 5, 4, 3, 2)  # without 9 and 7


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("block_threads", BLOCK_THREADS)
def test_occupancies_are_few_and_span_all(arch: str, block_threads: int) -> None:
    found = occupancies(arch, block_threads)
    assert 0 < len(found) < 10
    assert found[0] == maximum_blocks(arch, block_threads)
    limits = [register_limit(arch, block_threads, blocks) for blocks in found]
    assert limits == sorted(set(limits))
    assert limits[-1] == register_limit(arch, block_threads, 1)

"""The emulated CUDA language: each construct against results worked out by hand or by NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels
from tests.support.cuda.emulated_launch import run


@pytest.fixture(scope="module")
def kernels() -> EmulatedKernels:
    return EmulatedKernels(Path(__file__).with_name("language.cu").read_text(), name="language")


def lanes(block: int) -> list[range]:
    """The threads of each warp."""
    return [range(first, min(first + 32, block)) for first in range(0, block, 32)]


@pytest.mark.parametrize("grid,block", [(1, 1), (3, 48), (2, 1024), (1, 31)])
def test_indices(kernels: EmulatedKernels, grid: int, block: int) -> None:
    out = np.zeros(grid * block + 2, np.int32)
    statistics = run(kernels, "indices", grid, block, out)
    expected = [1000 * b + t for b in range(grid) for t in range(block)]
    assert out.tolist() == [*expected, grid + block + 2, 32]
    assert (statistics.blocks, statistics.threads) == (grid, grid * block)
    assert statistics.global_stores == grid * block + 2
    assert statistics.global_store_bytes == 4 * (grid * block + 2)


def test_arguments_beyond_the_registers(kernels: EmulatedKernels) -> None:
    first, last = np.array([11], np.int32), np.array([-22], np.int32)
    out = np.zeros(9, np.int64)
    values = (-1, np.int64(-(1 << 40)), np.uint64(1 << 62), 4, -5, 6, np.int64(-7))
    run(kernels, "arguments", 1, 1, first, *values, last, out)
    assert out.tolist() == [11, *(int(value) for value in values), -22]


def test_statics_are_memory_that_lasts_from_launch_to_launch(kernels: EmulatedKernels) -> None:
    out = np.zeros(15, np.int32)
    for launches in range(2):
        run(kernels, "statics", 1, 5, out)
        # Threads run one after the other here: the first counts the launch.
        squares = [t * t + launches + (t > 0) for t in range(5)]
        assert out[:10].tolist() == squares + [3 * t + 1 for t in range(5)]
    assert (out[10:].view(np.float32) == np.float32(1) / np.float32(3)).all()


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("operand", [0, 1, 3, 5, 16, 31])
def test_shuffles(kernels: EmulatedKernels, width: int, operand: int) -> None:
    block = 64
    out = np.zeros((4, block), np.int32)
    run(kernels, "shuffles", 1, block, out, width, operand)
    for t in range(block):
        lane, warp = t % 32, t - t % 32
        segment = lane - lane % width
        assert out[0, t] == 100 + warp + segment + operand % width
        up = lane - operand if lane % width >= operand else lane
        assert out[1, t] == 100 + warp + up
        down = lane + operand if lane % width + operand < width else lane
        assert out[2, t] == 100 + warp + down
        other = lane ^ operand
        assert out[3, t] == 100 + warp + (other if other < segment + width else lane)


def test_shuffles_of_every_type(kernels: EmulatedKernels) -> None:
    out = np.zeros((5, 32), np.float64)
    run(kernels, "shuffle_types", 1, 32, out)
    assert out[:, 0].tolist() == [0.1 * 31, 15.5, -(2.0**40) - 31, 1, 2.0**32 - 32]
    assert (out == out[:, :1]).all()


@pytest.mark.parametrize("block", [1, 16, 32, 48, 1024])
def test_votes_with_the_lanes_that_exist(kernels: EmulatedKernels, block: int) -> None:
    out = np.zeros((5, block), np.uint32)
    statistics = run(kernels, "votes", 1, block, out)
    assert statistics.warp_operations == 6 * len(lanes(block))
    for warp in lanes(block):
        for t in warp:
            assert out[0, t] == sum(1 << u % 32 for u in warp if u % 3 == 0)
            assert out[1, t] == (1 if warp[-1] < 1000 else 0) + (0 if 5 in warp else 2)
            assert out[2, t] == (1 if 5 in warp else 0)
            assert out[3, t] == sum(1 << u % 32 for u in warp if u // 10 == t // 10)
            assert out[4, t] == 1 << t % 32


@pytest.mark.parametrize("block", [1, 32, 48])
def test_reductions_of_a_warp(kernels: EmulatedKernels, block: int) -> None:
    out = np.zeros((8, block), np.int32)
    run(kernels, "reductions", 1, block, out)
    for warp in lanes(block):
        values = np.array([t % 32 - 8 for t in warp], np.int32)
        unsigned = values.view(np.uint32)
        expected = [
            values.sum(),
            values.min(),
            values.max(),
            unsigned.min().view(np.int32),
            unsigned.max().view(np.int32),
            np.bitwise_and.reduce(list(warp)) | 64,
            np.bitwise_or.reduce(list(warp)),
            np.bitwise_or.reduce([1 << t % 32 for t in warp]).astype(np.uint32).view(np.int32),
        ]
        assert (out[:, warp] == np.array(expected)[:, None]).all()


def test_parts_of_a_warp_go_their_own_ways(kernels: EmulatedKernels) -> None:
    out = np.zeros(64, np.int32)
    run(kernels, "sub_warps", 1, 64, out)
    for t in range(64):
        half = range(t - t % 16, t - t % 16 + 16)
        total = sum(half) + (16000 if t & 16 else 0)
        assert out[t] == (2 if t & 1 else 1) * total


@pytest.mark.parametrize("block", [1, 48, 1024])
def test_votes_of_a_block(kernels: EmulatedKernels, block: int) -> None:
    out = np.zeros((block, 3), np.int32)
    statistics = run(kernels, "block_votes", 2, block, out)
    third = 3 in range(block)
    assert out.tolist() == [[-(-block // 3), 1 if third else 3, 1 if third else 0]] * block
    assert statistics.barriers == 2 * 5


def test_atomics(kernels: EmulatedKernels) -> None:
    ints = np.array([1, 1, -100, 100, 0, 0, -1, 0], np.int32)
    unsigned = np.array([0, 5, 0, 100, 0], np.uint32)
    longs = np.zeros(2, np.uint64)
    floats = np.zeros(34, np.float32)
    floats[1] = -1
    statistics = run(kernels, "atomics", 1, 32, ints, unsigned, longs, floats)
    assert ints.tolist() == [1 + 496, 1 - 32, 21, -10, 31, 32, 0, -1]
    assert unsigned.tolist() == [32, 2**32 + 5 - 32, 2**32 - 1, 5, 32 % 5]
    assert longs.tolist() == [32 << 40, 31 << 33]
    assert floats.tolist() == [16, 31, -1, *range(31)]
    assert statistics.atomics == 17 * 32


def test_arithmetic(kernels: EmulatedKernels) -> None:
    out, real = np.zeros(17, np.int32), np.zeros(12, np.float32)
    run(kernels, "arithmetic", 1, 1, out, real)
    assert out[:15].tolist() == [8, 0, 4, 32, 31, 1, 0x3F800000, -4, 6, 7, 1, 64, 63, 41, 1]
    assert out[15:].tolist() == [0x77004433, 0x01010102]
    f = np.float32
    assert real.tolist() == [
        -(2.0**-46),
        0,  # two roundings: nothing is contracted
        f(1) / f(3),
        2,
        -np.inf,
        np.inf,
        f(np.pi),
        f(0.1) + f(0.2),
        f(0.1) * f(0.2),
        10,
        1.5,
        2.5,
    ]


def test_vectors(kernels: EmulatedKernels) -> None:
    values = np.arange(16, dtype=np.float32).reshape(4, 4)
    out, sizes = np.zeros_like(values), np.zeros(14, np.int32)
    run(kernels, "vectors", 1, 4, values, out, sizes)
    assert (out == values[:, ::-1]).all()
    assert sizes.tolist() == [2, 4, 4, 8, 8, 16, 16, 16, 8, 16, 4, 12, 4, 1 + 2 + 2 + 4]


def test_clocks_move_on_and_repeat(kernels: EmulatedKernels) -> None:
    out, again = np.zeros(2, np.int64), np.zeros(2, np.int64)
    run(kernels, "clocks", 1, 1, out)
    run(kernels, "clocks", 1, 1, again)
    assert out[0] == 1
    assert out.tolist() == again.tolist()


def test_memcpy_and_memset(kernels: EmulatedKernels) -> None:
    values, out = np.arange(37, dtype=np.uint8), np.zeros(40, np.uint8)
    run(kernels, "copies", 1, 1, values, out, 37, shared_bytes=40)
    assert out.tolist() == [*range(37), 7, 7, 7]


def test_asynchronous_copies_arrive_in_groups(kernels: EmulatedKernels) -> None:
    values = np.arange(5 * 32 * 4, dtype=np.float32).reshape(5, 32, 4)
    out = np.zeros(32, np.float32)
    run(kernels, "pipeline", 1, 32, values, out, 5, shared_bytes=2 * 32 * 16)
    assert (out == values.sum((0, 2))).all()


def test_neighbouring_bytes_do_not_race(kernels: EmulatedKernels) -> None:
    out = np.zeros(100, np.uint8)
    run(kernels, "bytes", 1, 100, out, shared_bytes=1024 + 200)
    assert out.tolist() == [(99 - 2 * t) % 256 for t in range(100)]

"""The emulated CUDA language: each construct against results worked out by hand or by NumPy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sw.runtime.cuda.emulation.kernels import (
    EmulatedKernels,
    EmulationError,
    GlobalArray,
    LaunchStatistics,
)

SOURCE = r"""
#ifdef __CUDA_ARCH__
#error "device code of a GPU"
#endif
#ifndef GNARL_EMULATION
#error "not the emulation"
#endif
#define ALL 0xffffffffu

extern __shared__ __align__(16) unsigned char gnarl_shared_memory[];
__device__ const int squares[5] = {0, 1, 4, 9, 16};
__device__ int launches = 0;
__constant__ float third = 1.0f / 3;

template <int N>
static __device__ __forceinline__ int times(int x) { return N * x; }
static __device__ __noinline__ int plus(const int* __restrict__ x) { return *x + 1; }

extern "C" __global__ void __launch_bounds__(1024) indices(int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 1000 * blockIdx.x + threadIdx.x + 0 * warpSize;
    if (i == 0) {
        out[gridDim.x * blockDim.x] = gridDim.x + blockDim.x + gridDim.y + blockDim.z;
        out[gridDim.x * blockDim.x + 1] = threadIdx.y + blockIdx.z + warpSize;
    }
}

extern "C" __global__ void arguments(const int* a, int b, long long c, unsigned long long d, int e,
                                     int f, int g, long long h, const int* i, long long* out) {
    long long values[] = {*a, b, c, (long long)d, e, f, g, h, *i};
    for (int k = 0; k < 9; ++k) out[k] = values[k];
}

extern "C" __global__ void statics(int* out) {
    out[threadIdx.x] = squares[threadIdx.x] + launches;
    if (threadIdx.x == 0) launches += 1;
    int local = times<3>(threadIdx.x);
    out[5 + threadIdx.x] = plus(&local);
    out[10 + threadIdx.x] = __float_as_int(third);
}

// Lane by lane: idx, up, down, xor, of the value lane + 100.
extern "C" __global__ void shuffles(int* out, int width, int operand) {
    int n = blockDim.x, t = threadIdx.x, value = t + 100;
    out[t] = __shfl_sync(ALL, value, operand, width);
    out[n + t] = __shfl_up_sync(ALL, value, operand, width);
    out[2 * n + t] = __shfl_down_sync(ALL, value, operand, width);
    out[3 * n + t] = __shfl_xor_sync(ALL, value, operand, width);
}

extern "C" __global__ void shuffle_types(double* out) {
    int t = threadIdx.x;
    out[t] = __shfl_sync(ALL, 0.1 * t, 31);
    out[32 + t] = __shfl_sync(ALL, 0.5f * t, 31);
    out[64 + t] = __shfl_sync(ALL, -(1LL << 40) - t, 31);
    out[96 + t] = __shfl_sync(ALL, (1ULL << 60) + (t == 31), 31) == (1ULL << 60) + 1;
    out[128 + t] = __shfl_sync(ALL, 0xffffffffu - t, 31);
}

extern "C" __global__ void votes(unsigned* out) {
    int t = threadIdx.x, n = blockDim.x;
    out[t] = __ballot_sync(ALL, t % 3 == 0);
    out[n + t] = __all_sync(ALL, t < 1000) + 2 * __all_sync(ALL, t != 5);
    out[2 * n + t] = __any_sync(ALL, t == 5) + 2 * __any_sync(ALL, t < 0);
    out[3 * n + t] = __match_any_sync(ALL, t / 10);
    out[4 * n + t] = __activemask();
}

extern "C" __global__ void reductions(int* out) {
    int t = threadIdx.x, n = blockDim.x, value = t % 32 - 8;
    out[t] = __reduce_add_sync(ALL, value);
    out[n + t] = __reduce_min_sync(ALL, value);
    out[2 * n + t] = __reduce_max_sync(ALL, value);
    out[3 * n + t] = __reduce_min_sync(ALL, (unsigned)value);
    out[4 * n + t] = __reduce_max_sync(ALL, (unsigned)value);
    out[5 * n + t] = __reduce_and_sync(ALL, (unsigned)t | 64);
    out[6 * n + t] = __reduce_or_sync(ALL, (unsigned)t);
    out[7 * n + t] = __reduce_xor_sync(ALL, 1u << t % 32);
}

// Both halves of each warp, and within them odd and even lanes, go their own ways.
extern "C" __global__ void sub_warps(int* out) {
    int t = threadIdx.x;
    unsigned half = t & 16 ? 0xffff0000u : 0x0000ffffu;
    int value = t;
    if (t & 16) value += 1000;
    for (int d = 8; d; d /= 2) value += __shfl_xor_sync(half, value, d, 16);
    if (t & 1) {
        value += __shfl_sync(half & 0xaaaaaaaau, value, (t & 16) + 1);
        __syncwarp(half & 0xaaaaaaaau);
    } else {
        __syncwarp(half & 0x55555555u);
    }
    __syncwarp();
    out[t] = value;
}

extern "C" __global__ void block_votes(int* out) {
    int t = threadIdx.x;
    out[3 * t] = __syncthreads_count(t % 3 == 0);
    out[3 * t + 1] = __syncthreads_and(t < 1024) + 2 * __syncthreads_and(t != 3);
    out[3 * t + 2] = __syncthreads_or(t == 3) + 2 * __syncthreads_or(0);
}

extern "C" __global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f) {
    int t = threadIdx.x;
    atomicAdd(i, t);
    atomicSub(i + 1, 1);
    atomicMax(i + 2, t - 10);
    atomicMin(i + 3, t - 10);
    atomicExch(i + 4, t);
    atomicCAS(i + 5, t, t + 1);
    atomicAnd(i + 6, ~(1 << t));
    atomicOr(i + 7, 1 << t);
    atomicAdd(u, 1u);
    atomicSub(u + 1, 1u);
    atomicMax(u + 2, (unsigned)(t - 10));
    atomicMin(u + 3, (unsigned)t + 5);
    atomicInc(u + 4, 4u);
    atomicAdd(l, 1ULL << 40);
    atomicMax(l + 1, (unsigned long long)t << 33);
    atomicAdd(f, 0.5f);
    f[2 + t] = atomicExch(f + 1, (float)t);
}

extern "C" __global__ void arithmetic(int* out, float* real) {
    out[0] = __popc(0xf0f0u); out[1] = __ffs(0); out[2] = __ffs(8); out[3] = __clz(0);
    out[4] = __clz(1); out[5] = (int)__brev(1u) == (int)0x80000000; out[6] = __float_as_int(1.0f);
    out[7] = min(3, -4); out[8] = max(3u, 4u) + max(1LL, 2LL); out[9] = abs(-7);
    out[10] = __float_as_uint(-0.0f) == 0x80000000u; out[11] = __popcll(~0ULL);
    out[12] = __clzll(1); out[13] = __ffsll(1LL << 40); out[14] = __brev(0x12345678u) == 0x1e6a2c48;
    real[0] = fmaf(1.0f + 0x1p-23f, 1.0f - 0x1p-23f, -1.0f);
    real[1] = (1.0f + 0x1p-23f) * (1.0f - 0x1p-23f) - 1.0f;
    real[2] = __fdiv_rn(1.0f, 3.0f); real[3] = fmaxf(NAN, 2.0f); real[4] = fminf(1.0f, -INFINITY);
    real[5] = __int_as_float(0x7f800000); real[6] = __uint_as_float(0x40490fdbu);
    real[7] = __fadd_rn(0.1f, 0.2f); real[8] = __fmul_rn(0.1f, 0.2f);
    real[9] = __fmaf_rn(2.0f, 3.0f, 4.0f); real[10] = min(1.5f, 2.5f); real[11] = abs(-2.5f);
}

extern "C" __global__ void vectors(const float4* in, float4* out, int* sizes) {
    float4 v = __ldg(in + threadIdx.x);
    __stcs(out + threadIdx.x, make_float4(v.w, v.z, v.y, v.x));
    int values[] = {alignof(char2), alignof(char4), alignof(short2), alignof(short4), alignof(int2),
                    alignof(int4), alignof(uint4), alignof(longlong2), alignof(float2),
                    alignof(double2), alignof(float3), sizeof(float3), sizeof(uchar4)};
    for (int i = 0; i < 13; ++i) sizes[i] = values[i];
    int2 pair = make_int2(1, 2);
    __stcg(sizes + 13, pair.x + pair.y + __ldcg(sizes) + __ldcs(sizes + 1));
}

extern "C" __global__ void clocks(long long* out) {
    long long before = clock64();
    unsigned long long timer = gnarl_emulation_globaltimer();
    out[1] = 0;
    out[0] = clock64() > before && gnarl_emulation_globaltimer() > timer;
    __threadfence_block();
    out[1] = clock64();
}

extern "C" __global__ void copies(const unsigned char* in, unsigned char* out, int bytes) {
    memcpy(gnarl_shared_memory, in, bytes);
    memset(gnarl_shared_memory + bytes, 7, 3);
    memcpy(out, gnarl_shared_memory, bytes + 3);
}

// Two stages of 16 bytes for each thread, one on its way while the other is summed.
extern "C" __global__ void pipeline(const float4* in, float* out, int steps) {
    float4* stage = reinterpret_cast<float4*>(gnarl_shared_memory) + 2 * threadIdx.x;
    float sum = 0;
    gnarl_emulation_copy_async(stage, in + threadIdx.x, 16);
    gnarl_emulation_commit();
    for (int i = 0; i < steps; ++i) {
        if (i + 1 < steps)
            gnarl_emulation_copy_async(stage + (i + 1) % 2,
                                       in + (i + 1) * blockDim.x + threadIdx.x, 16);
        gnarl_emulation_commit();
        gnarl_emulation_wait(1);
        float4 v = stage[i % 2];
        sum += v.x + v.y + v.z + v.w;
    }
    out[threadIdx.x] = sum;
}

// Neighbours write neighbouring bytes: no race.
extern "C" __global__ void bytes(unsigned char* out) {
    int t = threadIdx.x, n = blockDim.x;
    gnarl_shared_memory[t] = t;
    short* halves = reinterpret_cast<short*>(gnarl_shared_memory + 1024);
    halves[t] = -t;
    __syncthreads();
    out[t] = gnarl_shared_memory[n - 1 - t] + halves[t];
}

extern "C" __global__ void tree_sum(const int* in, int* out, int n) {
    int* sums = reinterpret_cast<int*>(gnarl_shared_memory);
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int live = blockDim.x; live > 1;) {
        int half = (live + 1) / 2;
        if (t + half < live) sums[t] += sums[t + half];
        live = half;
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sums[0];
}

// One buffer is read while the other is written; a barrier a step.
extern "C" __global__ void scan(const int* in, int* out, int n) {
    int* buffer = reinterpret_cast<int*>(gnarl_shared_memory);
    int t = threadIdx.x, from = 0;
    buffer[t] = t < n ? in[t] : 0;
    for (int d = 1; d < (int)blockDim.x; d *= 2, from ^= 1) {
        __syncthreads();
        int* read = buffer + from * blockDim.x;
        int* write = buffer + (from ^ 1) * blockDim.x;
        write[t] = read[t] + (t >= d ? read[t - d] : 0);
    }
    if (t < n) out[t] = buffer[from * blockDim.x + t];
}

// Partial sums by shuffles, sums of warps in shared memory, the last block adds up the blocks'.
extern "C" __global__ void total(const int* in, int* partial, unsigned* tickets, int* out, int n) {
    int* sums = reinterpret_cast<int*>(gnarl_shared_memory);
    int* last = sums + 32;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, value = i < n ? in[i] : 0;
    for (int d = 16; d; d /= 2) value += __shfl_down_sync(ALL, value, d);
    if (t % 32 == 0) sums[t / 32] = value;
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int w = 0; w < (int)blockDim.x / 32; ++w) sum += sums[w];
        partial[blockIdx.x] = sum;
        __threadfence();
        *last = atomicAdd(tickets, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (*last && t == 0) {
        int sum = 0;
        for (int b = 0; b < (int)gridDim.x; ++b) sum += partial[b];
        *out = sum;
    }
}
"""


@pytest.fixture(scope="module")
def kernels() -> EmulatedKernels:
    return EmulatedKernels(SOURCE)


def run(
    kernels: EmulatedKernels,
    kernel: str,
    grid: int,
    block: int,
    *arguments: object,
    shared_bytes: int = 0,
) -> LaunchStatistics:
    """Launches with arrays as writable memory and Python integers as 32-bit arguments."""
    return kernels.launch(
        kernel,
        grid,
        block,
        [
            GlobalArray(f"argument {index}", argument, writable=True)
            if isinstance(argument, np.ndarray)
            else np.int32(argument)
            if isinstance(argument, int)
            else argument
            for index, argument in enumerate(arguments)
        ],
        shared_bytes=shared_bytes,
    )


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
    out, real = np.zeros(15, np.int32), np.zeros(12, np.float32)
    run(kernels, "arithmetic", 1, 1, out, real)
    assert out.tolist() == [8, 0, 4, 32, 31, 1, 0x3F800000, -4, 6, 7, 1, 64, 63, 41, 1]
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


integers = st.lists(st.integers(-(2**20), 2**20), min_size=1, max_size=300)


@settings(deadline=None, max_examples=50)
@given(values=integers, block=st.integers(1, 200))
def test_tree_sums(kernels: EmulatedKernels, values: list[int], block: int) -> None:
    grid = -(-len(values) // block)
    out = np.zeros(grid, np.int32)
    array = np.array(values, np.int32)
    run(kernels, "tree_sum", grid, block, array, out, len(values), shared_bytes=4 * block)
    assert out.tolist() == [sum(values[b * block : (b + 1) * block]) for b in range(grid)]


@settings(deadline=None, max_examples=50)
@given(values=integers, surplus=st.integers(0, 70))
def test_scans_with_two_buffers(kernels: EmulatedKernels, values: list[int], surplus: int) -> None:
    block = len(values) + surplus
    array = np.array(values, np.int32)
    out = np.zeros_like(array)
    run(kernels, "scan", 1, block, array, out, len(values), shared_bytes=8 * block)
    assert (out == np.cumsum(array)).all()


@settings(deadline=None, max_examples=50)
@given(values=integers, warps=st.integers(1, 4))
def test_the_last_block_adds_up(kernels: EmulatedKernels, values: list[int], warps: int) -> None:
    block = 32 * warps
    grid = -(-len(values) // block)
    partial, out = np.zeros(grid, np.int32), np.zeros(1, np.int32)
    tickets, array = np.zeros(1, np.uint32), np.array(values, np.int32)
    arguments = (array, partial, tickets, out, len(values))
    run(kernels, "total", grid, block, *arguments, shared_bytes=4 * 33)
    assert out[0] == sum(values)


def test_statistics_count_what_the_threads_do(kernels: EmulatedKernels) -> None:
    values, out = np.ones(256, np.int32), np.zeros(2, np.int32)

    def launch() -> LaunchStatistics:
        return run(kernels, "tree_sum", 2, 128, values, out, 256, shared_bytes=512)

    # 127 additions a block, each of two loads and a store; one store and 1 + 7 barriers before.
    assert launch() == LaunchStatistics(
        blocks=2,
        threads=256,
        global_loads=256,
        global_stores=2,
        global_load_bytes=1024,
        global_store_bytes=8,
        shared_loads=2 * (2 * 127 + 1),
        shared_stores=2 * (128 + 127),
        atomics=0,
        barriers=2 * 8,
        warp_operations=0,
    )
    assert launch() == launch()


def test_headers_and_macros_are_part_of_the_build(tmp_path: Path) -> None:
    header = tmp_path / "value.h"
    source = '#include "value.h"\nextern "C" __global__ void k(int* out) { *out = VALUE + EXTRA; }'
    out = np.zeros(1, np.int32)
    for value, extra in ((1, 10), (2, 10), (2, 20)):
        header.write_text(f"#define VALUE {value}\n")
        kernels = EmulatedKernels(source, [tmp_path], {"EXTRA": str(extra)})
        run(kernels, "k", 1, 1, out)
        assert out[0] == value + extra


def test_sources_that_do_not_compile_are_refused() -> None:
    with pytest.raises(EmulationError) as raised:
        EmulatedKernels('extern "C" __global__ void k() {\n  nonsense();\n}', name="my model")
    assert str(raised.value) == (
        "my model: c++ failed: my_model.cu:2:3: error: ‘nonsense’ was not declared in this scope"
    )
    # It would be every thread's own.
    static = 'extern "C" __global__ void k() { __shared__ int own[2]; own[0] = 1; }'
    with pytest.raises(EmulationError, match=r"^my model: c\+\+ failed: .*‘own’ must be public$"):
        EmulatedKernels(static, name="my model")
    with pytest.raises(EmulationError, match=r"^my model: c\+\+ failed: .*undefined.*nowhere"):
        EmulatedKernels(
            'void nowhere(); extern "C" __global__ void k() { nowhere(); }', name="my model"
        )


def test_a_missing_compiler_is_named() -> None:
    script = "from sw.runtime.cuda.emulation.kernels import EmulatedKernels; EmulatedKernels('')"
    done = subprocess.run(
        [sys.executable, "-c", script], env={"PATH": ""}, capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == (
        "sw.runtime.cuda.emulation.kernels.EmulationError: "
        "c++ is not installed: the emulation of CUDA kernels needs it"
    )

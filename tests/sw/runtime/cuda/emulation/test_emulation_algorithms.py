"""Algorithms of many threads in the emulation, against NumPy, and what their statistics count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, LaunchStatistics
from tests.support.cuda.emulated_launch import run

SOURCE = r"""
#define ALL 0xffffffffu
extern __shared__ __align__(16) unsigned char gnarl_shared_memory[];

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
    return EmulatedKernels(SOURCE, name="algorithms")


integers = st.lists(st.integers(-(2**20), 2**20), min_size=1, max_size=300)


@settings(deadline=None, max_examples=25)
@given(values=integers, block=st.integers(1, 200))
def test_tree_sums(kernels: EmulatedKernels, values: list[int], block: int) -> None:
    grid = -(-len(values) // block)
    out = np.zeros(grid, np.int32)
    array = np.array(values, np.int32)
    run(kernels, "tree_sum", grid, block, array, out, len(values), shared_bytes=4 * block)
    assert out.tolist() == [sum(values[b * block : (b + 1) * block]) for b in range(grid)]


@settings(deadline=None, max_examples=25)
@given(values=integers, surplus=st.integers(0, 70))
def test_scans_with_two_buffers(kernels: EmulatedKernels, values: list[int], surplus: int) -> None:
    block = len(values) + surplus
    array = np.array(values, np.int32)
    out = np.zeros_like(array)
    run(kernels, "scan", 1, block, array, out, len(values), shared_bytes=8 * block)
    assert (out == np.cumsum(array)).all()


@settings(deadline=None, max_examples=25)
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

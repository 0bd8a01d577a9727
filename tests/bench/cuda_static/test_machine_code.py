"""Machine code on the CPU: counts that follow from small kernels' source, and values that the
emulation of the same source has."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from bench.cuda_static_parts import sass
from bench.cuda_static_parts.machine.kernels import Bursts, Counts, MachineCode, MachineCodeError
from gnarl.sw.compiler.cuda.nvrtc import compile_kernel
from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, GlobalArray

pytest.importorskip("cuda.bindings.nvrtc", reason="needs gnarl[cuda]")
pytestmark = pytest.mark.skipif(sass.nvdisasm() is None, reason="needs nvidia-cuda-nvdisasm")

SOURCE = r"""
#define ALL 0xffffffffu
extern __shared__ __align__(16) unsigned char gnarl_shared_memory[];

extern "C" __global__ void plain_loop(const int* lengths, const float* values, float* out) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x, length = lengths[t];
  float total = 0;
#pragma unroll 1
  for (int i = 0; i < length; ++i) total += values[i * 64 + t];
  out[t] = total;
}

extern "C" __global__ void unrolled_loop(const int* lengths, const float* values, float* out) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x, length = lengths[t];
  float total = 0;
#pragma unroll 4
  for (int i = 0; i < length; ++i) total += values[i * 64 + t];
  out[t] = total;
}

// Loads of a round are on their way together; those past the end load nothing.
extern "C" __global__ void rounds(const int* lengths, const float* values, float* out) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x, length = lengths[t];
  float total = 0;
#pragma unroll 1
  for (int i = 0; i < length; i += 4) {
    float loaded[4] = {};
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      if (i + u < length) loaded[u] = __ldg(values + (i + u) * 64 + t);
    }
#pragma unroll
    for (int u = 0; u < 4; ++u) total += loaded[u];
  }
  out[t] = total;
}

// Lanes take different ways, in each another number of additions, and meet again.
extern "C" __global__ void ways(const int* lengths, const float* values, float* out) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x, length = lengths[t];
  float total = values[t];
  if (length % 2) {
#pragma unroll 1
    for (int i = 0; i < length; ++i) {
      total += 1.5f;
      if (total > values[64 + i]) break;
    }
  } else if (length % 4) {
#pragma unroll 1
    for (int i = 0; i < 3; ++i) total *= 2.0f;
  }
  __syncwarp();
  total += __shfl_xor_sync(ALL, total, 5);
  if (length > 6) return;
  out[t] = total;
}

extern "C" __global__ void arithmetic(const int* in, int* out, int n) {
  const int t = threadIdx.x;
  const int a = in[t], b = in[(t * 7 + 3) % n];
  const unsigned u = a, v = b;
  int* to = out + t * 24;
  to[0] = b ? a / b : 0;
  to[1] = v ? u % v : 0;
  to[2] = min(a, b) + max(u, v) + max(min(a + b, 77), 0) + max(max(a, b), 0);
  to[3] = static_cast<int>(static_cast<long long>(a) * b >> 32);
  to[4] = static_cast<int>(static_cast<unsigned long long>(u) * v >> 17);
  const long long wide = (static_cast<long long>(a) << 20) - b;
  to[5] = wide < 3 * static_cast<long long>(b) << 18;
  to[6] = static_cast<int>(wide >> 13);
  to[7] = __popc(u) + __clz(b) + __ffs(a);
  to[8] = static_cast<int>(__brev(u));
  to[9] = static_cast<int>(__byte_perm(u, v, 0x3715));
  to[10] = (a ^ b) & ~(a | 0x1234);
  to[11] = u > v ? a << (b & 15) : b >> (a & 15);
  const float x = static_cast<float>(a), y = static_cast<float>(u & 0xffff) + 1.0f;
  to[12] = __float_as_int(__fdiv_rn(x, y));
  to[13] = __float_as_int(fmaf(x, 0.25f, -y));
  to[14] = __float_as_int(fmaxf(x, -y) - fminf(fabsf(x), 7.0f));
  to[15] = static_cast<int>(y * 0.3f);
  to[16] = static_cast<int>(__ballot_sync(ALL, a > b)) + (__any_sync(ALL, a == 7) ? 3 : 5) +
           (__all_sync(ALL, b != 7) ? 11 : 13);
  to[17] = __shfl_up_sync(ALL, a, 3, 16) + __shfl_sync(ALL, b, t + 1, 8);
  to[18] = __shfl_down_sync(ALL, a, 2) - __shfl_xor_sync(ALL, b, 9);
  to[19] = static_cast<int>(__reduce_add_sync(ALL, u));
  to[20] = static_cast<int>(__match_any_sync(ALL, a & 3));
  int kept[4] = {a, b, a + b, a - b};
  to[21] = kept[u & 3];
  to[22] = static_cast<int>((static_cast<unsigned long long>(u) * 0x100000001ull) % (v | 1u));
  to[23] = static_cast<signed char>(a) + static_cast<short>(b);
}

// Sums of blocks; the last block adds them up.
extern "C" __global__ void total(const int* in, int* sums, unsigned* tickets, int* out) {
  int* shared = reinterpret_cast<int*>(gnarl_shared_memory);
  const int t = threadIdx.x;
  shared[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int half = blockDim.x / 2; half; half /= 2) {
    if (t < half) shared[t] += shared[t + half];
    __syncthreads();
  }
  bool last = false;
  if (t == 0) {
    atomicAdd(sums, shared[0]);
    __threadfence();
    last = atomicAdd(tickets, 1u) == gridDim.x - 1;
  }
  const int odd = __syncthreads_count(t % 2);
  if (__syncthreads_or(last) && t == 0) out[0] = sums[0] + odd;
}

extern "C" __global__ void past_the_end(const int* in, int* out) { out[threadIdx.x] = in[99]; }

extern "C" __global__ void doubles(const double* in, double* out) { out[0] = in[0] + in[1]; }
"""
LENGTHS = np.array([(7 * at) % 13 for at in range(64)], np.int32)
VALUES = np.random.default_rng(0).integers(-8, 9, (13, 64)).astype(np.float32)


@pytest.fixture(scope="module")
def cubin() -> bytes:
    return compile_kernel(SOURCE, "sm_90", kernel="plain_loop").cubin


@pytest.fixture(scope="module")
def emulated() -> EmulatedKernels:
    source = SOURCE[: SOURCE.index('extern "C" __global__ void past_the_end')]
    return EmulatedKernels(source, name="machine_code")


def pooled(cubin: bytes, kernel: str, marked: frozenset[int] = frozenset()) -> MachineCode:
    """The kernel, after two blocks of a warp have pooled ``VALUES``."""
    machine = MachineCode(cubin, kernel, multiprocessors=2, marked=marked)
    out = GlobalArray("out", np.zeros(64, np.float32), True)
    machine.launch(kernel, 2, 32, [GlobalArray("n", LENGTHS), GlobalArray("v", VALUES), out])
    expected = [VALUES[:length, at].sum() for at, length in enumerate(LENGTHS)]
    assert out.array.tolist() == expected
    return machine


def executed(machine: MachineCode, names: Iterable[str]) -> tuple[int, int, int]:
    """Instructions of those names: by warps, their lanes, and those whose predicate held."""
    at = [number for number, each in enumerate(machine.code) if each.name in names]
    counts: Counts = machine.counts
    return (
        int(counts.executed[at].sum()),
        int(counts.active[at].sum()),
        int(counts.effective[at].sum()),
    )


def test_a_warp_goes_round_as_often_as_its_longest_lane(cubin: bytes) -> None:
    longest = LENGTHS.reshape(2, 32).max(axis=1).sum()
    machine = pooled(cubin, "plain_loop")
    assert executed(machine, ["FADD"]) == (longest, LENGTHS.sum(), LENGTHS.sum())
    assert executed(machine, ["LDG"]) == (longest + 2, LENGTHS.sum() + 64, LENGTHS.sum() + 64)
    assert executed(machine, ["STG"]) == (2, 64, 64)


def test_copies_of_an_unrolled_loop_add_up(cubin: bytes) -> None:
    machine = pooled(cubin, "unrolled_loop")
    assert sum(each.name == "FADD" for each in machine.code) > 1
    assert executed(machine, ["FADD"])[2] == LENGTHS.sum()


def test_loads_of_a_round_are_a_burst(cubin: bytes) -> None:
    code = sass.disassemble(cubin, "rounds")
    loads = frozenset(at for at, each in enumerate(code) if each.opcode.endswith("CONSTANT"))
    loads = frozenset(at for at in loads if code[at].predicate)
    assert len(loads) == 4
    machine = pooled(cubin, "rounds", loads)
    rounds = -(-LENGTHS.reshape(2, 32).max(axis=1) // 4)
    at = sorted(loads)
    assert machine.counts.executed[at].tolist() == [rounds.sum()] * 4
    assert machine.counts.effective[at].sum() == LENGTHS.sum()
    found: Bursts = machine.counts.bursts
    assert found.bursts == rounds.sum()
    assert found.useful_bytes == 4 * LENGTHS.sum()
    assert found.whole_bytes == 128 * found.loads


def test_lanes_that_part_meet_again(cubin: bytes, emulated: EmulatedKernels) -> None:
    outs = [GlobalArray("out", np.zeros(64, np.float32), True) for _ in range(2)]
    inputs = [GlobalArray("n", LENGTHS), GlobalArray("v", VALUES)]
    machine = MachineCode(cubin, "ways", multiprocessors=2)
    machine.launch("ways", 2, 32, [*inputs, outs[0]])
    emulated.launch("ways", 2, 32, [*inputs, outs[1]])
    assert outs[0].array.tolist() == outs[1].array.tolist()
    assert executed(machine, ["SHFL"]) == (2, 64, 64)
    assert executed(machine, ["STG"])[2] == (LENGTHS <= 6).sum()


def test_arithmetic_has_the_emulations_bits(cubin: bytes, emulated: EmulatedKernels) -> None:
    random = np.random.default_rng(1)
    numbers = random.integers(-(2**31), 2**31, 32) >> random.integers(0, 31, 32)
    given = GlobalArray("in", numbers.astype(np.int32))
    outs = [GlobalArray("out", np.zeros(32 * 24, np.int32), True) for _ in range(2)]
    machine = MachineCode(cubin, "arithmetic", multiprocessors=1)
    machine.launch("arithmetic", 1, 32, [given, outs[0], np.int32(32)])
    emulated.launch("arithmetic", 1, 32, [given, outs[1], np.int32(32)])
    wrong = (outs[0].array != outs[1].array).reshape(32, 24).any(axis=0)
    assert not np.flatnonzero(wrong).tolist()


def test_blocks_share_memory_and_meet_at_barriers(cubin: bytes) -> None:
    given = np.arange(8 * 128, dtype=np.int32)
    sums, tickets, out = (
        GlobalArray(name, np.zeros(1, np.int32), True) for name in ("sums", "tickets", "out")
    )
    machine = MachineCode(cubin, "total", multiprocessors=3)
    arguments = [GlobalArray("in", given), sums, tickets, out]
    machine.launch("total", 8, 128, arguments, shared_bytes=512)
    assert out.array[0] == given.sum() + 64


def test_what_machine_code_may_not_do_is_named(cubin: bytes) -> None:
    arrays = [GlobalArray("in", np.zeros(99, np.int32)), GlobalArray("out", np.zeros(99))]
    machine = MachineCode(cubin, "past_the_end", multiprocessors=1)
    with pytest.raises(MachineCodeError, match=r"LDG.* outside the launch's arrays"):
        machine.launch("past_the_end", 1, 32, arrays)
    arrays[0] = GlobalArray("in", np.zeros(100, np.int32))
    with pytest.raises(MachineCodeError, match=r"STG.* read-only memory"):
        machine.launch("past_the_end", 1, 32, arrays)
    machine = MachineCode(cubin, "doubles", multiprocessors=1)
    with pytest.raises(MachineCodeError, match=r"DADD .*not known"):
        machine.launch("doubles", 1, 32, arrays)

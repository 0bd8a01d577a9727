"""What the emulation refuses, by the whole text; and that a refusal leaves it healthy."""

from __future__ import annotations

import platform

import numpy as np
import pytest

from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, EmulationError, GlobalArray

# Lines are named by the comments at their ends.
SOURCE = r"""
#define ALL 0xffffffffu
extern __shared__ __align__(16) unsigned char gnarl_shared_memory[];
#define ints reinterpret_cast<int*>(gnarl_shared_memory)

extern "C" __global__ void good(const int* in, int* out) {
    ints[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = ints[blockDim.x - 1 - threadIdx.x] + __shfl_xor_sync(ALL, 1, 1);
}

// One access of `what`: 0 to 3 are loads, 4 to 7 are stores, of 1, 2, 4, 8 bytes at byte `offset`.
extern "C" __global__ void access(unsigned char* at, int what, long long offset) {
    if (threadIdx.x != 5 || blockIdx.x != 1) return;
    at += offset;
    if (what == 0) *(volatile char*)at;
    if (what == 1) *(volatile short*)at;
    if (what == 2) *(volatile int*)at;  // load
    if (what == 3) *(volatile long long*)at;
    if (what == 4) *(volatile char*)at = 1;
    if (what == 5) *(volatile short*)at = 1;
    if (what == 6) *(volatile int*)at = 1;  // store
    if (what == 7) *(volatile long long*)at = 1;
    if (what == 8) *(float4*)at = make_float4(1, 2, 3, 4);  // vector
    if (what == 9) atomicAdd((int*)at, 1);  // atomic
    if (what == 10) memcpy(at, at + 8, 6);  // memcpy
}

extern "C" __global__ void follow(int* const* table) { **table = 1; }  // followed

extern "C" __global__ void shared_store(int index) { ints[index] = 1; }  // shared store
extern "C" __global__ void shared_load(int* out, int index) {
    gnarl_shared_memory[0] = 1;
    ints[1] = 1;
    *out = ints[index];  // shared load
}
// Block 0 writes, block 1 expects to find it.
extern "C" __global__ void left_over(int* out) {
    if (blockIdx.x == 0) ints[0] = 1;
    *out = ints[0];  // left over
}

extern "C" __global__ void two_warps(int what) {
    int t = threadIdx.x;
    if (t == 0) ints[0] = 1;  // first
    if (what == 0 && t == 40) ints[0] = 2;  // second store
    if (what == 1) __syncthreads();
    if (what == 1 && t == 1) ints[0] += 2;  // update
    if (what == 1 && t == 40 && ints[0]) ints[1] = 2;  // second load
    if (what == 2 && t == 40) atomicAdd(ints, 2);  // second atomic
    if (what == 3) {
        __syncthreads();
        if (t == 1) atomicAdd(ints, 2);  // first atomic
        if (t == 40) ints[0] = 3;  // after atomic
    }
}
// Lanes without __syncwarp, with one of too few, with a shuffle in its place, and with it.
extern "C" __global__ void one_warp(int* out, int what) {
    int t = threadIdx.x;
    ints[t] = 0;
    __syncthreads();
    ints[t] = t;  // lane store
    if (what == 1 && t < 16) __syncwarp(0xffff);
    if (what == 2) __shfl_sync(ALL, t, 0);
    if (what == 3) __syncwarp();
    *out = ints[(t + 16) % 32];  // lane load
}
extern "C" __global__ void late_reader(int* out) {
    int t = threadIdx.x;
    ints[t] = t;
    __syncthreads();
    if (t == 3) *out = ints[0];  // read early
    if (t == 4) ints[0] = 1;  // overwrites
}

extern "C" __global__ void copy(const int* in, int* out, int what) {
    int t = threadIdx.x;
    gnarl_emulation_copy_async(ints + t, in + t, what == 0 ? 3 : 4);  // copy
    gnarl_emulation_commit();
    gnarl_emulation_copy_async(ints + 32 + t, in + t, 4);
    gnarl_emulation_commit();
    if (what == 2) gnarl_emulation_wait(2);
    if (what >= 3) gnarl_emulation_wait(1);
    if (what == 4) __syncthreads();
    out[t] = ints[what == 3 ? 31 - t : what == 4 ? 63 - t : t];  // copied
}
extern "C" __global__ void copy_elsewhere(const int* in, int* out) {
    gnarl_emulation_copy_async(out, in, 4);  // elsewhere
}

extern "C" __global__ void barriers(int what) {
    int t = threadIdx.x;
    if (what == 0) {
        if (t == 7) return;
        __syncthreads();  // left
    } else if (what == 1) {
        if (t < 32) __syncthreads();  // low
        else __syncthreads();  // high
    } else if (what == 2) {
        if (t < 32) __syncthreads_count(1); else __syncthreads_or(1);  // kinds
    }
}
extern "C" __global__ void masks(int what) {
    int t = threadIdx.x;
    if (what == 0) {
        if (t == 7) return;
        __syncwarp();  // without 7
    } else if (what == 1) {
        if (t == 7) __syncthreads();  // at the barrier
        __shfl_sync(ALL, 0, 0);  // not at the barrier
    } else if (what == 2) {
        __shfl_sync(0xfffffffe, 0, 1);  // not itself
    } else if (what == 3) {
        __ballot_sync(t < 16 ? 0xffff : ALL, 1);  // disagree
    } else if (what == 4) {
        if (t < 16) __any_sync(ALL, 1); else __all_sync(ALL, 1);  // operations
    } else if (what == 5) {
        if (t < 16) __shfl_down_sync(0xffff, 0, 4);  // down
    } else if (what == 6) {
        __shfl_sync(ALL, 0, 0, 12);  // width
    } else if (what == 7) {
        // 40 waits for 41, which waits for 42, which is gone.
        if (t == 42) return;
        if (t == 40) __syncwarp(3 << 8);  // 40 and 41
        if (t == 41) __syncwarp(3 << 9);  // 41 and 42
    } else if (what == 8) {
        __shfl_xor_sync(ALL, 0, 16);  // short warp
    }
}

extern "C" __global__ void trap() { if (threadIdx.x == 3) __trap(); }  // trap
extern "C" __global__ void divide(int* out, int by) { *out = 7 / by; }
static __device__ __noinline__ int deep(volatile int* in, int n) {
    volatile int local[100] = {};
    return n ? deep(in, n - 1) + local[n % 100] : *in;
}
extern "C" __global__ void recursion(int* in, int n) { *in = deep(in, n); }
extern "C" __global__ void lock(int* at) {
    while (atomicCAS(at, 0, 1)) {}  // lock
    __syncthreads();
}
extern "C" __global__ void spin() {
    if (threadIdx.x == 1) ints[0] = 1;
    volatile int* flag = ints;
    if (threadIdx.x == 0) ints[0] = 0;
    while (!*flag) {}  // spin
}
"""


@pytest.fixture(scope="module")
def kernels() -> EmulatedKernels:
    return EmulatedKernels(SOURCE, name="errors")


def at(comment: str) -> str:
    """The place of the source line that ends in ``comment``."""
    numbers = [
        number
        for number, line in enumerate(SOURCE.splitlines(), 1)
        if line.endswith(f"// {comment}")
    ]
    assert len(numbers) == 1
    return f"errors.cu:{numbers[0]}"


def refused(
    kernels: EmulatedKernels,
    kernel: str,
    block: int,
    *arguments: object,
    grid: int = 1,
    shared_bytes: int = 256,
) -> str:
    """What launching says past the kernel's name. After it a good launch must do well."""
    given = [
        np.int32(argument) if isinstance(argument, int) else argument for argument in arguments
    ]
    with pytest.raises(EmulationError) as raised:
        kernels.launch(kernel, grid, block, given, shared_bytes=shared_bytes)
    values, out = np.arange(40, dtype=np.int32), np.zeros(40, np.int32)
    arrays = [GlobalArray("in", values), GlobalArray("out", out, writable=True)]
    kernels.launch("good", 3, 40, arrays, shared_bytes=160)
    assert (out == values[::-1] + 1).all()
    prefix, _, text = str(raised.value).partition(f": {kernel}: ")
    assert prefix == "errors"
    return text


def array(name: str, count: int = 64, writable: bool = True) -> GlobalArray:
    return GlobalArray(name, np.zeros(count, np.int32), writable)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize("distance", [-64, -1, 0, 64])
def test_accesses_outside_the_arrays(
    kernels: EmulatedKernels, size: int, store: bool, distance: int
) -> None:
    # Inside a larger allocation, so that no other array of the process lies nearer.
    memory = np.zeros(1024, np.uint8)
    given = GlobalArray("values", memory[256:768], writable=True)
    offset = distance * size if distance < 0 else 512 + distance * size
    what = size.bit_length() - 1 + 4 * store
    text = refused(kernels, "access", 8, given, what, np.int64(offset), grid=2)
    place, _, rest = text.partition(" (errors.cu:")
    verb = "writes" if store else "reads"
    assert place == f"block 1: thread 5 {verb} {size} bytes at byte {offset} of values"
    assert rest.partition("), ")[2] == "which has 512 bytes"


def test_an_access_that_begins_inside_an_array_and_ends_outside(kernels: EmulatedKernels) -> None:
    memory = np.zeros(32, np.uint8)
    given = GlobalArray("values", memory[:14], writable=True)
    assert refused(kernels, "access", 8, given, 2, np.int64(12), grid=2) == (
        f"block 1: thread 5 reads 4 bytes at byte 12 of values ({at('load')}), which has 14 bytes"
    )
    assert refused(kernels, "access", 8, given, 10, np.int64(1), grid=2) == (
        f"block 1: thread 5 reads 6 bytes at byte 9 of values ({at('memcpy')}), which has 14 bytes"
    )


def test_the_null_pointer(kernels: EmulatedKernels) -> None:
    empty = np.uint64(0)
    assert refused(kernels, "access", 8, empty, 6, np.int64(0), grid=2) == (
        f"block 1: thread 5 writes 4 bytes at address 0x0 ({at('store')}), "
        "which is in no array of the launch"
    )


def test_writes_to_what_is_read_only(kernels: EmulatedKernels) -> None:
    given = array("values", writable=False)
    assert refused(kernels, "access", 8, given, 6, np.int64(16), grid=2) == (
        f"block 1: thread 5 writes 4 bytes at byte 16 of values ({at('store')}), which is read-only"
    )
    assert refused(kernels, "access", 8, given, 9, np.int64(16), grid=2) == (
        f"block 1: thread 5 updates 4 bytes at byte 16 of values ({at('atomic')}), "
        "which is read-only"
    )


def test_misaligned_accesses(kernels: EmulatedKernels) -> None:
    given = array("values")
    assert refused(kernels, "access", 8, given, 2, np.int64(6), grid=2) == (
        f"block 1: thread 5 accesses byte 6 of values ({at('load')}), "
        "which is not aligned to 4 bytes"
    )
    assert refused(kernels, "access", 8, given, 8, np.int64(8), grid=2) == (
        f"block 1: thread 5 accesses byte 8 of values ({at('vector')}), "
        "which is not aligned to 16 bytes"
    )
    assert refused(kernels, "access", 8, given, 9, np.int64(2), grid=2) == (
        f"block 1: thread 5 updates 4 bytes at byte 2 of values ({at('atomic')}), "
        "which is not aligned to 4 bytes"
    )


def test_memory_reached_by_an_argument_table(kernels: EmulatedKernels) -> None:
    target = array("target")
    table = GlobalArray("table", np.array([target.array.ctypes.data], np.uint64))
    kernels.launch("follow", 1, 1, [table], memory=[target])
    assert target.array[0] == 1
    with pytest.raises(EmulationError, match=r"block 0: thread 0 writes 4 bytes at "):
        kernels.launch("follow", 1, 1, [table])


def test_shared_memory_beyond_the_launch(kernels: EmulatedKernels) -> None:
    assert refused(kernels, "shared_store", 1, 16, shared_bytes=64) == (
        f"block 0: thread 0 writes 4 bytes at byte 64 of shared memory ({at('shared store')}), "
        "of which the launch has 64"
    )
    assert refused(kernels, "shared_store", 1, 0, shared_bytes=2) == (
        f"block 0: thread 0 writes 4 bytes at byte 0 of shared memory ({at('shared store')}), "
        "of which the launch has 2"
    )


@pytest.mark.parametrize("index", [0, 2])
def test_shared_memory_that_was_not_written(kernels: EmulatedKernels, index: int) -> None:
    # Of word 0 one byte was written, of word 2 none.
    kernels.launch("shared_load", 1, 1, [array("out"), np.int32(1)], shared_bytes=64)
    assert refused(kernels, "shared_load", 1, array("out"), index) == (
        f"block 0: thread 0 reads 4 bytes at byte {4 * index} of shared memory "
        f"({at('shared load')}), not all of which was written in this block"
    )


def test_shared_memory_that_an_earlier_block_wrote(kernels: EmulatedKernels) -> None:
    assert refused(kernels, "left_over", 1, array("out"), grid=2) == (
        f"block 1: thread 0 reads 4 bytes at byte 0 of shared memory ({at('left over')}), "
        "not all of which was written in this block"
    )


RACES = [
    (0, "writes", "second store", "thread 0 wrote", "first"),
    (1, "reads", "second load", "thread 1 wrote", "update"),
    (2, "updates", "second atomic", "thread 0 wrote", "first"),
    (3, "writes", "after atomic", "thread 1 updated", "first atomic"),
]


@pytest.mark.parametrize("what,verb,second,rival,first", RACES)
def test_races_of_two_warps(
    kernels: EmulatedKernels, what: int, verb: str, second: str, rival: str, first: str
) -> None:
    assert refused(kernels, "two_warps", 64, what) == (
        f"block 0: thread 40 {verb} 4 bytes at byte 0 of shared memory ({at(second)}), "
        f"which {rival} ({at(first)}) with no barrier between"
    )


def test_lanes_of_a_warp_race_without_syncwarp(kernels: EmulatedKernels) -> None:
    kernels.launch("one_warp", 1, 32, [array("out"), np.int32(3)], shared_bytes=128)
    for what in (0, 1):
        assert refused(kernels, "one_warp", 32, array("out"), what) == (
            f"block 0: thread 15 writes 4 bytes at byte 60 of shared memory ({at('lane store')}), "
            f"which thread 31 read ({at('lane load')}) with no barrier between"
        )
    # A shuffle exchanges registers; it orders no memory.
    assert refused(kernels, "one_warp", 32, array("out"), 2) == (
        f"block 0: thread 30 reads 4 bytes at byte 56 of shared memory ({at('lane load')}), "
        f"which thread 14 wrote ({at('lane store')}) with no barrier between"
    )


def test_a_write_after_a_read(kernels: EmulatedKernels) -> None:
    assert refused(kernels, "late_reader", 32, array("out")) == (
        f"block 0: thread 4 writes 4 bytes at byte 0 of shared memory ({at('overwrites')}), "
        f"which thread 3 read ({at('read early')}) with no barrier between"
    )


def test_asynchronous_copies(kernels: EmulatedKernels) -> None:
    given = (array("in"), array("out"))
    assert refused(kernels, "copy", 32, *given, 0) == (
        f"block 0: thread 0 copies 3 bytes asynchronously ({at('copy')}), which is not 4, 8 or 16"
    )
    for no_wait in (1, 2):
        assert refused(kernels, "copy", 32, *given, no_wait) == (
            f"block 0: thread 0 reads 4 bytes at byte 0 of shared memory ({at('copied')}), "
            "which thread 0 copies to and has not waited for"
        )
    # Another's copies: each waited for its own, but nobody for the others.
    assert refused(kernels, "copy", 32, *given, 3) == (
        f"block 0: thread 0 reads 4 bytes at byte 124 of shared memory ({at('copied')}), "
        "not all of which was written in this block"
    )
    assert refused(kernels, "copy", 32, *given, 4) == (
        f"block 0: thread 31 reads 4 bytes at byte 128 of shared memory ({at('copied')}), "
        "which thread 0 copies to and has not waited for"
    )
    assert refused(kernels, "copy", 32, array("short", 31), given[1], 5) == (
        f"block 0: thread 31 reads 4 bytes at byte 124 of short ({at('copy')}), which has 124 bytes"
    )
    assert refused(kernels, "copy_elsewhere", 1, *given) == (
        f"block 0: thread 0 writes 4 bytes at byte 0 of out ({at('elsewhere')}), "
        "which is not shared memory"
    )


def test_barriers_that_not_all_reach(kernels: EmulatedKernels) -> None:
    assert refused(kernels, "barriers", 64, 0) == (
        f"block 0: thread 0 waits at __syncthreads ({at('left')}) for thread 7, which has exited"
    )
    assert refused(kernels, "barriers", 64, 1) == (
        f"block 0: thread 0 waits at __syncthreads ({at('low')}), "
        f"thread 32 at __syncthreads ({at('high')})"
    )
    assert refused(kernels, "barriers", 64, 2) == (
        f"block 0: thread 0 waits at __syncthreads_count ({at('kinds')}), "
        f"thread 32 at __syncthreads_or ({at('kinds')})"
    )


def test_threads_that_wait_when_a_launch_ends_leave_nothing_behind(
    kernels: EmulatedKernels,
) -> None:
    for _ in range(3):
        assert refused(kernels, "barriers", 1024, 0).endswith("for thread 7, which has exited")


def test_warp_operations_that_cannot_complete(kernels: EmulatedKernels) -> None:
    assert refused(kernels, "masks", 64, 0) == (
        f"block 0: thread 0 waits at __syncwarp ({at('without 7')}) for thread 7, which has exited"
    )
    assert refused(kernels, "masks", 64, 1) == (
        f"block 0: thread 0 waits at __shfl_sync ({at('not at the barrier')}) for thread 7, "
        f"which waits at __syncthreads ({at('at the barrier')})"
    )
    assert refused(kernels, "masks", 64, 2) == (
        f"block 0: thread 0 calls __shfl_sync with mask 0xfffffffe ({at('not itself')}), "
        "which lacks its own lane 0"
    )
    assert refused(kernels, "masks", 64, 3) == (
        f"block 0: thread 16 waits at __ballot_sync ({at('disagree')}) "
        "for thread 0, which has exited"
    )
    assert refused(kernels, "masks", 64, 4) == (
        f"block 0: thread 0 waits at __any_sync with mask 0xffffffff ({at('operations')}) for "
        f"thread 16, which waits at __all_sync with mask 0xffffffff ({at('operations')})"
    )
    assert refused(kernels, "masks", 64, 7) == (
        f"block 0: thread 41 waits at __syncwarp ({at('41 and 42')}) for thread 42, "
        "which has exited"
    )


def test_shuffles_from_lanes_that_take_no_part(kernels: EmulatedKernels) -> None:
    assert refused(kernels, "masks", 64, 5) == (
        f"block 0: thread 12 reads lane 16 by __shfl_down_sync with mask 0x0000ffff "
        f"({at('down')}), which lacks that lane"
    )
    assert refused(kernels, "masks", 48, 8) == (
        f"block 0: thread 32 reads lane 16 by __shfl_xor_sync with mask 0x0000ffff "
        f"({at('short warp')}), which lacks that lane"
    )
    assert refused(kernels, "masks", 64, 6) == (
        f"block 0: thread 0 calls __shfl_sync with width 12 ({at('width')}), "
        "which is not 1, 2, 4, 8, 16 or 32"
    )


def test_faults_of_the_processor(kernels: EmulatedKernels) -> None:
    assert refused(kernels, "trap", 32) == f"block 0: thread 3 executes __trap ({at('trap')})"
    assert refused(kernels, "recursion", 2, array("in"), 1_000_000) == (
        "block 0: thread 0 needs a stack of more than 128 KiB"
    )


@pytest.mark.skipif(platform.machine() != "x86_64", reason="divides without a fault")
def test_division_by_zero(kernels: EmulatedKernels) -> None:
    assert refused(kernels, "divide", 1, array("out"), 0) == (
        "block 0: thread 0 divides an integer by zero, or overflows in doing so"
    )


def test_waiting_without_a_barrier(kernels: EmulatedKernels) -> None:
    assert refused(kernels, "lock", 2, array("lock")) == (
        f"block 0: thread 1 makes more than 10000000 volatile or atomic accesses without "
        f"waiting at a barrier ({at('lock')})"
    )
    assert refused(kernels, "spin", 2) == (
        f"block 0: thread 0 makes more than 10000000 volatile or atomic accesses without "
        f"waiting at a barrier ({at('spin')})"
    )


def test_launches_that_no_gpu_takes(kernels: EmulatedKernels) -> None:
    assert refused(kernels, "trap", 1025) == "block = 1025: must be from 1 to 1024"
    assert refused(kernels, "trap", 1, grid=0) == "grid = 0: must be from 1 to 2147483647"
    assert refused(kernels, "trap", 1, shared_bytes=262145) == (
        "shared_bytes = 262145: must be from 0 to 262144"
    )
    assert refused(kernels, "trap", 1, *range(17)) == (
        "number of arguments = 17: must be from 0 to 16"
    )
    assert refused(kernels, "trap", 1, 1.5) == (
        "argument 0 is a float: must be a GlobalArray or a NumPy integer of 32 or 64 bits"
    )
    with pytest.raises(EmulationError, match=r"^errors: has no kernel named missing$"):
        kernels.launch("missing", 1, 1, [])


def test_arrays_that_cannot_be_memory(kernels: EmulatedKernels) -> None:
    values = np.zeros(64, np.int32)
    strided = GlobalArray("strided", values[::2])
    assert refused(kernels, "good", 1, strided, array("out")) == "strided must be C-contiguous"
    overlapping = (GlobalArray("first", values[:40]), GlobalArray("second", values[39:]))
    assert refused(kernels, "good", 1, *overlapping) == "first and second overlap"


def test_an_array_given_twice_is_writable_if_either_is(kernels: EmulatedKernels) -> None:
    values = np.zeros(64, np.int32)
    same = [GlobalArray("in", values), GlobalArray("out", values, writable=True)]
    kernels.launch("good", 1, 32, same, shared_bytes=128)
    kernels.launch("good", 1, 32, same[:1] * 2, memory=same[::-1], shared_bytes=128)
    assert values[:32].tolist() == [2] * 32

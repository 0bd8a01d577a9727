"""The race detector against the definition: two accesses to a common byte by different threads, one
of them a plain write or one plain and one atomic, neither of which happens before the other.

What happens before what is found here by following every path of the program's events.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest

from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, EmulationError, GlobalArray

BLOCK = 40  # the second warp has eight lanes
BYTES = 16

# Each thread runs its own list of (operation, operand, size), as `Access` and `Sync` encode them.
SOURCE = r"""
extern __shared__ __align__(16) unsigned char gnarl_shared_memory[];
extern "C" __global__ void run(const int3* programs, int length) {
    if (threadIdx.x == 0) memset(gnarl_shared_memory, 0, 16);
    __syncthreads();
    for (const int3* step = programs + threadIdx.x * length;; ++step) {
        volatile unsigned char* at = gnarl_shared_memory + step->y;
        switch (step->x) {
            case 0: return;
            case 1: __syncthreads(); break;
            case 2: __syncwarp(step->y); break;
            case 3:
                if (step->z == 1) *at;
                if (step->z == 2) *(volatile short*)at;
                if (step->z == 4) *(volatile int*)at;
                if (step->z == 8) *(volatile long long*)at;
                break;
            case 4:
                if (step->z == 1) *at = 1;
                if (step->z == 2) *(volatile short*)at = 1;
                if (step->z == 4) *(volatile int*)at = 1;
                if (step->z == 8) *(volatile long long*)at = 1;
                break;
            case 5:
                if (step->z == 4) atomicAdd((int*)at, 1);
                if (step->z == 8) atomicAdd((unsigned long long*)at, 1ULL);
                break;
        }
    }
}
"""


@dataclass(frozen=True)
class Access:
    thread: int
    kind: str  # "read", "write" or "atomic"
    address: int
    size: int


@dataclass(frozen=True)
class Sync:
    """A barrier of the whole block, or of a warp's lanes in ``mask``."""

    warp: int | None = None
    mask: int = 0

    @property
    def threads(self) -> list[int]:
        if self.warp is None:
            return list(range(BLOCK))
        lanes = range(32 * self.warp, min(32 * self.warp + 32, BLOCK))
        return [thread for thread in lanes if self.mask >> thread % 32 & 1]


Program = list[Access | Sync]
"""Events in an order in which they may happen."""


def conflict(a: Access, b: Access) -> bool:
    common = max(a.address, b.address) < min(a.address + a.size, b.address + b.size)
    kinds = {a.kind, b.kind}
    return a.thread != b.thread and common and kinds != {"read"} and kinds != {"atomic"}


def has_race(program: Program) -> bool:
    last: dict[int, int] = {}  # each thread's last event
    before: list[set[int]] = []  # of each event, those that happen before it
    for index, event in enumerate(program):
        threads = [event.thread] if isinstance(event, Access) else event.threads
        direct = {last[thread] for thread in threads if thread in last}
        before.append(direct.union(*(before[other] for other in direct)))
        last |= dict.fromkeys(threads, index)
    return any(
        isinstance(a, Access) and isinstance(b, Access) and conflict(a, b) and i not in before[j]
        for (i, a), (j, b) in combinations(enumerate(program), 2)
    )


def encoded(program: Program) -> np.ndarray:
    """[thread, step, (operation, operand, size)], ended by zeroes."""
    codes = {"read": 3, "write": 4, "atomic": 5}
    lists: list[list[tuple[int, int, int]]] = [[] for _ in range(BLOCK)]
    for event in program:
        if isinstance(event, Access):
            lists[event.thread].append((codes[event.kind], event.address, event.size))
        else:
            step = (1, 0, 0) if event.warp is None else (2, event.mask, 0)
            for thread in event.threads:
                lists[thread].append(step)
    table = np.zeros((BLOCK, max(map(len, lists)) + 1, 3), np.uint32)
    for row, steps in zip(table, lists, strict=True):
        if steps:
            row[: len(steps)] = steps
    return table


@pytest.fixture(scope="module")
def kernels() -> EmulatedKernels:
    return EmulatedKernels(SOURCE, name="races")


def refused(kernels: EmulatedKernels, program: Program) -> bool:
    table = encoded(program)
    given = [GlobalArray("programs", table), np.int32(table.shape[1])]
    try:
        kernels.launch("run", 1, BLOCK, given, shared_bytes=BYTES)
    except EmulationError as error:
        assert str(error).endswith("with no barrier between")
        return True
    return False


def any_access(rng: np.random.Generator) -> Access:
    # Few threads and few bytes, so that they meet.
    kind = str(rng.choice(["read", "read", "write", "atomic"]))
    size = int(rng.choice([4, 8] if kind == "atomic" else [1, 2, 4, 8]))
    thread = int(rng.choice([0, 1, 2, 3, 33, 34]))
    return Access(thread, kind, size * int(rng.integers(BYTES // size)), size)


def access_of_one_word(rng: np.random.Generator) -> Access:
    kind, size = ("write", 4) if rng.random() < 0.2 else ("read", int(rng.choice([1, 4, 4])))
    return Access(int(rng.integers(4)), kind, 0, size)


def lane_sync(rng: np.random.Generator, warps: int) -> Sync:
    masks = [0b11, 0b110, 0b101, 0b1100, 0b1111, 0b0111, 0xFF, 0xFFFFFFFF]
    return Sync(int(rng.integers(warps)), int(rng.choice(masks)))


def any_program(rng: np.random.Generator) -> Program:
    return [
        any_access(rng)
        if (which := rng.random()) < 0.7
        else lane_sync(rng, 2)
        if which < 0.9
        else Sync()
        for _ in range(rng.integers(3, 16))
    ]


def chain_of_lanes(rng: np.random.Generator) -> Program:
    """Mostly decided by the clocks of one warp."""
    return [
        access_of_one_word(rng) if rng.random() < 0.5 else lane_sync(rng, 1)
        for _ in range(rng.integers(3, 16))
    ]


@pytest.mark.parametrize("draw", [any_program, chain_of_lanes])
def test_races_of_random_programs(
    kernels: EmulatedKernels, draw: Callable[[np.random.Generator], Program]
) -> None:
    races = 0
    for seed in range(1500):
        program = draw(np.random.default_rng(seed))
        race = has_race(program)
        assert refused(kernels, program) == race, f"seed {seed}: {program}"
        races += race
    assert 300 < races < 1200


WRITE, READ = Access(0, "write", 0, 4), Access(2, "read", 0, 4)
LANES_0_1, LANES_1_2, LANES_0_2 = Sync(0, 0b011), Sync(0, 0b110), Sync(0, 0b101)

CORNERS = {
    "by way of lane 1": [WRITE, LANES_0_1, LANES_1_2, READ],
    "lane 1 comes too late": [WRITE, LANES_1_2, LANES_0_1, READ],
    "an earlier reader is not forgotten": [
        *(LANES_1_2, Access(0, "read", 0, 4), Access(1, "read", 0, 4), LANES_1_2),
        Access(2, "write", 0, 4),
    ],
    "readers of two warps": [
        *(Access(0, "read", 0, 4), Access(33, "read", 0, 4), Access(0, "write", 0, 4)),
    ],
    "bytes part with their readers' clocks apart": [
        *(LANES_1_2, Access(0, "read", 0, 4), Access(1, "read", 0, 4)),
        *(LANES_1_2, Access(1, "read", 0, 1), LANES_0_2, Access(2, "write", 1, 1)),
    ],
    "atomics of two warps, then a plain read": [
        *(Access(0, "atomic", 0, 4), Access(33, "atomic", 0, 8), Access(1, "read", 4, 1)),
    ],
}


@pytest.mark.parametrize("program", CORNERS.values(), ids=CORNERS)
def test_corners(kernels: EmulatedKernels, program: Program) -> None:
    assert refused(kernels, program) == has_race(program)


def test_the_definition_tells_races_from_none() -> None:
    assert has_race([WRITE, READ])
    assert not has_race([WRITE, Sync(), READ])
    assert not has_race([WRITE, LANES_0_1, LANES_1_2, READ])
    assert has_race([WRITE, LANES_1_2, LANES_0_1, READ])
    assert not has_race([WRITE, Access(1, "write", 4, 4)])
    assert not has_race([Access(0, "atomic", 0, 4), Access(33, "atomic", 0, 4)])

"""How many blocks a multiprocessor runs at a time.

Source: NVIDIA's occupancy calculator (``cuda_occupancy.h``): registers are given to whole warps in
units of 256 and come from four partitions of the register file, shared memory is given to blocks in
units of 128 bytes, 256 on sm_75. A kernel is bound to an occupancy (RecFlex, IV-A2) by its launch
bounds, which limit registers, and by its grid, which stays: no shared memory is spent on it, and
caches keep theirs.
"""

from __future__ import annotations

from gnarl.sw.compiler.cuda.architectures import ARCHITECTURES, WARP_THREADS

MAXIMUM_REGISTERS = 255
"""Registers of a thread."""

MAXIMUM_OCCUPANCIES = 9

WARP_REGISTERS = 80
"""Registers of a thread of a kernel whose workers are warps."""

_PARTITIONS = 4
_REGISTER_UNIT = 256


def maximum_blocks(arch: str, block_threads: int) -> int:
    """Blocks of so many threads that a multiprocessor has room for, whatever else they need."""
    limits = ARCHITECTURES[arch]
    return min(limits.blocks_per_sm, limits.warps_per_sm // _warps(block_threads))


def blocks_per_sm(arch: str, registers: int, shared_bytes: int, block_threads: int) -> int:
    """Blocks that a multiprocessor runs at a time; 0: not even one fits.

    registers
        of a thread.
    shared_bytes
        of a block, static and dynamic.
    """
    limits = ARCHITECTURES[arch]
    if registers > MAXIMUM_REGISTERS or shared_bytes > limits.shared_per_block:
        return 0
    of_warp = _up(max(1, registers) * WARP_THREADS, _REGISTER_UNIT)
    warps = limits.registers_per_sm // _PARTITIONS // of_warp * _PARTITIONS
    by_registers = warps // _warps(block_threads)
    allocated = _up(shared_bytes + limits.shared_reserved, _shared_unit(arch))
    by_shared = limits.shared_per_sm // allocated if allocated else by_registers
    return min(maximum_blocks(arch, block_threads), by_registers, by_shared)


def register_limit(arch: str, block_threads: int, blocks: int) -> int:
    """The most registers of a thread with which so many blocks run at a time: what ptxas keeps to
    where launch bounds ask for them."""
    warps = _up(blocks * _warps(block_threads), _PARTITIONS)
    of_warp = ARCHITECTURES[arch].registers_per_sm // warps
    return min(MAXIMUM_REGISTERS, of_warp // _REGISTER_UNIT * _REGISTER_UNIT // WARP_THREADS)


def shared_limit(arch: str, blocks: int) -> int:
    """The most bytes of shared memory of a block with which so many blocks run at a time."""
    limits = ARCHITECTURES[arch]
    unit = _shared_unit(arch)
    allocated = limits.shared_per_sm // blocks // unit * unit
    return min(limits.shared_per_block, allocated - limits.shared_reserved)


def occupancies(arch: str, block_threads: int) -> tuple[int, ...]:
    """Numbers of blocks on a multiprocessor that are worth trying, most first; fewer than ten.

    Fewer blocks are worth it only where each thread may have more registers. Where that leaves too
    many, as with small blocks, those go first whose neighbours have nearly as many registers.
    """
    limits: dict[int, int] = {}
    for blocks in range(maximum_blocks(arch, block_threads), 0, -1):
        registers = register_limit(arch, block_threads, blocks)
        if registers not in limits:
            limits[registers] = blocks
    kept = list(limits)
    while len(kept) > MAXIMUM_OCCUPANCIES:
        kept.pop(min(range(1, len(kept) - 1), key=lambda at: kept[at + 1] / kept[at - 1]))
    return tuple(limits[registers] for registers in kept)


def warp_occupancy(arch: str, block_threads: int) -> int:
    """Blocks on a multiprocessor of a kernel whose workers are warps: the most whose threads have
    the registers that eight vectors in flight, and the indices of the next, want."""
    fitting = [
        blocks
        for blocks in range(1, maximum_blocks(arch, block_threads) + 1)
        if register_limit(arch, block_threads, blocks) >= WARP_REGISTERS
    ]
    return max(fitting, default=1)


def _warps(block_threads: int) -> int:
    return -(-block_threads // WARP_THREADS)


def _shared_unit(arch: str) -> int:
    return 256 if arch == "sm_75" else 128


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit

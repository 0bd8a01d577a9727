"""What GPUs of each architecture have.

Source: CUDA C++ Programming Guide, technical specifications per compute capability; the same are
constants of libcu++ (``cuda::arch_traits``).
"""

from __future__ import annotations

from dataclasses import dataclass

WARP_THREADS = 32
SECTOR_BYTES = 32
"""What the caches load and store at least."""


@dataclass(frozen=True)
class Architecture:
    """Limits of one compute capability.

    warps_per_sm, blocks_per_sm, registers_per_sm
        that a multiprocessor holds at a time; registers of 32 bits.
    shared_per_sm, shared_per_block
        bytes of shared memory, and the most of them that a block may have by opting in.
    """

    warps_per_sm: int
    blocks_per_sm: int
    registers_per_sm: int
    shared_per_sm: int
    shared_per_block: int

    @property
    def shared_reserved(self) -> int:
        """Bytes of shared memory that the system takes for each block besides its own."""
        return self.shared_per_sm - self.shared_per_block


_KIB = 1024

ARCHITECTURES: dict[str, Architecture] = {
    "sm_75": Architecture(32, 16, 65536, 64 * _KIB, 64 * _KIB),
    "sm_80": Architecture(64, 32, 65536, 164 * _KIB, 163 * _KIB),
    "sm_86": Architecture(48, 16, 65536, 100 * _KIB, 99 * _KIB),
    "sm_87": Architecture(48, 16, 65536, 164 * _KIB, 163 * _KIB),
    "sm_89": Architecture(48, 24, 65536, 100 * _KIB, 99 * _KIB),
    "sm_90": Architecture(64, 32, 65536, 228 * _KIB, 227 * _KIB),
    "sm_100": Architecture(64, 32, 65536, 228 * _KIB, 227 * _KIB),
    "sm_103": Architecture(64, 32, 65536, 228 * _KIB, 227 * _KIB),
    "sm_110": Architecture(48, 24, 65536, 228 * _KIB, 227 * _KIB),
    "sm_120": Architecture(48, 24, 65536, 100 * _KIB, 99 * _KIB),
    "sm_121": Architecture(48, 24, 65536, 100 * _KIB, 99 * _KIB),
}
"""Architectures by name, as NVRTC calls it."""

"""Configuration of the CUDA target: the GPUs to compile for, and what a fused kernel's blocks are.

Source of the parameters: RecFlex, section IV.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from gnarl.hw.lib.configuration import (
    TargetConfig,
    choice_violations,
    flag_violations,
    number_violations,
)
from gnarl.hw.lib.errors import ConfigError, Violation, quoted
from gnarl.sw.compiler.cuda.architectures import ARCHITECTURES
from gnarl.sw.compiler.cuda.occupancy import maximum_blocks, occupancies, warp_occupancy
from gnarl.sw.workloads.embedding.model import TABLE_TYPES

BLOCK_THREADS = (32, 64, 128, 256, 512, 1024)
"""Threads that a block may have."""

WORKERS = ("warps", "blocks")
"""What does the tasks of a kernel."""

WARP_BLOCK_THREADS = 256
"""Threads of a block whose warps are workers, where nothing else is said."""

TRIED_BLOCK_THREADS = (64, 128, 256)
"""Sizes of blocks that a choice is among."""


@dataclass(frozen=True)
class CudaConfig(TargetConfig):
    """What schedules and kernels are made for.

    arch
        architecture, such as ``sm_90``; a name of ``ARCHITECTURES``.
    block_threads
        threads of every block of the fused kernel, where no tuned schedules say; 0: what the cost
        model, or the tuner, finds best.
    blocks_per_sm
        occupancy to bind the kernel to, where no tuned schedules say; 0: what the cost model finds
        best.
    checked
        whether kernels check every index, and stop at the first that is out of range.
    workers
        what does the tasks of a kernel, a name of ``WORKERS``: warps, of which none waits for
        another, or whole blocks, as in RecFlex.
    format
        of the tensors of expressions, a name of ``TABLE_TYPES``; sums are in float32. Models say
        what their features have.
    """

    target: ClassVar[str] = "cuda"

    arch: str = "sm_90"
    block_threads: int = 128
    blocks_per_sm: int = 0
    checked: bool = False
    format: str = "float32"
    workers: str = "warps"

    @property
    def plain_block_threads(self) -> int:
        """Threads of a block for kernels that there is nothing to choose for: ``block_threads``, or
        128."""
        return self.block_threads or 128

    @property
    def sized(self) -> tuple[CudaConfig, ...]:
        """Configurations with the sizes of blocks that a choice is among: with ``block_threads``,
        or with each worth trying."""
        if self.block_threads:
            return (self,)
        if self.workers == "warps":
            return (replace(self, block_threads=WARP_BLOCK_THREADS),)
        return tuple(
            replace(self, block_threads=threads)
            for threads in TRIED_BLOCK_THREADS
            if self.blocks_per_sm <= maximum_blocks(self.arch, threads)
        )

    @property
    def occupancies(self) -> tuple[int, ...]:
        """Blocks on a multiprocessor that a choice is among: ``blocks_per_sm``, or those worth
        trying, most first. Of a configuration with a size of blocks."""
        if self.blocks_per_sm:
            return (self.blocks_per_sm,)
        if self.workers == "warps":
            return (warp_occupancy(self.arch, self.block_threads),)
        return occupancies(self.arch, self.block_threads)

    def violations(self) -> list[Violation]:
        wrong = choice_violations(self, "arch", ARCHITECTURES)
        known = (0, *BLOCK_THREADS)
        if type(self.block_threads) is not int or self.block_threads not in known:
            allowed = ", ".join(map(str, known))
            problem = f" = {quoted(self.block_threads)}: must be one of {allowed}"
            wrong.append(Violation("block_threads", problem))
        if not wrong:
            most = maximum_blocks(self.arch, self.block_threads or min(TRIED_BLOCK_THREADS))
            wrong += number_violations(self, [("blocks_per_sm", 0, most)])
        wrong += choice_violations(self, "format", tuple(TABLE_TYPES))
        wrong += choice_violations(self, "workers", WORKERS)
        return wrong + flag_violations(self, ["checked"])


def require_cuda(name: str, config: TargetConfig) -> CudaConfig:
    """``config``, called ``name``, if it is the CUDA target's. Raises ``ConfigError`` if not."""
    if not isinstance(config, CudaConfig):
        raise ConfigError([f"{name}: is of target {config.target}: must be of target cuda"])
    return config

"""Parts of a nest as commands, where memory computes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.sw.compiler.sram_compute.lower.lattice import LatticeError
from gnarl.sw.compiler.sram_compute.lower.lower import CodeGenerator, MemoryCode, OutsideError
from gnarl.sw.compiler.sram_compute.near.lower import NearCode
from gnarl.sw.compiler.sram_compute.placement import Part, elsewhere
from gnarl.sw.compiler.sram_compute.slabs import SlabCodeGenerator, Slabs
from gnarl.sw.compiler.sram_compute.tdfg.plan import Step
from gnarl.sw.compiler.sram_compute.tile_choice import TileChoice, generate_in_tile
from gnarl.sw.workloads.loops.ir.binding import Binding

Made = tuple[Part, MemoryCode | Slabs | NearCode | None]
"""A part with its commands, in memory or near it, which one on the core does not have."""


@dataclass(frozen=True)
class InMemory:
    """Lowers parts for one binding.

    generator, slab_generator
        of one of a part's plans, by its number.
    tile
        which tiles arrays are in.
    is_else_open
        whether another place takes what memory does not.
    """

    binding: Binding
    generator: Callable[[Part, int], CodeGenerator]
    slab_generator: Callable[[Part, int], SlabCodeGenerator]
    tile: TileChoice
    is_else_open: bool

    def made(self, part: Part) -> tuple[Part, MemoryCode | Slabs | None]:
        """The part with its commands; without them, and with the reason, for what banks turn out
        not to do, or have no room for, where another engine takes it. Raises ``OutsideError``, else
        ``WorkloadError`` and ``CapacityError``."""
        if part.refusal is not None:
            return part, None
        try:
            steps, code = self._fastest(part)
        except OutsideError:
            raise
        except (WorkloadError, CapacityError) as refusal:
            if not self.is_else_open:
                raise type(refusal)(f"{part.nest.body[0].place}: {refusal}") from None
            return elsewhere(part.nest, str(refusal)), None
        return replace(part, steps=steps), code

    def _fastest(self, part: Part) -> tuple[tuple[Step, ...], MemoryCode | Slabs]:
        """The first of a part's plans with which no value has to be loaded twice, since there are
        rows for all that are needed at once; else the one that seems the fastest of those that
        fit."""
        fitting: list[tuple[tuple[Step, ...], MemoryCode | Slabs]] = []
        refused: list[CapacityError] = []
        for at, steps in enumerate(part.plans):
            try:
                code = self._lowered(part, at)
            except CapacityError as error:
                refused.append(error)
                continue
            fitting.append((steps, code))
            if not code.returns:
                return fitting[-1]
        if not fitting:
            raise refused[0]
        return min(fitting, key=lambda each: each[1].estimate)

    def _lowered(self, part: Part, at: int) -> MemoryCode | Slabs:
        """The lowered part; split into slabs where there are not enough tiles for all at once."""
        try:
            return generate_in_tile(self.generator(part, at), self.binding, self.tile)
        except LatticeError as problem:
            try:
                return self.slab_generator(part, at).generate(self.binding, self.tile)
            except OutsideError:
                raise
            except (WorkloadError, CapacityError) as refusal:
                raise CapacityError(f"{problem}; nor by slabs: {refusal}") from None

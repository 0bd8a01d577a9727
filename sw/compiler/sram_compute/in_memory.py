"""Parts of a nest as commands, where memory computes them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hw.lib.errors import CapacityError, WorkloadError
from hw.sram_compute.config import SramConfig
from sw.compiler.sram_compute.lower.lower import Lowered, Lowerer, OutsideError
from sw.compiler.sram_compute.optimise.saturate import Known, egglog_bindings, optimise_plan
from sw.compiler.sram_compute.placement import Part, on_core
from sw.compiler.sram_compute.tdfg.plan import Step
from sw.compiler.sram_compute.tile_choice import TileChoice, lowered_tile
from sw.workloads.loops.binding import Binding

Made = tuple[Part, Lowered | None]
"""A part with its commands, which one on the core does not have."""


@dataclass(frozen=True)
class InMemory:
    """Lowers parts for one binding.

    reassociate
        whether sums of float32 may be added up in another order.
    optimise
        whether graphs are made cheaper.
    tile
        which tiles arrays are in.
    is_core_open
        whether the core takes what memory does not.
    """

    binding: Binding
    config: SramConfig
    reassociate: bool
    optimise: bool
    tile: TileChoice
    is_core_open: bool
    known: dict[bool, Known] = field(default_factory=lambda: {True: {}, False: {}})

    def made(self, part: Part) -> Made:
        """What banks turn out not to do, or have no room for, goes to the core where that is open.
        Raises ``OutsideError``, else ``WorkloadError`` and ``CapacityError``."""
        if part.refusal is not None:
            return part, None
        if self.optimise:
            egglog_bindings()
        try:
            steps, lowered = self._fastest(part) if self.optimise else self._lowered(part)
        except OutsideError:
            raise
        except (WorkloadError, CapacityError) as refusal:
            if not self.is_core_open:
                raise
            return on_core(part.nest, str(refusal)), None
        return replace(part, steps=steps), lowered

    def _lowered(
        self, part: Part, steps: tuple[Step, ...] | None = None
    ) -> tuple[tuple[Step, ...], Lowered]:
        steps = part.steps if steps is None else steps
        lowerer = Lowerer(part.nest, steps, self.config)
        return steps, lowered_tile(lowerer, self.binding, self.tile)

    def _fastest(self, part: Part) -> tuple[tuple[Step, ...], Lowered]:
        """Optimised graphs, as commands. Where they need more values at once than there are rows,
        those of which no sum is in another order are tried too, and those that are not
        optimised."""
        manners = [True, False] if self.reassociate else [False]
        found: list[tuple[tuple[Step, ...], Lowered]] = []
        for manner in manners:
            better = optimise_plan(part.steps, reassociate=manner, known=self.known[manner])
            found.append(self._lowered(part, better))
            if not found[-1][1].returns:
                return found[-1]
        found.append(self._lowered(part))
        return min(found, key=lambda each: each[1].estimate)

"""Whole nests as programs of the core."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from gnarl.hw.lib.encoding.execute_isa import Instruction
from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.nests.as_words import as_words, words_of
from gnarl.sw.compiler.nests.coupled.pipeline import couple
from gnarl.sw.compiler.nests.execute.assemble import ProgramWordsError
from gnarl.sw.compiler.nests.lane_sums import summed_loops
from gnarl.sw.compiler.nests.scf import to_scf
from gnarl.sw.workloads.loops.ir.binding import Binding
from gnarl.sw.workloads.loops.ir.lane_sums import sum_by_lanes
from gnarl.sw.workloads.loops.ir.nest import Nest


class _Core(NamedTuple):
    """A ``gnarl.sw.compiler.nests.unit.Unit``."""

    lanes: int
    program_words: int
    l1_bytes: int
    latency: int
    memory_words: int


@dataclass(frozen=True)
class CoreCode:
    """order
    the nest with the additions in the program's order.
    """

    instructions: list[Instruction]
    order: Nest


class CoreCodes:
    """Programs of a nest's parts for the sizes and scalars of ``binding``, each made once.

    ``reassociate``: whether lanes may have sums of their own.
    """

    def __init__(self, binding: Binding, config: SramConfig, *, reassociate: bool) -> None:
        self._binding = binding
        self._config = config
        self._reassociate = reassociate
        self._known: dict[Any, CoreCode] = {}

    def made(
        self, nest: Nest, *, zeros: Collection[str], lines: Mapping[str, int], before: int
    ) -> CoreCode:
        """The core's code of a part.

        ``zeros``: arrays that are 0 before the run; ``lines``: the first one of each array, all of
        whose rows begin with lines; ``before``: instructions of other programs in the core's
        memory. Raises ``WorkloadError`` naming the line that the core cannot run, and
        ``CapacityError``.
        """
        zeros = sorted(zeros)
        key = nest.body, tuple(zeros), tuple(lines.items()), before
        if key not in self._known:
            self._known[key] = core_code(
                nest,
                self._binding,
                self._config,
                zeros=zeros,
                lines=lines,
                before=before,
                reassociate=self._reassociate,
            )
        return self._known[key]


def core_code(
    nest: Nest,
    binding: Binding,
    config: SramConfig,
    *,
    zeros: Collection[str],
    lines: Mapping[str, int],
    before: int,
    reassociate: bool,
) -> CoreCode:
    """Compiles a part, see ``CoreCodes.made``."""
    core = _Core(
        config.core_lanes,
        max(0, config.core_instructions - before),
        config.core_cache_bytes,
        config.latency + config.line_cycles,
        config.memory_words,
    )
    words = words_of(binding)
    shapes = {name: _lines_of(array.shape) for name, array in words.arrays.items()}
    scalars = {name: value.item() for name, value in words.scalars.items()}
    module = to_scf(as_words(nest), words.sizes, shapes, scalars)
    bases = {name: line * LINE_WORDS for name, line in lines.items()}
    try:
        by_step, _, instructions = couple(module, core, zeros, bases, reassociate=reassociate)
    except ProgramWordsError as error:
        raise CapacityError(
            f"core_instructions = {config.core_instructions}: must be at least "
            f"{before + error.needed}"
        ) from None
    loops = summed_loops(by_step["vectorize"])
    order = sum_by_lanes(nest, binding.sizes, loops, config.core_lanes)
    return CoreCode(instructions, order)


def _lines_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an array of several dimensions in memory, where rows are whole lines."""
    if len(shape) < 2:
        return shape
    return (*shape[:-1], -(-shape[-1] // LINE_WORDS) * LINE_WORDS)

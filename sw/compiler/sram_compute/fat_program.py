"""What a compiled nest is before its sizes are known: one program for all of them, in a file.

Source: Infinity Stream, sections 3.4 and 4.2: the fat binary, which is lowered where it runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import ProgramError, WorkloadError
from gnarl.sw.compiler.sram_compute.placement import Part
from gnarl.sw.compiler.sram_compute.places import ENGINES
from gnarl.sw.compiler.sram_compute.tdfg.check import check_plan
from gnarl.sw.compiler.sram_compute.tdfg.plan import Step
from gnarl.sw.program.tree_json import Word, decoded, encoded
from gnarl.sw.workloads.loops.ir.binding import Binding, bind, require_sizes
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.ir.printer import print_nest
from gnarl.sw.workloads.loops.ir.scalar_type import BY_NAME, ScalarType
from gnarl.sw.workloads.loops.ir.source_places import places_of, with_places
from gnarl.sw.workloads.loops.python.source import read_printed
from gnarl.sw.workloads.place import Location

_WORDS: Mapping[type, Word] = {ScalarType: Word(str, BY_NAME.__getitem__)}

_REMEMBERED = 16
"""Programs whose files are read once."""


@dataclass(frozen=True, eq=False)
class FatProgram:
    """A nest and its tensor dataflow graphs, for any sizes, scalars and configuration.

    nest
        as the source has it.
    parts
        one for each statement of its body.
    engine
        where it is to run, one of ``ENGINES``.
    reassociate
        whether sums of float32 may be added up in another order.
    tile
        the option of which tiles arrays are in, see ``tile_choice``.
    """

    nest: Nest
    parts: tuple[Part, ...]
    engine: str
    reassociate: bool
    tile: str | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """What memory does where it takes all that it does not refuse; of the best graphs."""
        found = (part.plans[0] for part in self.parts if part.refusal is None)
        return tuple(step for plan in found for step in plan)

    def binding(self, values: Mapping[str, Any]) -> Binding:
        """Binds arrays, scalars and sizes by name. Raises ``WorkloadError`` naming what is unknown,
        is missing or contradicts another."""
        names = {size.name for size in self.nest.sizes}
        sizes = {name: value for name, value in values.items() if name in names}
        others = {name: value for name, value in values.items() if name not in names}
        return bind(self.nest, others, sizes)

    def require_sizes(self, sizes: Mapping[str, int]) -> None:
        """Raises ``WorkloadError`` for a name that is no size of the nest."""
        require_sizes(self.nest, sizes)

    def encoded(self) -> np.ndarray:
        """uint8 [n]."""
        kept = tuple(FatPart(part.refusal, part.steps, part.optimised) for part in self.parts)
        places = tuple(places_of(self.nest))
        file = FatFile(
            print_nest(self.nest), places, self.engine, self.reassociate, self.tile, kept
        )
        text = json.dumps(encoded(file, _WORDS), separators=(",", ":"))
        return np.frombuffer(text.encode(), np.uint8)


@dataclass(frozen=True)
class FatPart:
    """What a file has of a part: see ``Part``."""

    refusal: str | None
    steps: tuple[Step, ...]
    optimised: tuple[tuple[Step, ...], ...]


@dataclass(frozen=True)
class FatFile:
    """What a file has of a fat program. ``nest``: in the notation of Python, and ``places`` of its
    nodes in the source."""

    nest: str
    places: tuple[Location, ...]
    place: str
    reassociate: bool
    tile: str | None
    parts: tuple[FatPart, ...]


def fat_program_of(section: np.ndarray) -> FatProgram:
    """Inverse of ``encoded``. Raises ``ProgramError``, and what Python raises for damaged text."""
    return _fat_program(section.tobytes())


@lru_cache(maxsize=_REMEMBERED)
def _fat_program(text: bytes) -> FatProgram:
    file = decoded(FatFile, json.loads(text.decode()), _WORDS)
    try:
        nest = with_places(read_printed(file.nest, "section 'graphs'"), file.places)
    except WorkloadError as error:
        raise ProgramError(str(error)) from None
    if file.place not in ENGINES:
        raise ProgramError(f"section 'graphs': place {file.place}: must be one of {_ENGINES}")
    parts = tuple(
        Part(replace(nest, body=(statement,)), kept.steps, kept.refusal, kept.optimised)
        for statement, kept in zip(nest.body, file.parts, strict=True)
    )
    for part in parts:
        for plan in part.plans:
            check_plan(nest, plan)
    if len({len(part.optimised) for part in parts if part.refusal is None}) > 1:
        raise ValueError("parts differ in the number of their graphs")
    return FatProgram(nest, parts, file.place, file.reassociate, file.tile)


_ENGINES = ", ".join(ENGINES)

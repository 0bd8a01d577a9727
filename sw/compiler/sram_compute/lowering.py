"""Fat programs at given sizes, as programs of commands: what is done when all is known.

Source: Infinity Stream, section 4.2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from gnarl.hw.lib.encoding.execute_assembly import encode
from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sram_compute.assembly import line_of
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.program import disassemble
from gnarl.sw.compiler.passes import (
    AnyPass,
    Pass,
    PassResult,
    Search,
    Trace,
    made,
    run_passes,
    text_of,
)
from gnarl.sw.compiler.sram_compute.command_program import ASSEMBLE, LOWER
from gnarl.sw.compiler.sram_compute.cost.places import EngineChoice, EngineJob, choose_engines
from gnarl.sw.compiler.sram_compute.fat_program import FatProgram
from gnarl.sw.compiler.sram_compute.in_memory import InMemory, Made
from gnarl.sw.compiler.sram_compute.joined import joined
from gnarl.sw.compiler.sram_compute.lower.lower import CodeGenerator, MemoryCode
from gnarl.sw.compiler.sram_compute.meaning import EngineStatements, Meaning, SpecialisedProgram
from gnarl.sw.compiler.sram_compute.near.lower import NearCode, near_code
from gnarl.sw.compiler.sram_compute.on_core import CoreCodes
from gnarl.sw.compiler.sram_compute.pieces import Pieces, pieces_of
from gnarl.sw.compiler.sram_compute.placement import Part, elsewhere, placed, with_used_arrays
from gnarl.sw.compiler.sram_compute.sections import (
    core_listing,
    hexadecimal,
    program_of,
)
from gnarl.sw.compiler.sram_compute.slabs import SlabCodeGenerator, Slabs
from gnarl.sw.compiler.sram_compute.tdfg.plan import plan
from gnarl.sw.compiler.sram_compute.tile_choice import tile_choice
from gnarl.sw.program.tensor_spec import TensorSpec
from gnarl.sw.workloads.loops.ir.binding import Binding, bind
from gnarl.sw.workloads.loops.python.source import read_source

_REMEMBERED = 64
"""Shapes and scalars for which a program is kept."""

_CONFIGURATIONS = 16
"""Pairs of a fat program and a configuration for which all of that is kept."""


class _Key(NamedTuple):
    """What a program depends on: shapes, sizes, bytes of scalars; which arrays that are written are
    given, since others begin as 0; and a digest of elements, where these decide about places."""

    shapes: tuple[tuple[int, ...], ...]
    sizes: tuple[tuple[str, int], ...]
    scalars: tuple[bytes, ...]
    given: frozenset[str]
    elements: bytes = b""


_SMALL = """
n = sizes("n")


@nest
def copied(a: int8[n], b: int8[n]):
    for i in range(n):
        b[i] = a[i]
"""


@cache
def prepare() -> None:
    """Loads compiled functions by lowering a small nest: once in a process."""
    nest = read_source(_SMALL, "copied.py")
    CodeGenerator(nest, plan(nest), SramConfig()).generate(bind(nest, {"a": np.zeros(1, np.int8)}))


def require_places(fat: FatProgram, config: SramConfig) -> None:
    """Raises ``WorkloadError`` for what ``config`` does not run at any sizes."""
    if fat.engine == "near":
        if not config.near_lanes:
            raise WorkloadError(
                "--place near: near_lanes = 0: the configuration has no stream engines"
            )
        return
    if fat.engine == "core" and not config.core_lanes:
        raise WorkloadError("--place core: core_lanes = 0: the configuration has no core")
    tile_choice(fat.tile, fat.nest, config)
    for part in fat.parts:
        if part.refusal is not None and not _is_else_open(fat, config):
            raise WorkloadError(part.refusal)


def _is_else_open(fat: FatProgram, config: SramConfig) -> bool:
    """Whether another place takes what memory does not."""
    return fat.engine != "memory" and bool(config.core_lanes or config.near_lanes)


@lru_cache(maxsize=_CONFIGURATIONS)
def specialiser(fat: FatProgram, name: str, config: SramConfig) -> Specialiser:
    """The one of this process, which remembers."""
    return Specialiser(fat, name, config)


class Specialiser:
    """Makes programs of one fat program for one configuration, and remembers them by shapes, sizes,
    scalars, and elements where these decide. ``name``: of the programs; ``arrays_first``: whether
    memory has all arrays of a part in rows before it computes, not when they are needed. Raises
    ``WorkloadError`` as ``require_places`` does."""

    def __init__(
        self, fat: FatProgram, name: str, config: SramConfig, *, arrays_first: bool = False
    ) -> None:
        self._arrays_first = arrays_first
        require_places(fat, config)
        self.nest, self.config = fat.nest, config
        self._fat, self._name = fat, name
        self._tile = tile_choice(fat.tile, fat.nest, config)
        self._placed = cache(self._new_placed)
        self._parts = self._placed(0, len(fat.parts))
        self._generator = cache(self._new_generator)
        self._slab_generator = cache(self._new_slab_generator)
        self._remembered: dict[_Key, SpecialisedProgram] = {}
        self._by_data: set[_Key] = set()

    def program(
        self, binding: Binding, given: Collection[str], trace: Trace | None = None
    ) -> SpecialisedProgram:
        """The program for a binding's shapes, sizes and scalars, and, where these decide where a
        part takes the fewest cycles, for its arrays' elements.

        ``given``: arrays and scalars that runs are given; others begin as 0. What is remembered
        makes nothing, and tells ``trace`` nothing. Raises ``WorkloadError`` for iterations that
        leave an array and for what runs nowhere, and ``CapacityError`` naming what is too small.
        """
        results = self._fat.nest.results
        key = _Key(
            tuple(array.shape for array in binding.arrays.values()),
            tuple(sorted(binding.sizes.items())),
            tuple(value.tobytes() for value in binding.scalars.values()),
            frozenset(each for each in results if each in given),
        )
        by_data = key._replace(elements=_digest(binding)) if key in self._by_data else key
        program = self._remembered.pop(by_data, None)
        if program is None:
            options = LoweringOptions(self, binding, key.given, self.codes(binding))
            state = run_passes(LOWERING, LoweringState(), options, trace or Trace())
            by_elements = state.choice is not None and state.choice.by_data
            if by_elements and key not in self._by_data:
                self._by_data.add(key)
                by_data = key._replace(elements=_digest(binding))
            program = self._program(options, state)
        self._remembered[by_data] = program  # behind the others: the first is the one to forget
        if len(self._remembered) > _REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        return program

    def codes(self, binding: Binding) -> CoreCodes:
        """The codes of parts on the core."""
        return CoreCodes(binding, self.config, reassociate=self._fat.reassociate)

    @property
    def is_choice(self) -> bool:
        """Whether statements may run in several places."""
        return self._fat.engine == "auto" and _is_else_open(self._fat, self.config)

    def choice(self, options: LoweringOptions) -> EngineChoice | None:
        """The places of the fewest cycles; ``None`` where there is no choice after all."""
        job = EngineJob(self._fat, self.config, options.binding, options.given)
        in_memory = self._memory(options.binding).made
        return choose_engines(job, self._parts, self._placed, in_memory, options.codes)

    def parts(self, binding: Binding, given: Collection[str]) -> Sequence[Made]:
        """The parts of a program where no place is chosen; arguments and errors as ``program`` has
        them. Nothing is remembered but graphs."""
        fat, config = self._fat, self.config
        if fat.engine == "near":
            zeros = frozenset({*fat.nest.results} - {*given})
            code = near_code(fat.nest, binding, config, reassociate=fat.reassociate, zeros=zeros)
            return [(elsewhere(fat.nest, ""), code)]
        memory = self._memory(binding)
        if config.core_lanes:
            return [memory.made(part) for part in self._parts]
        for part in self._parts:
            if part.refusal is not None:
                raise WorkloadError(part.refusal)
        alone = replace(memory, is_else_open=False)
        return [alone.made(part) for part in self._parts]

    def pieces(self, options: LoweringOptions, parts: Sequence[Made]) -> Pieces:
        """The code of ``parts``."""
        specs = self._specs(options.binding)
        codes, channels = options.codes, self.config.memory_channels
        return pieces_of(self.nest, [*specs.values()], parts, codes, options.given, channels)

    def _memory(self, binding: Binding) -> InMemory:
        is_else_open = _is_else_open(self._fat, self.config)
        return InMemory(binding, self._generator, self._slab_generator, self._tile, is_else_open)

    def _specs(self, binding: Binding) -> dict[str, TensorSpec]:
        return {
            each: TensorSpec(each, array.shape, self.nest.arrays[each].type.name)
            for each, array in binding.arrays.items()
        }

    def _new_placed(self, first: int, end: int) -> tuple[Part, ...]:
        """Parts of some of the nest's statements, with their engines."""
        nest = replace(self._fat.nest, body=self._fat.nest.body[first:end])
        return placed(nest, self._fat.parts[first:end])

    def _new_generator(self, part: Part, at: int) -> CodeGenerator:
        """A generator for one of the part's plans, on the arrays that it uses."""
        nest, steps = with_used_arrays(part.nest), part.plans[at]
        inside = {id(each) for each in part.nest.body}
        others = tuple(each for each in self.nest.body if id(each) not in inside)
        elsewhere = with_used_arrays(replace(self.nest, body=others)).arrays
        own = {*nest.arrays} & {*self.nest.temporaries} - {*elsewhere}
        return CodeGenerator(nest, steps, self.config, arrays_first=self._arrays_first, own=own)

    def _new_slab_generator(self, part: Part, at: int) -> SlabCodeGenerator:
        return SlabCodeGenerator(with_used_arrays(part.nest), part.plans[at], self.config)

    def _program(self, options: LoweringOptions, state: LoweringState) -> SpecialisedProgram:
        nest, binding = self.nest, options.binding
        specs, pieces, parts = self._specs(binding), made(state.pieces), made(state.parts)
        inputs = [each for each in specs if each in options.given or each not in nest.results]
        program = program_of(
            self.config,
            self._name,
            [(specs[each], pieces.lines[each]) for each in inputs],
            [(specs[each], pieces.lines[each]) for each in nest.results],
            made(state.units),
            state.words,
            nest.temporaries,
        )
        meaning = Meaning(
            nest,
            pieces.order,
            binding.sizes,
            {each: value.item() for each, value in binding.scalars.items()},
            tuple(step for part, code in parts if code is not None for step in part.steps),
            tuple(_where(part, code) for part, code in parts if part.nest.body),
            pieces.places,
            (
                *(state.choice.remarks(nest) if state.choice is not None else ()),
                *(text for part, code in parts for text in _remarks(part, code, self.config)),
            ),
        )
        return SpecialisedProgram(**vars(program), meaning=meaning)


@dataclass(frozen=True)
class LoweringOptions:
    """What the passes are told: for what values, as ``Specialiser.program`` has them, and who makes
    code for the core."""

    specialiser: Specialiser
    binding: Binding
    given: Collection[str]
    codes: CoreCodes


@dataclass(frozen=True)
class LoweringState:
    """What the passes have made: the choice of places, if there is one; ``words``: of the core's
    instructions; ``units``: of commands."""

    choice: EngineChoice | None = None
    parts: Sequence[Made] | None = None
    pieces: Pieces | None = None
    words: np.ndarray = field(default_factory=lambda: encode([]))
    units: np.ndarray | None = None


def _place(state: LoweringState, options: LoweringOptions) -> LoweringState:
    choice = options.specialiser.choice(options)
    return state if choice is None else replace(state, choice=choice, parts=choice.parts)


def _place_texts(state: LoweringState, options: LoweringOptions) -> dict[str, str]:
    return {"txt": text_of(made(state.choice).listing(options.specialiser.nest))}


def _lower(state: LoweringState, options: LoweringOptions, trace: Trace) -> Iterator[LoweringState]:
    """Code for the core lies behind memory's, whose size is known when it is there."""
    specialiser = options.specialiser
    with trace.timed("lower"):
        if state.parts is None:
            state = replace(state, parts=specialiser.parts(options.binding, options.given))
    with trace.timed("core"):
        pieces = specialiser.pieces(options, made(state.parts))
        state = replace(state, pieces=pieces, words=encode(pieces.instructions))
    yield state
    with trace.timed("assemble"):
        config = specialiser.config
        state = replace(state, units=joined(pieces.commands, pieces.lines, pieces.end, config))
    yield from (state, state)


def _commands_texts(state: LoweringState, options: LoweringOptions) -> dict[str, str]:
    config = options.specialiser.config
    return {"txt": text_of(line_of(config, each) for _, each in disassemble(made(state.units)))}


LOWERING: tuple[AnyPass[LoweringState, LoweringOptions], ...] = (
    Pass(
        "place",
        "which statements run where: cycles in each place",
        _place_texts,
        run=_place,
        is_needed=lambda state, options: options.specialiser.is_choice,
        is_reported=lambda state, options: state.choice is not None,
    ),
    Search(
        (
            PassResult(
                "core",
                "what memory does not compute, for the core: its instructions",
                lambda state, options: {"txt": text_of(core_listing(state.words))},
                is_reported=lambda state, options: len(state.words) > 0,
            ),
            PassResult(*LOWER, _commands_texts),
            PassResult(
                *ASSEMBLE, lambda state, options: {"txt": text_of(hexadecimal(made(state.units)))}
            ),
        ),
        run=_lower,
    ),
)
"""Passes that need sizes."""


def _digest(binding: Binding) -> bytes:
    """A digest of all elements of arrays."""
    digest = sha256()
    for array in binding.arrays.values():
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


def _remarks(
    part: Part, code: MemoryCode | Slabs | NearCode | None, config: SramConfig
) -> Iterator[str]:
    """What memory has no room for."""
    place = part.nest.body[0].place if part.nest.body else part.nest.place
    if isinstance(code, Slabs) and code.slabs:
        yield f"{place}: in {len(code.slabs)} slabs: banks have no room for its arrays at once"
    if isinstance(code, MemoryCode | Slabs) and code.returns:
        yield (
            f"{place}: {code.returns} times a value was loaded again: wordlines = "
            f"{config.wordlines}: do not hold all values that are in use at once"
        )


def _where(part: Part, piece: MemoryCode | Slabs | NearCode | None) -> EngineStatements:
    engine = "core" if piece is None else "near" if isinstance(piece, NearCode) else "memory"
    body = part.nest.body
    return EngineStatements(body[0].place, len(body), engine, part.refusal or "")

"""Fat programs at given sizes, as programs of commands: what is done when all is known.

Source: Infinity Stream, section 4.2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from gnarl.hw.lib.encoding.execute_assembly import encode
from gnarl.hw.lib.encoding.execute_isa import Instruction
from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.sram_compute.assembly import line_of
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import assemble, command, disassemble
from gnarl.sw.compiler.passes import Trace, text_of
from gnarl.sw.compiler.sram_compute.cost.places import EngineJob, choose_engines
from gnarl.sw.compiler.sram_compute.fat_program import FatProgram
from gnarl.sw.compiler.sram_compute.in_memory import InMemory, Made
from gnarl.sw.compiler.sram_compute.joined import joined, lines_of_commands
from gnarl.sw.compiler.sram_compute.lower.lower import CodeGenerator, MemoryCode
from gnarl.sw.compiler.sram_compute.meaning import EngineStatements, Meaning, SpecialisedProgram
from gnarl.sw.compiler.sram_compute.near.lower import NearCode, near_code
from gnarl.sw.compiler.sram_compute.on_core import CoreCodes
from gnarl.sw.compiler.sram_compute.placement import Part, elsewhere, placed, with_used_arrays
from gnarl.sw.compiler.sram_compute.sections import (
    core_listing,
    hexadecimal,
    line_count,
    program_of,
)
from gnarl.sw.compiler.sram_compute.slabs import Slab, SlabCodeGenerator, Slabs
from gnarl.sw.compiler.sram_compute.tdfg.compiled_order import compiled_order
from gnarl.sw.compiler.sram_compute.tdfg.plan import plan
from gnarl.sw.compiler.sram_compute.tile_choice import tile_choice
from gnarl.sw.program.tensor_spec import TensorSpec
from gnarl.sw.workloads.loops.ir.binding import Binding, bind
from gnarl.sw.workloads.loops.ir.nest import Array, Nest, Scalar, Statement
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


class MadeParts(NamedTuple):
    """Parts of a program. ``by_data``: whether their engines depend on the arrays' elements."""

    parts: Sequence[Made]
    by_data: bool = False


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
    scalars, and elements where these decide. ``name``: of the programs. Raises ``WorkloadError`` as
    ``require_places`` does."""

    def __init__(self, fat: FatProgram, name: str, config: SramConfig) -> None:
        require_places(fat, config)
        self._fat, self._name, self._config = fat, name, config
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
            codes = self.codes(binding)
            made = self.made(binding, key.given, codes, trace or Trace())
            if made.by_data and key not in self._by_data:
                self._by_data.add(key)
                by_data = key._replace(elements=_digest(binding))
            program = self._program(binding, key.given, codes, trace or Trace(), made.parts)
        self._remembered[by_data] = program  # behind the others: the first is the one to forget
        if len(self._remembered) > _REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        return program

    def codes(self, binding: Binding) -> CoreCodes:
        """The codes of parts on the core."""
        return CoreCodes(binding, self._config, reassociate=self._fat.reassociate)

    def made(
        self, binding: Binding, given: Collection[str], codes: CoreCodes, trace: Trace
    ) -> MadeParts:
        """The parts of a program, in the places of the fewest cycles where there is a choice;
        arguments and errors as ``program`` has them. Nothing is remembered but graphs."""
        fat, config = self._fat, self._config
        if fat.engine == "near":
            zeros = frozenset({*fat.nest.results} - {*given})
            code = near_code(fat.nest, binding, config, reassociate=fat.reassociate, zeros=zeros)
            return MadeParts([(elsewhere(fat.nest, ""), code)])
        generators = self._generator, self._slab_generator
        memory = InMemory(binding, *generators, self._tile, _is_else_open(fat, config))
        if fat.engine == "auto" and memory.is_else_open:
            job = EngineJob(fat, config, binding, given)
            chosen = choose_engines(job, self._parts, self._placed, memory.made, codes)
            if chosen is not None:
                listing = text_of(chosen.listing(fat.nest))
                trace.after("place", lambda: {"txt": listing})
                return MadeParts(chosen.parts, chosen.by_data)
        if config.core_lanes:
            return MadeParts([memory.made(part) for part in self._parts])
        for part in self._parts:
            if part.refusal is not None:
                raise WorkloadError(part.refusal)
        alone = replace(memory, is_else_open=False)
        return MadeParts([alone.made(part) for part in self._parts])

    def _new_placed(self, first: int, end: int) -> tuple[Part, ...]:
        """Parts of some of the nest's statements, with their engines."""
        nest = replace(self._fat.nest, body=self._fat.nest.body[first:end])
        return placed(nest, self._fat.parts[first:end])

    def _new_generator(self, part: Part, at: int) -> CodeGenerator:
        """A generator for one of the part's plans, on the arrays that it uses."""
        return CodeGenerator(with_used_arrays(part.nest), part.plans[at], self._config)

    def _new_slab_generator(self, part: Part, at: int) -> SlabCodeGenerator:
        return SlabCodeGenerator(with_used_arrays(part.nest), part.plans[at], self._config)

    def _program(
        self,
        binding: Binding,
        given: Collection[str],
        codes: CoreCodes,
        trace: Trace,
        found: Sequence[Made],
    ) -> SpecialisedProgram:
        nest, config = self._fat.nest, self._config
        specs = _specs(nest, binding)
        lines, end = _layout(list(specs.values()), [code for _, code in found])
        assembly = _Assembly(nest.parameters, {*nest.results} - {*given}, lines, codes)
        for part, code in found:
            assembly.add(part, code)
        words = encode(assembly.instructions)
        if assembly.instructions:
            trace.after("core", lambda: {"txt": text_of(core_listing(words))})
        units = joined(assembly.commands, lines, end, config.memory_lines)
        trace.after(
            "lower",
            lambda: {"txt": text_of(line_of(config, each) for _, each in disassemble(units))},
        )
        trace.after("assemble", lambda: {"txt": text_of(hexadecimal(units))})
        inputs = [each for each in specs if each in given or each not in nest.results]
        program = program_of(
            config,
            self._name,
            [(specs[each], lines[each]) for each in inputs],
            [(specs[each], lines[each]) for each in nest.results],
            units,
            words,
        )
        computed = replace(nest, parameters=assembly.parameters, body=tuple(assembly.body))
        meaning = _meaning(nest, computed, binding, found)
        return SpecialisedProgram(**vars(program), meaning=meaning)


class _Assembly:
    """Commands and instructions of parts, one behind the other, and what they compute.

    ``zeros``: arrays that are 0 before the next part; ``lines``: the first one of each array.
    """

    def __init__(
        self,
        parameters: tuple[Array | Scalar, ...],
        zeros: set[str],
        lines: Mapping[str, int],
        codes: CoreCodes,
    ) -> None:
        self._zeros, self._lines, self._codes = zeros, lines, codes
        self.parameters = parameters
        self.body: list[Statement] = []
        self.instructions: list[Instruction] = []
        self.commands: list[MemoryCode | Slab | np.ndarray] = []

    def add(self, part: Part, code: MemoryCode | Slabs | NearCode | None) -> None:
        """Adds a part; without code it is one on the core."""
        if isinstance(code, MemoryCode | Slabs):
            self.commands += code.slabs if isinstance(code, Slabs) else [code]
            own = replace(part.nest, parameters=self.parameters)
            order, _ = compiled_order(own, part.steps, code.orders)
            self.parameters = order.parameters
        elif isinstance(code, NearCode):
            self.commands.append(assemble(code.commands(self._lines)))
            order = code.order
        else:
            order = self._add_on_core(part)
        self.body += order.body
        self._zeros -= {*part.nest.results}

    def _add_on_core(self, part: Part) -> Nest:
        before = len(self.instructions)
        self.commands.append(assemble([command(Opcode.CORE, first=before)]))
        try:
            code = self._codes.made(part.nest, zeros=self._zeros, lines=self._lines, before=before)
        except (WorkloadError, CapacityError) as error:
            if not part.refusal:
                raise
            raise type(error)(f"{part.refusal}; on the core: {error}") from None
        self.instructions += code.instructions
        return code.order


def _digest(binding: Binding) -> bytes:
    """A digest of all elements of arrays."""
    digest = sha256()
    for array in binding.arrays.values():
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


def _specs(nest: Nest, binding: Binding) -> dict[str, TensorSpec]:
    return {
        each: TensorSpec(each, array.shape, nest.arrays[each].type.name)
        for each, array in binding.arrays.items()
    }


def _meaning(nest: Nest, computed: Nest, binding: Binding, found: Sequence[Made]) -> Meaning:
    """What a program of such parts means, which computes a nest as another one."""
    return Meaning(
        nest,
        computed,
        binding.sizes,
        {each: value.item() for each, value in binding.scalars.items()},
        tuple(step for part, code in found if code is not None for step in part.steps),
        tuple(_where(part, code) for part, code in found if part.nest.body),
    )


def _where(part: Part, piece: MemoryCode | Slabs | NearCode | None) -> EngineStatements:
    engine = "core" if piece is None else "near" if isinstance(piece, NearCode) else "memory"
    body = part.nest.body
    return EngineStatements(body[0].place, len(body), engine, part.refusal or "")


def _layout(
    specs: Sequence[TensorSpec], pieces: Sequence[MemoryCode | Slabs | NearCode | None]
) -> tuple[dict[str, int], int]:
    """The first line of each array, and that behind the last one: where they lie for the one piece
    that there is, if that is in memory and has all of them."""
    if len(pieces) == 1 and isinstance(pieces[0], MemoryCode):
        arrays = pieces[0].arrays
        if all(spec.name in arrays for spec in specs):
            lines = {name: array.first_line for name, array in arrays.items()}
            return lines, max(array.first_line + array.lines for array in arrays.values())
    line, lines = lines_of_commands(pieces), {}
    for spec in specs:
        lines[spec.name] = line
        line += line_count(spec)
    return lines, line

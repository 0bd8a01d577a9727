"""What a TMU program consists of: the nest it means, and what both units are given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from hw.lib.errors import GnarlError, ProgramError, WorkloadError, damaged_as
from hw.tmu.access_program import AccessProgram
from hw.tmu.config import LINE_WORDS, TmuConfig
from hw.tmu.execute_isa import INSTRUCTION_WORDS, Instruction
from hw.tmu.memory_map import memory_map
from sw.program.program import Launch
from sw.program.schema import Schema, Section, Sections
from sw.program.tensor_spec import TensorSpec
from sw.workloads.loops.binding import dimension
from sw.workloads.loops.nest import Nest
from sw.workloads.loops.printer import print_nest
from sw.workloads.loops.python_source import read_source
from sw.workloads.loops.workload import LoopWorkload
from sw.workloads.tensor.expression import Statement
from sw.workloads.tensor.parser import parse

ACCESS_SECTIONS = ("layers", "units", "streams", "events")


def encode(
    workload: LoopWorkload,
    bases: Mapping[str, int],
    access: AccessProgram,
    instructions: list[Instruction],
    config: TmuConfig,
) -> dict[str, np.ndarray]:
    """The sections of a program: a nest with its sizes, the expression that it was made of, and
    ``bases`` of its arrays and scalars in memory, in words."""
    nest, sizes = workload.nest, workload.binding.sizes
    words = [instruction.words() for instruction in instructions]
    return {
        "nest": _octets(print_nest(nest)),
        "expression": _octets(workload.expression),
        "sizes": np.array([sizes[size.name] for size in nest.sizes], np.int64),
        "bases": np.array([bases[each.name] for each in nest.parameters], np.int64),
        "instructions": np.array(words, np.uint32).reshape(-1, INSTRUCTION_WORDS),
        **access.rows(config),
    }


def _octets(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


def nest_of(sections: Sections) -> Nest:
    return _read(sections["nest"].tobytes())


@lru_cache(maxsize=8)
def _read(octets: bytes) -> Nest:
    return read_source(octets.decode(), "section 'nest'")


def sizes_of(sections: Sections) -> dict[str, int]:
    """By name."""
    names = [size.name for size in nest_of(sections).sizes]
    return dict(zip(names, sections["sizes"].tolist(), strict=True))


def bases_of(sections: Sections) -> dict[str, int]:
    """The first word of each array and scalar in memory."""
    names = [each.name for each in nest_of(sections).parameters]
    return dict(zip(names, sections["bases"].tolist(), strict=True))


def statement_of(sections: Sections) -> Statement | None:
    """The expression that the nest was made of, if of one."""
    return _parsed(sections["expression"].tobytes().decode())


@lru_cache(maxsize=8)
def _parsed(text: str) -> Statement | None:
    return parse(text) if text else None


def access_of(launch: Launch) -> AccessProgram:
    rows = {name: launch.sections[name] for name in ACCESS_SECTIONS}
    return AccessProgram.decoded(rows, TmuConfig.from_dict(launch.config))


def specs_of(
    nest: Nest, sizes: Mapping[str, int], statement: Statement | None = None
) -> dict[str, TensorSpec]:
    """Every array and scalar of a nest, by name. A ``statement``'s scalar result, which is an array
    of one element in its nest, has no dimension."""
    specs = {}
    for name, array in nest.arrays.items():
        shape = tuple(dimension(size, sizes) for size in array.shape)
        if statement is not None and name == statement.result.tensor:
            shape = shape[: len(statement.result.indices)]
        specs[name] = TensorSpec(name, shape, array.type.name)
    scalars = {name: TensorSpec(name, (), each.type.name) for name, each in nest.scalars.items()}
    return specs | scalars


def words_of(spec: TensorSpec) -> int:
    """How many words a tensor takes; its sizes are numbers."""
    return math.prod(int(size) for size in spec.shape)


def _check(launch: Launch, quantities: Mapping[str, Any]) -> None:
    """That the nest is sound, its arrays are the program's tensors and lie in memory, and rows and
    instructions decode."""
    sections = launch.sections
    with damaged_as(ProgramError, "section 'nest'"):
        try:
            nest = nest_of(sections)
        except GnarlError as error:
            raise ProgramError(str(error)) from error
    for name, expected in (("sizes", len(nest.sizes)), ("bases", len(nest.parameters))):
        if len(sections[name]) != expected:
            raise ProgramError(f"section {name!r}: must have {expected} numbers, as the nest has")
    with damaged_as(ProgramError, "section 'expression'"):
        try:
            statement = statement_of(sections)
        except WorkloadError as error:
            raise ProgramError(f"section 'expression': {error}") from error
    specs = specs_of(nest, sizes_of(sections), statement)
    for spec in (*launch.inputs, *launch.outputs):
        if specs.get(spec.name) != spec:
            raise ProgramError(f"section 'nest': does not match tensor {spec.name}")
    if tuple(spec.name for spec in launch.outputs) != nest.results:
        raise ProgramError("section 'nest': its results do not match the program's outputs")
    config = TmuConfig.from_dict(launch.config)
    for name, base in bases_of(sections).items():
        end = base + words_of(specs[name])
        if base % LINE_WORDS or base < 0 or end > config.memory_words:
            raise ProgramError(f"section 'bases': {name} must lie on lines of the memory")
    for window in memory_map(config).windows:
        rows = sections.get(window.name)
        if rows is not None and (len(rows) > window.rows or rows.shape[1] != window.words):
            raise ProgramError(
                f"section {window.name!r} is {list(rows.shape)}: must be at most {window.rows} "
                f"rows of {window.words} words"
            )
    try:
        access_of(launch)
        for words in sections["instructions"].tolist():
            Instruction.decoded(tuple(words))
    except ValueError as error:
        raise ProgramError(f"sections of the units: {error}") from error


TMU_SCHEMA = Schema(
    [
        Section("nest", np.uint8, ("octets",)),
        Section("expression", np.uint8, ("characters",)),
        Section("sizes", np.int64, ("sizes",), 0),
        Section("bases", np.int64, ("arrays",), 0),
        Section("layers", np.uint32, ("layer rows", "words of a layer")),
        Section("units", np.uint32, ("unit rows", "words of a unit")),
        Section("streams", np.uint32, ("stream rows", "words of a stream")),
        Section("events", np.uint32, ("event rows", "words of an event")),
        Section("instructions", np.uint32, ("instructions", "words of an instruction")),
    ],
    _check,
)

"""What a TMU program consists of: what it means, and what both units are given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hw.lib.errors import ProgramError, WorkloadError, damaged_as
from hw.lib.execute_isa import INSTRUCTION_WORDS, Instruction
from hw.lib.lines.line_size import LINE_WORDS
from hw.tmu.access_program import AccessProgram
from hw.tmu.config import TmuConfig
from hw.tmu.memory_map import memory_map
from sw.compiler.tmu.meaning import TEXTS, Meaning, meaning_of
from sw.program.program import Launch
from sw.program.schema import Schema, Section, Sections
from sw.program.tensor_spec import TensorSpec

ACCESS_SECTIONS = ("layers", "units", "streams", "events")


def encode(
    meaning: Meaning,
    bases: Mapping[str, int],
    access: AccessProgram,
    instructions: list[Instruction],
    config: TmuConfig,
) -> dict[str, np.ndarray]:
    """The sections of a launch; ``bases`` of its arrays and scalars in memory, in words."""
    words = [instruction.words() for instruction in instructions]
    return {
        **{name: np.frombuffer(text.encode(), np.uint8) for name, text in meaning.texts.items()},
        "sizes": np.array(meaning.numbers, np.int64),
        "bases": np.array([bases[name] for name in meaning.specs], np.int64),
        "instructions": np.array(words, np.uint32).reshape(-1, INSTRUCTION_WORDS),
        **access.rows(config),
    }


def meaning(sections: Sections) -> Meaning:
    """What the launch computes. Raises ``WorkloadError``, and what Python raises for damaged
    text."""
    texts = {name: sections[name].tobytes().decode() for name in TEXTS}
    return meaning_of(texts, tuple(sections["sizes"].tolist()))


def bases_of(sections: Sections) -> dict[str, int]:
    """The first word of each array and scalar in memory."""
    return dict(zip(meaning(sections).specs, sections["bases"].tolist(), strict=True))


def access_of(launch: Launch) -> AccessProgram:
    rows = {name: launch.sections[name] for name in ACCESS_SECTIONS}
    return AccessProgram.decoded(rows, TmuConfig.from_dict(launch.config))


def words_of(spec: TensorSpec) -> int:
    """How many words a tensor takes; its sizes are numbers."""
    return math.prod(int(size) for size in spec.shape)


def _check(launch: Launch, quantities: Mapping[str, Any]) -> None:
    """That the nest is sound, its arrays are the program's tensors and lie in memory, and rows and
    instructions decode."""
    sections = launch.sections
    with damaged_as(ProgramError, f"sections {', '.join(TEXTS)} and sizes"):
        try:
            found = meaning(sections)
        except WorkloadError as error:
            raise ProgramError(str(error)) from error
    if len(sections["bases"]) != len(found.specs):
        raise ProgramError(
            f"section 'bases': must have {len(found.specs)} numbers, as the nest has"
        )
    if launch.inputs != found.inputs([spec.name for spec in launch.inputs]):
        raise ProgramError("section 'nest': does not match the launch's inputs")
    if launch.outputs != found.outputs:
        raise ProgramError("section 'nest': does not match the launch's outputs")
    config = TmuConfig.from_dict(launch.config)
    for name, base in bases_of(sections).items():
        end = base + words_of(found.specs[name])
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
        Section("features", np.uint8, ("characters of features",)),
        Section("bag_offsets", np.uint8, ("characters of bag_offsets",)),
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

"""What a TMU program consists of: what it means, and what both units are given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.encoding.execute_isa import (
    INSTRUCTION_WORDS,
    TARGETS,
    Instruction,
    Opcode,
    Source,
)
from gnarl.hw.lib.errors import ProgramError, WorkloadError, damaged_as
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu import access_rules
from gnarl.hw.tmu.access_program import AccessProgram
from gnarl.hw.tmu.config import TmuConfig
from gnarl.hw.tmu.memory_map import memory_map
from gnarl.sw.compiler.tmu.meaning import TEXTS, Meaning, meaning_of
from gnarl.sw.execute.fields import fields_of_words
from gnarl.sw.program.launch import Sections
from gnarl.sw.program.program import Launch
from gnarl.sw.program.schema import Schema, Section
from gnarl.sw.program.tensor_spec import TensorSpec

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
    """Raises ``ProgramError`` unless the nest is sound, its arrays are the program's tensors and
    lie in memory, and rows and instructions decode."""
    sections = launch.sections
    with damaged_as(ProgramError, f"sections {', '.join(TEXTS)} and sizes"):
        try:
            meant = meaning(sections)
        except WorkloadError as error:
            raise ProgramError(str(error)) from error
    if len(sections["bases"]) != len(meant.specs):
        raise ProgramError(
            f"section 'bases': must have {len(meant.specs)} numbers, as the nest has"
        )
    if launch.inputs != meant.inputs([spec.name for spec in launch.inputs]):
        raise ProgramError("section 'nest': does not match the launch's inputs")
    if launch.outputs != meant.outputs:
        raise ProgramError("section 'nest': does not match the launch's outputs")
    config = TmuConfig.from_dict(launch.config)
    for name, base in bases_of(sections).items():
        end = base + words_of(meant.specs[name])
        if base % LINE_WORDS or base < 0 or end > config.memory_words:
            raise ProgramError(f"section 'bases': {name} must lie on lines of the memory")
    check_units(launch)


def check_units(launch: Launch) -> None:
    """Raises ``ProgramError`` where rows or instructions are not what the units take."""
    sections, config = launch.sections, TmuConfig.from_dict(launch.config)
    _check_shapes(sections, config)
    _check_instructions(sections["instructions"])
    try:
        rows = {name: sections[name] for name in ACCESS_SECTIONS}
        access_rules.check(rows, config, len(sections["instructions"]))
    except ProgramError as error:
        raise ProgramError(f"access program: {error}") from error


def _check_shapes(sections: Sections, config: TmuConfig) -> None:
    """Rows of layers, units and streams are all there, so that none of an earlier program's is
    left."""
    for window in memory_map(config).windows:
        rows = sections.get(window.name)
        if rows is None:
            continue
        is_whole = window.name in ("layers", "units", "streams")
        is_wrong = len(rows) != window.rows if is_whole else len(rows) > window.rows
        if is_wrong or rows.shape[1] != window.words:
            raise ProgramError(
                f"section {window.name!r} is {list(rows.shape)}: must be "
                f"{'' if is_whole else 'at most '}{window.rows} rows of {window.words} words"
            )


def _check_instructions(words: npt.NDArray[np.uint32]) -> None:
    """They decode, and none but these is ever reached."""
    fields = fields_of_words(words)
    is_none = ~np.isin(fields.opcode, list(Opcode))
    is_beyond = np.isin(fields.opcode, TARGETS) & (fields.immediate >= len(words))
    for number in np.flatnonzero(is_none | is_beyond | (fields.sources > max(Source)).any(axis=0)):
        place = f"instruction {number}"
        if is_beyond[number]:
            target = fields.immediate[number]
            raise ProgramError(f"{place}: target = {target}: must be below {len(words)}, their end")
        what = "opcode" if is_none[number] else "source of an operand"
        raise ProgramError(f"{place}: the {what} is none that there is")
    is_taken = np.isin(fields.sources, (Source.DEQUEUE, Source.DEQUEUE_SCALAR)).any(axis=0)
    # It may be done as one with the instruction before it, which takes what it takes alone.
    for number in np.flatnonzero(is_taken & (fields.opcode == Opcode.JUMP_TOKEN)):
        raise ProgramError(f"instruction {number}: JUMP_TOKEN: no operand can be of the data queue")
    if not len(words) or fields.opcode[-1] not in (Opcode.HALT, Opcode.JUMP, Opcode.JUMP_TOKEN):
        raise ProgramError("instructions: the last one must be HALT, JUMP or JUMP_TOKEN")


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

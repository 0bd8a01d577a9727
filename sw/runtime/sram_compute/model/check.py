"""Commands that the hardware refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import DIMENSIONS, NEAR_OPERATIONS, STRIP, Opcode, Second
from gnarl.hw.sram_compute.memory_map import CORE_CAUSES, ErrorCause
from gnarl.hw.sram_compute.operations import MAX_WIDTH
from gnarl.hw.sram_compute.program import Command


class StoppedError(ProgramError):
    """The hardware stops, with this ``cause`` and ``detail``."""

    def __init__(self, cause: ErrorCause, detail: int) -> None:
        where = "instruction" if cause in CORE_CAUSES.values() else "unit"
        where = "stream" if cause == ErrorCause.STREAM else where
        super().__init__(f"stops with {cause.name} at {where} {detail}")
        self.cause = cause
        self.detail = detail


def operand_is_bad(config: SramConfig, command: Command) -> bool:
    """Whether a number is beyond what the configuration has, or rows overlap."""
    fields = command.fields
    if command.opcode in (Opcode.LAYOUT, Opcode.END, Opcode.SYNC, Opcode.STREAM):
        return False
    if command.opcode == Opcode.COPY:
        bank_lines = config.banks * config.bank_words // LINE_WORDS
        return fields["lines"] == 0 or bool(fields["words"] + fields["lines"] > bank_lines)
    if command.opcode == Opcode.OPERATION:
        return _operation_is_bad(fields)
    if command.opcode == Opcode.NEAR:
        return min(fields["counts"]) == 0 or bool(fields["first_z"] >= fields["counts"][2])
    if command.opcode == Opcode.CORE:
        return bool(fields["first"] >= config.core_instructions)
    if command.opcode == Opcode.COMPUTE:
        return (
            fields["entry"] >= len(config.rom.words)
            or fields["n"] > MAX_WIDTH
            or max(fields["bases"]) >= config.wordlines
        )
    return _rows_are_bad(config, command)


def _operation_is_bad(fields: Mapping[str, Any]) -> bool:
    return (
        fields["operation"] not in list(NEAR_OPERATIONS)
        or fields["b_source"] not in list(Second)
        or bool(fields["offset"] > STRIP // 2)
        or fields["operation"] == ExecuteOpcode.FDIV
        and bool(fields["reads"] or fields["a_is_turned"])
        or fields["operation"] == ExecuteOpcode.STORE
        and bool(fields["reads"] or fields["d_is_turned"])
    )


def _rows_are_bad(config: SramConfig, command: Command) -> bool:
    """Whether a command on ``n`` rows of tiles has none, too many, or some beyond the array."""
    fields = command.fields
    n = fields["n"]
    if not 1 <= n <= MAX_WIDTH:
        return True
    if any(fields[name] + n > config.wordlines for name in ("a", "d", "row") if name in fields):
        return True
    between = fields.get("between", 0)
    if fields.get("distance", 0) >= config.bitlines or between >= config.tiles:
        return True
    if fields.get("packed", 0) and min(between, config.tiles - between) >= config.arrays:
        return True
    if _beyond(fields, "bitlines", config.bitlines):
        return True
    if any(_beyond(fields, name, config.tiles) for name in ("tiles", "sources", "copies")):
        return True
    if "a" not in fields:
        return False
    a, d = fields["a"], fields["d"]
    return abs(a - d) < n and not (a == d and command.opcode == Opcode.MOVE)


def layout_is_bad(config: SramConfig, fields: Mapping[str, Any]) -> bool:
    """Whether an entry of the layout override table makes no sense."""
    return (
        fields["element"] > 2
        or 1 << sum(fields["tile"]) != config.bitlines
        or min(fields["sizes"]) == 0
        or fields["chunked"] >= DIMENSIONS
    )


def _beyond(fields: Mapping[str, Any], name: str, places: int) -> bool:
    if f"{name}_start" not in fields:
        return False
    numbers = (fields[f"{name}_start"], *fields[f"{name}_strides"], *fields[f"{name}_counts"])
    return max(numbers) >= places

"""Commands as text, one a line: what listings show, and programs by hand are written in.

A line is the opcode's name in lower case, and fields: ``move a=0 d=32 n=8 distance=1
bitlines=0:1:16 tiles=0:2:2``. What is left out is 0. Arrays of numbers have commas between them.
A pattern is its start, then stride and number of places of each level, as in Infinity Stream,
section 4.2. ``compute`` names its operation: ``compute float32.add bases=0,32,64,0,96``, with
``n=8`` where the width is a parameter; so does ``operation fadd slot=1 d=2 a=0 b=1``. ``#`` begins
a comment.
"""

from __future__ import annotations

from typing import Any

from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.lib.text_lines import plain, words_of
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import COMMANDS, NEAR_OPERATIONS, Opcode
from gnarl.hw.sram_compute.pattern import LEVELS
from gnarl.hw.sram_compute.program import Command, command

_NAMING = (Opcode.COMPUTE, Opcode.OPERATION)

_OPERATIONS = {each.name.lower(): each.value for each in NEAR_OPERATIONS}

_PATTERNS = ("bitlines", "tiles", "sources", "copies")


def line_of(config: SramConfig, given: Command) -> str:
    """The text of a command; an entry at which no operation begins remains a number."""
    fields = dict(given.fields)
    words = [given.opcode.name.lower()]
    if given.opcode == Opcode.COMPUTE:
        name = _operation_at(config, fields["entry"], fields["n"])
        if name is not None:
            words.append(name)
            del fields["entry"]
    if given.opcode == Opcode.OPERATION and fields["operation"] in _OPERATIONS.values():
        words.append(ExecuteOpcode(fields.pop("operation")).name.lower())
    for name in _PATTERNS:
        if f"{name}_start" in fields:
            parts = [fields.pop(f"{name}_{part}") for part in ("start", "strides", "counts")]
            fields[name] = _pattern_text(*parts)
    for name, value in fields.items():
        if isinstance(value, tuple):
            value = ",".join(map(str, value)) if any(value) else 0
        if value not in (0, "0"):
            words.append(f"{name}={value}")
    return " ".join(words)


def command_of(config: SramConfig, line: str) -> Command:
    """Inverse of ``line_of``. Raises ``WorkloadError`` for what is none, or does not fit."""
    first, *words = words_of(line)
    try:
        opcode = Opcode[first.upper()]
    except KeyError:
        known = ", ".join(each.name.lower() for each in Opcode)
        raise WorkloadError(f"{first}: no such command; there are {known}") from None
    operation, fields = _operation_and_fields(opcode, words)
    if operation is not None and opcode == Opcode.OPERATION:
        if "operation" in fields:
            raise WorkloadError("operation: is given twice")
        if operation not in _OPERATIONS:
            raise WorkloadError(
                f"{operation}: no such operation; there are {', '.join(_OPERATIONS)}"
            )
        fields["operation"] = _OPERATIONS[operation]
    elif operation is not None:
        if "entry" in fields:
            raise WorkloadError("entry: is given twice")
        fields["entry"] = _entry(config, operation, fields.get("n", 0))
    for name, value in fields.items():
        _check_form(opcode, name, value)
    return command(opcode, **fields)


def _operation_and_fields(opcode: Opcode, words: list[str]) -> tuple[str | None, dict[str, Any]]:
    """The operation that is named, if one is, and the fields."""
    fields: dict[str, Any] = {}
    operation = None
    for word in words:
        name, equals, value = word.partition("=")
        if not equals and opcode in _NAMING and operation is None:
            operation = name
        elif not equals:
            raise WorkloadError(f"{word}: must be a field and its value, as n=8")
        elif name in fields or f"{name}_start" in fields:
            raise WorkloadError(f"{name}: is given twice")
        elif name in _PATTERNS:
            fields |= _pattern_fields(name, value)
        else:
            fields[name] = _numbers(name, value)
    return operation, fields


def _operation_at(config: SramConfig, entry: int, n: int) -> str | None:
    for name, operation in config.operations.items():
        try:
            if config.rom.entry(operation, n) == entry:
                return name
        except ValueError:  # not with this width
            continue
    return None


def _entry(config: SramConfig, name: str, n: int) -> int:
    operation = config.operations.get(name)
    if operation is None:
        raise WorkloadError(f"{name}: no such operation; there are {', '.join(config.operations)}")
    try:
        return config.rom.entry(operation, n)
    except ValueError as error:
        raise WorkloadError(str(error)) from None


def _pattern_text(start: int, strides: tuple[int, ...], counts: tuple[int, ...]) -> str:
    levels = [
        f":{stride}:{count + 1}"
        for stride, count in zip(strides, counts, strict=True)
        if stride or count
    ]
    return f"{start}{''.join(levels)}"


def _pattern_fields(name: str, text: str) -> dict[str, Any]:
    parts = [_number(name, part) for part in text.split(":")]
    if len(parts) % 2 == 0 or len(parts) > 1 + 2 * LEVELS or min(parts[2::2], default=1) < 1:
        raise WorkloadError(
            f"{name}={text}: must be a start, and up to {LEVELS} strides and numbers of places"
        )
    padding = (0,) * (LEVELS - len(parts) // 2)
    return {
        f"{name}_start": parts[0],
        f"{name}_strides": (*parts[1::2], *padding),
        f"{name}_counts": (*(count - 1 for count in parts[2::2]), *padding),
    }


def _numbers(name: str, text: str) -> int | tuple[int, ...]:
    found = tuple(_number(name, part) for part in text.split(","))
    return found if len(found) > 1 else found[0]


def _number(name: str, text: str) -> int:
    try:
        return int(plain(text), 0)
    except ValueError:
        raise WorkloadError(f"{name}={text}: must be whole numbers") from None


def _check_form(opcode: Opcode, name: str, value: Any) -> None:
    layout = COMMANDS[opcode]
    if name == "opcode" or name not in layout.members:
        raise WorkloadError(f"{name}: {opcode.name.lower()} has no such field")
    shape = layout.members[name]
    length = getattr(shape, "length", 1)
    values = value if isinstance(value, tuple) else (value,)
    if len(values) != length:
        raise WorkloadError(f"{name}: must be {length} numbers, not {len(values)}")
    most = (1 << layout[name].width // length) - 1
    if min(values) < 0 or max(values) > most:
        raise WorkloadError(f"{name}: must be from 0 to {most}")

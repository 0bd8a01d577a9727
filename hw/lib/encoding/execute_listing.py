"""Text of the execute unit's instructions, which ``execute_assembly`` reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from gnarl.hw.lib.encoding.execute_assembly import assemble
from gnarl.hw.lib.encoding.execute_forms import (
    DSTS,
    FLOATING,
    FORMS,
    OPERANDS,
    SOURCES,
    Form,
    FormPart,
    mnemonic,
)
from gnarl.hw.lib.encoding.execute_isa import ALL_LANES, Instruction, Operand, Source
from gnarl.hw.lib.encoding.execute_syntax import float_text
from gnarl.hw.lib.errors import WorkloadError

_WORD = 0xFFFF_FFFF
_SIGN = 1 << 31


def listing(
    instructions: Sequence[Instruction], labels: Mapping[str, int] | None = None
) -> Iterator[str]:
    """Lines of which ``assemble`` makes ``instructions`` again, with ``labels`` where they are, and
    others, such as ``i12``, at targets that have none."""
    names: dict[int, list[str]] = {}
    for name, address in (labels or {}).items():
        names.setdefault(address, []).append(name)
    for instruction in instructions:
        target, name = instruction.immediate, f"i{instruction.immediate}"
        has_target = FormPart.TARGET in (_form(instruction) or ())
        if has_target and target <= len(instructions) and name not in (labels or {}):
            names.setdefault(target, [name])
    for address in range(len(instructions) + 1):
        yield from (f"{name}:" for name in names.get(address, ()))
        if address < len(instructions):
            yield f"    {_text(instructions[address], names)}"


def _text(instruction: Instruction, names: Mapping[int, Sequence[str]]) -> str:
    """Its text, or its words where they say more than a text would."""
    form, words = _form(instruction), instruction.words()
    if form is not None:
        text = _written(instruction, form, {})
        with suppress(WorkloadError):
            if assemble(text).instructions[0].words() == words:
                return _written(instruction, form, names)
    return ".word " + ", ".join(f"{word:#010x}" for word in words)


def _form(instruction: Instruction) -> Form | None:
    return FORMS.get((instruction.opcode, instruction.vector))


def _written(instruction: Instruction, form: Form, names: Mapping[int, Sequence[str]]) -> str:
    parts = [_part(instruction, part, names) for part in form]
    first = mnemonic(instruction.opcode, instruction.vector)
    return " ".join([first, ", ".join(part for part in parts if part)]).rstrip()


def _part(instruction: Instruction, part: FormPart, names: Mapping[int, Sequence[str]]) -> str:
    immediate = instruction.immediate & _WORD
    signed = immediate - ((immediate & _SIGN) << 1)
    if part in DSTS:
        return f"{DSTS[part]}{instruction.dst}"
    if part in OPERANDS:
        operand = getattr(instruction, OPERANDS[part])
        if operand.source == Source.IMMEDIATE:
            is_float = instruction.opcode in FLOATING
            return float_text(immediate) if is_float else str(signed)
        return _source_text(operand, instruction.vector)
    if part == FormPart.ADDRESS:
        if instruction.a == Operand():
            return f"[{immediate}]"
        offset = f" {'-' if signed < 0 else '+'} {abs(signed)}" if signed else ""
        return f"[{_source_text(instruction.a, False)}{offset}]"
    if part == FormPart.TARGET:
        return names.get(immediate, [str(immediate)])[0]
    if part == FormPart.LANE:
        return str(immediate)
    if part == FormPart.MASK:
        return f"m{instruction.mask}" if instruction.mask != ALL_LANES else ""
    if instruction.increment == 0:
        return ""
    return f"s{instruction.a.index} += {instruction.increment}"


def _source_text(operand: Operand, vector: bool) -> str:
    for text, source in SOURCES.items():
        if operand.source == source:
            return text
    if operand.source == Source.REGISTER:
        return f"{'v' if vector else 's'}{operand.index}"
    return f"s{operand.index}" + ("" if vector else ".s")

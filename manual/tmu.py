"""Writes the reference of the TMU's programs: ``python -m manual.tmu``.

Streams, events and instructions are taken from the docstrings, layouts and enumerations of
``hw/tmu/access_isa.py`` and ``hw/lib/encoding/execute_isa.py``.
"""

from __future__ import annotations

import enum
import inspect
import re
import textwrap
from pathlib import Path

from amaranth.hdl import Shape
from amaranth.lib import data

from gnarl.hw.lib.encoding import execute_assembly, execute_isa
from gnarl.hw.lib.machine.memory_map import CommonCause
from gnarl.hw.tmu import access_isa, access_rules
from gnarl.hw.tmu.config import TmuConfig
from gnarl.hw.tmu.memory_map import (
    ACCESS_EVENTS,
    EXECUTE_EVENTS,
    MEMORY_EVENTS,
    QUEUE_EVENTS,
    TOTALS,
    ErrorCause,
    memory_map,
)

PATH = Path(__file__).parents[1] / "docs" / "tmu_isa.md"

_ACCESS_ENUMS = ("Mode", "StreamKind", "AluOperation", "Source", "Event", "EventKind")
_ACCESS_ROWS = ("LAYER", "UNIT", "STREAM", "EVENT", "STEPS", "OPERAND")


def manual(config: TmuConfig) -> str:
    """The manual as Markdown, with the memory map of ``config``."""
    parts = [
        "# The TMU's programs\n\nWritten by `python -m manual.tmu` from `hw/tmu/access_isa.py`, "
        "`access_rules.py`, `memory_map.py`, `hw/lib/encoding/execute_isa.py` and "
        "`execute_assembly.py`; a test compares. "
        "[tmu.md](tmu.md) explains how the units work together.",
        "## The access unit\n\n" + _text(access_isa),
        *(_enumeration(access_isa, name) for name in _ACCESS_ENUMS),
        "### Rows\n\nFields from bit 0 up, in words of 32 bits, the lowest first.",
        *(_layout(name, getattr(access_isa, name)) for name in _ACCESS_ROWS),
        "### Rules\n\n" + _listed(access_rules),
        "## The execute unit\n\n" + _text(execute_isa),
        *(_enumeration(execute_isa, name) for name in ("Opcode", "Source", "Fault")),
        "### Encoding\n\nFields from bit 0 up.",
        _layout("INSTRUCTION", execute_isa.INSTRUCTION),
        _layout("OPERAND", execute_isa.OPERAND),
        "## Instructions as text\n\n" + _text(execute_assembly),
        _host(config),
    ]
    return "\n\n".join(parts) + "\n"


def _text(documented: object) -> str:
    """A docstring without its first line, as Markdown."""
    lines = (inspect.getdoc(documented) or "").split("\n", 2)
    return _markdown(lines[2] if len(lines) > 2 else lines[0])


def _listed(documented: object) -> str:
    """Markdown like that of ``_text``, of a docstring with a list."""
    blocks = (inspect.getdoc(documented) or "").split("\n\n")[1:]
    return "\n\n".join(
        "\n".join(f"- {_markdown(item)}" for item in re.split(r"(?:^|\n)- ", block)[1:])
        if block.startswith("- ")
        else _markdown(block)
        for block in blocks
    )


def _markdown(text: str) -> str:
    """Paragraphs on a line each; what is indented stays as it is."""
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if re.match(r"\s", block) or "\n    " in block:
            blocks.append(f"```text\n{textwrap.dedent(block)}\n```")
        else:
            blocks.append(" ".join(block.split()).replace("``", "`"))
    return "\n\n".join(blocks)


def _enumeration(module: object, name: str) -> str:
    """Its docstring, and its values."""
    kind: type[enum.Enum] = getattr(module, name)
    text = inspect.getdoc(kind) or ""
    values = ", ".join(f"`{each.name}` {each.value}" for each in kind)
    body = _markdown(text) if "\n    " not in text else _grouped(text)
    return f"### {name}\n\n{body}\n\n{values}"


def _grouped(text: str) -> str:
    """A docstring of groups with indented bodies: a list item each."""
    groups: list[str] = []
    for line in text.splitlines():
        if line.startswith("    "):
            groups[-1] += " " + line.strip()
        elif line:
            groups.append(line if not groups else f"- **{line.strip()}**:")
        else:
            continue
    head, *items = groups
    return f"{head}\n\n" + "\n".join(items).replace("``", "`")


def _layout(name: str, layout: data.StructLayout) -> str:
    rows = [
        f"| `{field}` | {layout[field].offset} | {Shape.cast(shape).width} |"
        for field, shape in layout.members.items()
    ]
    head = f"**{name}**, {layout.size} bits\n\n| field | first bit | bits |\n| --- | --- | --- |"
    return "\n".join([head, *rows])


def _host(config: TmuConfig) -> str:
    """Windows, counters and errors."""
    windows = [
        f"| `{window.name}` | {window.base:#x} | {window.rows} | {window.words} |"
        for window in memory_map(config).windows
    ]
    counters = (EXECUTE_EVENTS, ACCESS_EVENTS, QUEUE_EVENTS, MEMORY_EVENTS, TOTALS)
    names = "\n".join("- " + ", ".join(f"`{name}`" for name in each) for each in counters)
    return "\n".join(
        [
            "## The host's view",
            "",
            "Windows of `tmu_l8`, behind the registers that every accelerator has. "
            + _markdown(inspect.getdoc(memory_map) or ""),
            "",
            "| window | first word | rows | words of a row |",
            "| --- | --- | --- | --- |",
            *windows,
            "",
            "Counters, of both units, the queues, memory, and sums over the cycles:",
            "",
            names,
            "",
            "Causes of errors: "
            + ", ".join(f"`{cause.name}` {cause.value}" for cause in (*ErrorCause, *CommonCause))
            + ". "
            + _markdown((inspect.getdoc(ErrorCause) or "").split("\n", 2)[2])
            + " `CYCLE_LIMIT`: see [limits of cycles](cycle_limits.md).",
        ]
    )


def main() -> None:
    PATH.write_text(manual(TmuConfig()), encoding="utf-8")


if __name__ == "__main__":
    main()

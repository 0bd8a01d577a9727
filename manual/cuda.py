"""Writes the reference of schedule templates: ``python -m manual.cuda``.

All of it comes from the templates' classes, the headers and the list of architectures.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from gnarl.sw.compiler.cuda.architectures import ARCHITECTURES
from gnarl.sw.compiler.cuda.templates import templates
from gnarl.sw.compiler.cuda.templates.template import Template
from gnarl.sw.program.atomic import write_text

PATH = Path(__file__).parents[1] / "docs" / "cuda_templates.md"


def manual() -> str:
    """The page."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# Schedule templates of the CUDA target"
    yield ""
    yield (
        "Written by `python -m manual.cuda` from the templates' classes; a test "
        "compares the two. [cuda.md](cuda.md) explains what a schedule is and how to add a "
        "template."
    )
    for template in templates().values():
        yield ""
        yield f"## {template.name}"
        yield ""
        yield from _described(template)
    yield ""
    yield "## Architectures"
    yield ""
    yield (
        "| architecture | warps an SM | blocks an SM | registers an SM | shared memory an SM | "
        "shared memory a block |"
    )
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, limits in ARCHITECTURES.items():
        yield (
            f"| `{name}` | {limits.warps_per_sm} | {limits.blocks_per_sm} | "
            f"{limits.registers_per_sm:,} | {limits.shared_per_sm // 1024} KiB | "
            f"{limits.shared_per_block // 1024} KiB |"
        )
    yield ""


def _described(template: Template) -> Iterator[str]:
    text = (inspect.getdoc(type(template)) or "").replace("``", "`")
    for paragraph in text.split("\n\n"):
        yield " ".join(paragraph.split())
        yield ""
    header = template.header
    yield f"Header [`{header}`](../sw/compiler/cuda/include/{header}), struct `{template.struct}`."
    yield ""
    yield "| parameter | candidates try | meaning |"
    yield "| --- | --- | --- |"
    for parameter in template.parameters:
        values = ", ".join(map(str, parameter.values))
        meaning = re.sub("``", "`", parameter.meaning)
        yield f"| `{parameter.name}` | {values} | {meaning} |"


if __name__ == "__main__":
    write_text(PATH, manual())

"""Writes the reference of commands and configurations: ``python -m manual.pages``.

``docs/commands.md`` and ``docs/configurations.md`` are whole; examples, and reports on the demo's
workloads, are sections of other pages. All of it comes from the command line's and the
configurations' own texts, from the examples and from runs of the demo's workloads.
"""

from __future__ import annotations

import dataclasses
import inspect
import io
import re
import tempfile
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from gnarl.sw.commands.main import main
from gnarl.sw.program.atomic import write_text
from gnarl.sw.runtime.explore import points
from gnarl.sw.runtime.report.report import JSON_FIELDS
from gnarl.sw.runtime.run import comparison_report
from gnarl.sw.runtime.run.session import run_once
from gnarl.sw.runtime.target.configuration import configuration_files, load_configuration
from gnarl.sw.runtime.target.registry import TARGETS
from manual.markers import with_sections

ROOT = Path(__file__).parents[1]
DEMO: Mapping[str, tuple[str, str, str]] = {
    "page": ("dpu_d3_b64", "circuit", "rtl"),
    "sam_page": ("sam_fp32", "matmul", "rtl"),
    "cuda_page": ("cuda_sm90", "recommendation", "emulation"),
}
"""Configuration, example and backend of the README's reports, by the names of their sections."""

QUICKSTARTS: Mapping[str, Path] = {
    "quickstart": ROOT / "docs" / "dpu.md",
    "sam_quickstart": ROOT / "docs" / "sam.md",
    "cuda_quickstart": ROOT / "docs" / "cuda.md",
    "tmu_quickstart": ROOT / "docs" / "tmu.md",
}
"""The page that shows each of ``examples/``, by the names of file and section."""

_COLUMNS = 88


def pages() -> dict[Path, str]:
    """Every generated file's whole text, by its path; the reports in the README as they are."""
    found = {
        ROOT / "docs" / "commands.md": commands(),
        ROOT / "docs" / "configurations.md": configurations(),
    }
    for name, path in QUICKSTARTS.items():
        example = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
        found[path] = with_sections(path, {name: f"```python\n{example}```"})
    return found


def demo_page(config: str, name: str, backend: str) -> str:
    """The report on one of the demo's workloads, but for the times."""
    configuration = load_configuration(config)
    with tempfile.TemporaryDirectory() as folder:
        examples = configuration.target.reader.examples(Path(folder))
        example = next(example for example in examples if example.name == name)
        report = run_once(
            configuration,
            example.source,
            tensors=example.tensors,
            options=example.options,
            backend=backend,
        )
    text = io.StringIO()
    replace(report, seconds={}).print(
        Console(file=text, width=_COLUMNS, color_system=None, markup=False)
    )
    return "\n".join(line.rstrip() for line in text.getvalue().strip().splitlines())


def commands() -> str:
    """The page of commands, as ``--help`` shows them."""
    parts = [
        "# Commands\n\nWritten by `python -m manual.pages` from the help texts; a test compares "
        "the two. `make` lists the commands that need no set-up."
    ]
    context = click.Context(main, info_name="gnarl", terminal_width=96)
    parts.append(_console("gnarl --help", main.get_help(context)))
    for name in main.list_commands(context):
        command = main.commands[name]
        below = click.Context(command, info_name=name, parent=context, terminal_width=96)
        parts.append(f"## gnarl {name}")
        parts.append(_console(f"gnarl {name} --help", command.get_help(below)))
    printed = {
        "run": JSON_FIELDS,
        "compare": comparison_report.JSON_FIELDS,
        "explore": points.JSON_FIELDS,
    }
    for name, fields in printed.items():
        parts.append(f"## The object that `gnarl {name} --json` prints")
        rows = [f"| `{field}` | {meaning} |" for field, meaning in fields.items()]
        parts.append("\n".join(["| field | what it is |", "| --- | --- |", *rows]))
    return "\n\n".join(parts) + "\n"


def configurations() -> str:
    """The page of configurations: those that are shipped, and each target's fields."""
    parts = [
        "# Configurations\n\nWritten by `python -m manual.pages` from `configs/` and the "
        "configuration classes; a test compares the two.\n\nA configuration is a TOML file: its "
        'target, as `target = "dpu"`, and those fields that differ from the defaults. Commands '
        "take the name of a file in `configs/` or the path of any other, and `--set field=value` "
        "changes a field. [sam.md](sam.md#graphs-and-fabrics) explains what a SAM configuration "
        "with an expression, with a fabric, or with neither is.",
        _shipped(),
    ]
    for target in TARGETS.values():
        kind = target.configuration
        parts.append(f"## Fields of target `{target.name}`")
        parts.append(_fields(kind))
    return "\n\n".join(parts) + "\n"


def _shipped() -> str:
    """Every shipped configuration and its note."""
    lines = ["| configuration | what it is |", "| --- | --- |"]
    for name in configuration_files():
        note = load_configuration(name).note
        lines.append(f"| [`{name}`](../configs/{name}.toml) | {note} |")
    return "\n".join(lines)


def _console(command: str, output: str) -> str:
    return f"```console\n$ {command}\n{output.rstrip()}\n```"


def _fields(kind: Any) -> str:
    """A table from the dataclass's docstring: ``name`` and, indented below, its meaning."""
    text = inspect.getdoc(kind) or ""
    meanings = {
        entry[1]: " ".join(textwrap.dedent(entry[2]).split())
        for entry in re.finditer(r"^(\w+)\n((?:    .*\n?)+)", text, re.M)
    }
    lines = ["| field | default | meaning |", "| --- | --- | --- |"]
    for field in dataclasses.fields(kind):
        meaning = meanings[field.name].replace("``", "`")
        lines.append(f"| `{field.name}` | {_toml(field.default)} | {meaning} |")
    return "\n".join(lines)


def _toml(value: Any) -> str:
    """The value as a configuration's file writes it; nothing for what no file can."""
    if value is None:
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text}`" if text else '`""`'


def write() -> None:
    """Writes every page, and runs the demo's workloads for the README. Takes minutes at first."""
    for path, text in pages().items():
        write_text(path, text)
    reports = {name: f"```text\n{demo_page(*run)}\n```" for name, run in DEMO.items()}
    readme = ROOT / "README.md"
    write_text(readme, with_sections(readme, reports))


if __name__ == "__main__":
    write()

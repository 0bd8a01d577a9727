"""Views of waves, read back, and the signals of Verilog as a trace has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from gnarl.sw.runtime.machine.waves.trace_names import Variable


def gtkwave_groups(path: Path) -> dict[str, list[str]]:
    """Names of a save file's signals, with ranges of bits, by group."""
    groups: dict[str, list[str]] = {}
    group = ""
    for line in path.read_text().splitlines():
        if line.startswith("-"):
            group = "" if group else line[1:]
            groups.setdefault(group, []) if group else None
        elif not line.startswith(("@", "[")):
            groups[group].append(line)
    return groups


def surfer_groups(path: Path) -> dict[str, list[str]]:
    """Names of a command file's signals, without ranges, by divider. Whoever is given a format is
    the item at the place that is said."""
    groups: dict[str, list[str]] = {}
    items: list[str] = []
    for line in path.read_text().splitlines():
        command, _, word = line.partition(" ")
        if command == "divider_add":
            groups[word] = []
            items.append(word)
        elif command == "variable_add":
            groups[list(groups)[-1]].append(word)
            items.append(word)
        elif command == "item_focus":
            letters, _, name = word.partition("_")
            place = 0
            for letter in letters:
                place = 26 * place + ord(letter) - ord("a")
            assert items[place] == name
        else:
            assert line in ("item_set_format Unsigned", "item_set_format Binary", *_LAST)
    return groups


_LAST = ("item_unfocus", "zoom_fit")


def verilog_variables(verilog: str, top: str) -> list[Variable]:
    """The signals of a module and all in it, as Verilator's trace has them."""
    modules: dict[str, list[str]] = {}
    for line in verilog.splitlines():
        if found := re.match(r"module \\?(\S+?) ?\(", line):
            lines = modules.setdefault(found[1], [])
        elif line.startswith("  ") and line[2] not in " (":
            lines.append(line)
    return [Variable((top,), "clk", ""), *_variables(modules, top, ("TOP", top))]


def _variables(
    modules: dict[str, list[str]], module: str, scope: tuple[str, ...]
) -> Iterator[Variable]:
    for line in modules.get(module, ()):
        if found := re.match(r"  (?:wire|reg) (\[\S+\] )?\\?(\S+?)(?: [=\[].*| ?);", line):
            yield Variable(scope, found[2], (found[1] or "").strip())
        elif (found := re.match(r"  \\?(\S+) +\\?(\S+) +\($", line)) and found[1] in modules:
            yield from _variables(modules, found[1], (*scope, found[2]))

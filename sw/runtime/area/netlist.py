"""What a gate-level netlist consists of, from Verilog as Yosys writes it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gnarl.hw.lib.memory.size import MemorySize

_MODULE = re.compile(r"^module (\\\S+|\w+)", re.M)
_PINS = re.compile(r"^  (\\\S+|[A-Za-z_]\w*) +(\\\S+|[A-Za-z_]\w*) +\($\n(.*?)^  \);$", re.M | re.S)
_INSTANCE = re.compile(r"^  (\\\S+|[A-Za-z_]\w*) +(\\\S+|[A-Za-z_]\w*) +\($", re.M)


@dataclass
class NetlistModule:
    """One module.

    text
        its definition.
    cells
        how many there are of each kind of cell.
    parts
        instances of other modules: their names and the modules'.
    """

    text: str = ""
    cells: Counter[str] = field(default_factory=Counter)
    parts: list[tuple[str, str]] = field(default_factory=list)


def parse_netlist(text: str) -> dict[str, NetlistModule]:
    """The modules of a netlist by name; memories are parts, although they have no definition.

    For what ``write_verilog -noexpr`` writes, where instances begin on lines of their own.
    """
    starts = list(_MODULE.finditer(text))
    names = [_plain(found[1]) for found in starts]
    ends = [found.start() for found in starts[1:]] + [len(text)]
    modules = {
        name: NetlistModule(text[start.start() : end])
        for name, start, end in zip(names, starts, ends, strict=True)
    }
    for module in modules.values():
        for found in _INSTANCE.finditer(module.text):
            kind, instance = map(_plain, found.groups())
            if kind in modules or MemorySize.of_module(kind):
                module.parts.append((instance, kind))
            else:
                module.cells[kind] += 1
    return modules


def text_of(modules: Mapping[str, NetlistModule], top: str) -> str:
    """The text of a module and all below, the module first."""
    texts: dict[str, str] = {}
    waiting = [top]
    while waiting:
        name = waiting.pop()
        if name in modules and name not in texts:
            texts[name] = modules[name].text
            waiting += [kind for _, kind in modules[name].parts]
    return "".join(texts.values())


def register_signals(
    module: NetlistModule, outputs: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Output pins of the module's registers (``_19_/Q``), and the signals there (``valid[3]``).

    ``outputs``: the pin by kind of cell.
    """
    for kind, cell, pins in _PINS.findall(module.text):
        if pin := outputs.get(_plain(kind)):
            if net := re.search(rf"\.{re.escape(pin)}\((.*)\)", pins):
                yield f"{identifier(cell)}/{pin}", _plain(net[1]).replace(" ", "")


def with_plain_names(text: str) -> str:
    """The netlist with letters, digits and _ alone in the names of modules and instances.

    OpenSTA takes others for parts of paths, or knows them under their escaped names only.
    """

    def module(found: re.Match[str]) -> str:
        return f"module {identifier(found[1])} "

    def instance(found: re.Match[str]) -> str:
        return f"  {identifier(found[1])} {identifier(found[2])} ("

    return _INSTANCE.sub(instance, _MODULE.sub(module, text))


def identifier(name: str) -> str:
    """What ``with_plain_names`` makes of a name, with or without Verilog's escape."""
    return re.sub(r"\W", "_", _plain(name), flags=re.ASCII)


def _plain(name: str) -> str:
    """The name without Verilog's escape."""
    return name.removeprefix("\\")

"""What a gate-level netlist consists of, from Verilog as Yosys writes it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from hw.lib.memory_size import MemorySize

_MODULE = re.compile(r"^module (\\\S+|\w+)", re.M)
_INSTANCE = re.compile(r"^  (\\\S+|[A-Za-z_]\w*) +(\\\S+|[A-Za-z_]\w*) +\($", re.M)


@dataclass
class NetlistModule:
    """One module.

    cells
        how many there are of each kind of cell.
    parts
        instances of other modules: their names and the modules'.
    """

    cells: Counter[str] = field(default_factory=Counter)
    parts: list[tuple[str, str]] = field(default_factory=list)


def parse_netlist(text: str) -> dict[str, NetlistModule]:
    """The modules of a netlist by name; memories are parts, although they have no definition.

    For what ``write_verilog -noexpr`` writes, where instances begin on lines of their own.
    """
    starts = list(_MODULE.finditer(text))
    names = [_plain(found[1]) for found in starts]
    modules: dict[str, NetlistModule] = {name: NetlistModule() for name in names}
    ends = [found.start() for found in starts[1:]] + [len(text)]
    for name, start, end in zip(names, starts, ends, strict=True):
        for found in _INSTANCE.finditer(text, start.end(), end):
            kind, instance = map(_plain, found.groups())
            if kind in modules or MemorySize.of_module(kind):
                modules[name].parts.append((instance, kind))
            else:
                modules[name].cells[kind] += 1
    return modules


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
    """Without Verilog's escape."""
    return name.removeprefix("\\")

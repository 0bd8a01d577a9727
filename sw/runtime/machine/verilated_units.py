"""A makefile for Verilator's C++, in as few units as make sense.

Verilator writes a file or more for each module, and its headers take longer to compile than most of
these. So files are compiled together, with Verilator's own division: what runs in each cycle is
optimised, what runs once is not.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gnarl.sw.runtime.machine.tools import cxx

# -O1 serves runs of some 100,000 cycles best. 56 float32 units and a 64 x 64 crossbar, 3 MB of
# Verilog, on one core: Verilator 11 s; C++ at -O0 25 s, 7,000 cycles/s; -O1 36 s, 57,000; -O2 70 s,
# 78,000; -Os 66 s, 70,000.
OPTIMISE_FAST, OPTIMISE_SLOW = "-O1", "-O0"
"""Compiler flags for what runs in each cycle, and for what runs once."""

UNIT_BYTES = 2 << 20
"""Most C++ in a unit, unless a single file has more: large designs gain from several cores."""

SMALL_BYTES = 256 << 10
"""C++ that runs once is not worth a unit of its own up to here."""

_MAKEFILE = "units.mk"


@dataclass(frozen=True)
class Unit:
    """C++ files that are compiled together with the compiler flag ``optimise``."""

    name: str
    files: list[str]
    optimise: str


def units_of(folder: Path, sources: Sequence[str]) -> list[Unit]:
    """Units of Verilator's files in ``folder`` and the C++ files ``sources`` there, or elsewhere
    by their absolute paths."""
    written = sorted(path.name for path in folder.glob("Vtop*.cpp"))
    slow = [name for name in written if "__Slow" in name]
    if _bytes(folder, slow) <= SMALL_BYTES:
        slow = []
    fast = [*sources, *(name for name in written if name not in slow)]
    return [
        Unit(f"{kind}{number}", files, optimise)
        for kind, names, optimise in (("fast", fast, OPTIMISE_FAST), ("slow", slow, OPTIMISE_SLOW))
        for number, files in enumerate(_split(folder, names))
    ]


def write_makefile(
    folder: Path,
    output: str,
    units: Sequence[Unit],
    *,
    flags: Mapping[str, Sequence[str]],
    link: Sequence[str],
) -> str:
    """A makefile in ``folder``, by its name, that compiles ``units`` with the ``flags`` of their
    optimisation and links them with the flags and objects ``link`` to ``output``."""
    objects: list[str] = []
    rules: list[str] = []
    for unit in units:
        includes = "".join(f'#include "{file}"\n' for file in unit.files)
        (folder / f"{unit.name}.cpp").write_text(includes)
        objects.append(f"{unit.name}.o")
        options = [*flags[unit.optimise], "-I.", unit.optimise]
        command = shlex.join([*cxx(), *options, "-c", f"{unit.name}.cpp"])
        rules.append(f"{unit.name}.o: {unit.name}.cpp\n\t{command}\n")
    linked = shlex.join([*cxx(), *objects, *link, "-o", output])
    rules.insert(0, f"{output}: {' '.join(objects)}\n\t{linked}\n")
    # To make, a dollar sign begins a variable.
    (folder / _MAKEFILE).write_text("\n".join(rules).replace("$", "$$"))
    return _MAKEFILE


def _split(folder: Path, files: Sequence[str]) -> list[list[str]]:
    units: list[list[str]] = []
    size = UNIT_BYTES
    for file in files:
        added = _bytes(folder, [file])
        size += added
        if size > UNIT_BYTES:
            units.append([])
            size = added
        units[-1].append(file)
    return units


def _bytes(folder: Path, files: Sequence[str]) -> int:
    return sum((folder / file).stat().st_size for file in files)

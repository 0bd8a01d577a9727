"""How often the signals of a netlist change, from a run of the RTL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gnarl.hw.lib.errors import GnarlError, damaged_as, quoted
from gnarl.hw.lib.memory.size import MemorySize
from gnarl.hw.lib.text_lines import BLANKS, text_lines
from gnarl.sw.runtime.area.component import Component
from gnarl.sw.runtime.area.liberty import CellLibrary
from gnarl.sw.runtime.area.netlist import NetlistModule, identifier, register_signals
from gnarl.sw.workloads.text_file import read_text

_HALF_CYCLES = 2
"""Times a cycle at which the simulator records signals."""

_INSTANCE = re.compile(r"\(INSTANCE[ \t]+([^ \t]+)$")
_NET = re.compile(
    r"\(([^ \t]+)[ \t]+\(T0[ \t]+([0-9]+)\)[ \t]+\(T1[ \t]+([0-9]+)\).*\(TC[ \t]+([0-9]+)\)\)$"
)
_DURATION = re.compile(r"\(DURATION[ \t]+([0-9]+)\)$")


class ActivityError(GnarlError):
    """A file of switching activity that is none, or of another design."""


@dataclass(frozen=True)
class Switching:
    """Changes in a mean cycle, and the share of time at 1."""

    changes: float
    duty: float


DEFAULT = Switching(0.1, 0.5)
"""Where nothing is known of a run: a change in every tenth cycle."""


@dataclass(frozen=True)
class Activity:
    """Switching activity of a run: ``signals`` by path and bit, ``core/bank_0/valid[3]``."""

    path: Path
    signals: Mapping[str, Switching]

    def of_pins(self, outputs: Mapping[str, str]) -> dict[str, Switching]:
        """Switching by pin, for ``outputs`` as ``output_signals`` gives them; unknown signals are
        left out.

        Raises ``ActivityError`` where all are.
        """
        switching = {
            pin: self.signals[signal] for pin, signal in outputs.items() if signal in self.signals
        }
        if not switching:
            raise ActivityError(f"{self.path}: has no signal of this design: must be of its run")
        return switching


def output_signals(
    tree: Component, modules: Mapping[str, NetlistModule], library: CellLibrary
) -> dict[str, str]:
    """Signals at the outputs of registers and memories, by the pins' paths for OpenSTA."""
    signals_of_pins: dict[str, str] = {}
    for component, pins, signals in _instances(tree):
        if component.memory is None:
            outputs = dict(register_signals(modules[component.module], library.registers))
        else:
            outputs = {bit: bit for bit in _read_data(component.memory)}
        signals_of_pins |= {f"{pins}{pin}": f"{signals}{signal}" for pin, signal in outputs.items()}
    return signals_of_pins


def _read_data(memory: MemorySize) -> list[str]:
    return [f"read_data[{bit}]" for bit in range(memory.width)]


def _instances(
    component: Component, pins: str = "", signals: str = ""
) -> Iterator[tuple[Component, str, str]]:
    """Every instance of a tree, with what precedes names of its pins, and of its signals."""
    yield component, pins, signals
    for part in component.parts:
        for each in part.instances:
            yield from _instances(part, f"{pins}{identifier(each)}/", f"{signals}{each}/")


def read_activity(path: Path, top: str) -> Activity:
    """What ``gnarl run --waves FILE.saif`` wrote of module ``top``. Raises ``ActivityError``.

    Source: Verilator's SAIF, an excerpt of IEEE 1801, annex I.
    """
    with damaged_as(ActivityError, path):
        return _read(path, top)


def _read(path: Path, top: str) -> Activity:
    text = read_text(path)
    if not text.lstrip().startswith(("//", "(SAIFILE")):
        raise ActivityError(f"{path}: not a SAIF file: must begin with (SAIFILE")
    reader = _Reader(path)
    for number, line in enumerate(text_lines(text), 1):
        reader.read(number, line.strip(BLANKS))
    if top not in reader.tops:
        shown = ", ".join(sorted(reader.tops)) or "nothing"
        raise ActivityError(f"{path}: of {shown}: must be of {top}")
    return Activity(path, reader.signals)


class _Reader:
    """Reads lines one after the other. ``tops``: instances in the outermost scope."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._scopes: list[str] = []  # instances, and "" for lists of nets
        self._cycles = 0.0
        self.signals: dict[str, Switching] = {}
        self.tops: set[str] = set()

    def read(self, number: int, line: str) -> None:
        scopes = self._scopes
        if net := _NET.match(line):
            self._net(number, *net.groups())
        elif instance := _INSTANCE.match(line):
            scopes.append(instance[1])
            if len(scopes) == 2:
                self.tops.add(instance[1])
        elif line == "(NET":
            scopes.append("")
        elif line == ")" and scopes:
            scopes.pop()
        elif duration := _DURATION.match(line):
            self._cycles = int(duration[1]) / _HALF_CYCLES
        elif line and scopes and not (scopes[-1] or line.startswith("//")):
            raise ActivityError(
                f"{self._path}:{number}: not a net: must be (NAME (T0 N) (T1 N) … (TC N)), not "
                f"{quoted(line)}"
            )

    def _net(self, number: int, name: str, low: str, high: str, count: str) -> None:
        """A net, from its times at 0 and 1 and its changes."""
        if not self._cycles:
            raise ActivityError(f"{self._path}:{number}: DURATION must be above, and not 0")
        instances = [scope for scope in self._scopes if scope]
        if len(instances) > 1:
            place = "".join(f"{scope}/" for scope in instances[2:])
            total = int(low) + int(high)
            self.signals[place + name.replace("\\", "")] = Switching(
                int(count) / self._cycles, int(high) / total if total else 0.0
            )

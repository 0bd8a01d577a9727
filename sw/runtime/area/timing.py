"""Longest paths and power of a netlist, by OpenSTA."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.lib.memory.size import MemorySize
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.runtime.area.activity import Switching
from gnarl.sw.runtime.area.memory_stub import memory_stubs, tie_stubs
from gnarl.sw.runtime.area.netlist import NetlistModule, identifier, text_of, with_plain_names
from gnarl.sw.runtime.area.synthesis import TIE_0, TIE_1
from gnarl.sw.runtime.machine.tools import run_tool

STA = "sta"
_PERIOD_NS = 10.0
"""What a path leaves of it, or takes beyond it, gives its delay; short, for it is in float32."""

_READ = """read_liberty cells.lib
set_cmd_units -time ns -power W
proc link {top} {
  read_verilog $top.v
  link_design $top
}
# The second way is for OpenSTA 2.0, whose option -pins fails.
proc switches {name changes duty} {
  set pin [get_pins $name]
  if {[catch {set_power_activity -pins $pin -activity $changes -duty $duty}]} {
    sta::set_power_pin_activity $pin $changes $duty
  }
}
"""
_PATHS = """read_liberty memories.lib
read_liberty ties.lib
foreach top {%(names)s} {
  link $top
  create_clock -name clk -period %(period)g [get_ports -quiet clk]
  set others {}
  foreach port [all_inputs] {
    if {[get_property $port full_name] ne "clk"} { lappend others $port }
  }
  set_input_delay 0 -clock clk $others
  set_output_delay 0 -clock clk [all_outputs]
  puts "module $top"
  report_checks -path_delay max -digits 6
}
"""
# OpenSTA 2.0 crashes in report_power where there are constants, or cells of memories.
_POWER = """read_liberty ties_unknown.lib
link %(name)s
create_clock -name clk -period %(period)g [get_ports clk]
%(activity)s
report_power -digits 6 -instances [get_cells -hierarchical *]
"""
_PATH = re.compile(r"^Startpoint: (\S+).*?^Endpoint: (\S+).*?(-?[\d.]+)\s+slack \(", re.M | re.S)
_CELL_POWER = re.compile(r"^\s*(?:\S+\s+){3}(\S+)\s+(\S+)$", re.M)
_GATE = re.compile(r"/?_\d+_$")


class TimingError(GnarlError):
    """OpenSTA refused; names its first complaint."""


@dataclass(frozen=True)
class LongestPath:
    """A path from a register, memory or port to another, with the time before a clock edge that it
    needs.

    start, end
        the component's path where it is a register of one (``core/fetch``, empty for the whole),
        or a memory's path; else the port.
    """

    delay_ns: float
    start: str
    end: str


class OpenSta:
    """Analyses one netlist, with a library's cells.

    Wires have neither resistance nor capacitance, the clock reaches all registers at once, memories
    answer at the edge and need nothing before it. Raises ``TimingError``.
    """

    def __init__(
        self,
        modules: Mapping[str, NetlistModule],
        library: Path,
        memories: Collection[MemorySize],
    ) -> None:
        self._modules = modules
        self._libraries = {
            "cells.lib": library.read_text(encoding="utf-8-sig"),
            "memories.lib": memory_stubs(memories),
            "ties.lib": tie_stubs(TIE_0, TIE_1, functions=True),
            "ties_unknown.lib": tie_stubs(TIE_0, TIE_1, functions=False),
        }

    @staticmethod
    def is_installed() -> bool:
        """Whether there is an OpenSTA to run."""
        return shutil.which(STA) is not None

    @staticmethod
    def version() -> str:
        """The installed version; empty where there is none."""
        if not OpenSta.is_installed():
            return ""
        return run_tool([STA, "-version"], Path.cwd(), "", TimingError).stdout.strip()

    def longest_paths(self) -> dict[str, LongestPath]:
        """Longest paths of each module by itself, with all below, if it has paths.

        Ports are where signals come in at the clock's edge, and must be at the next.
        """
        names = " ".join(map(identifier, self._modules))
        output = self._run(_PATHS % {"names": names, "period": _PERIOD_NS}, *self._modules)
        parts = re.split(r"^module (\w+)$", output, flags=re.M)[1:]
        texts = dict(zip(parts[::2], parts[1::2], strict=True))
        paths = {}
        for module in self._modules:
            if path := _PATH.search(texts.get(identifier(module), "")):
                start, end, slack = path.groups()
                delay = _PERIOD_NS - float(slack)
                paths[module] = LongestPath(delay, _GATE.sub("", start), _GATE.sub("", end))
        return paths

    def power(
        self, top: str, period_ns: float, switching: Mapping[str, Switching]
    ) -> Mapping[str, float]:
        """Watts of the gates of each component, without its parts, by its path (``core/bank_0``).

        ``switching`` of the outputs of all registers and memories, by pin; ports are at rest. What
        OpenSTA 2.0 computes from its own assumptions may be no number.
        """
        lines = ["set_power_activity -input -activity 0 -duty 0"]
        for pin, each in switching.items():
            lines.append(f"switches {{{pin}}} {each.changes:g} {each.duty:g}")
        values = {"name": identifier(top), "period": period_ns, "activity": "\n".join(lines)}
        output = self._run(_POWER % values, top)
        watts_of: dict[str, float] = {}
        for watts, cell in _CELL_POWER.findall(output):
            component = _GATE.sub("", cell)
            if component != cell:  # a gate, not a component, whose power is that of its gates
                watts_of[component] = watts_of.get(component, 0.0) + float(watts)
        return watts_of

    def _run(self, script: str, *modules: str) -> str:
        """What OpenSTA says to a script that has procedure ``link`` for each of ``modules``."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for module in modules:
                text = with_plain_names(text_of(self._modules, module))
                (folder / f"{identifier(module)}.v").write_text(text, encoding="utf-8")
            for file, text in self._libraries.items():
                (folder / file).write_text(text, encoding="utf-8")
            (folder / "script.tcl").write_text(_READ + script, encoding="utf-8")
            done = run_tool(
                [STA, "-no_splash", "-exit", "script.tcl"],
                folder,
                "Debian has it in package opensta",
                TimingError,
            )
        complaints = [line for line in text_lines(done.stdout) if line.startswith("Error:")]
        if done.returncode or complaints:
            first = next(iter(complaints), f"exit status {done.returncode}")
            raise TimingError(f"{STA} failed: {first}")
        return done.stdout

"""Look-up tables one behind the other, as Yosys maps a component to tables of four inputs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from amaranth.lib import wiring

from gnarl.hw.lib.verilog import to_rtlil
from gnarl.sw.runtime.fpga.synthesis import YOSYS
from gnarl.sw.runtime.fpga.tool_run import run

_TOP = "top"
_LUT = "$lut"

_READ = """
read_rtlil modules.il
read_verilog -lib memories.v
"""

_MULTIPLIERS = f"""
hierarchy -top {_TOP}
proc
flatten
opt_expr
opt_clean
wreduce
techmap -map +/mul2dsp.v -D DSP_A_MAXWIDTH=18 -D DSP_B_MAXWIDTH=18 -D DSP_A_MINWIDTH=2 \\
  -D DSP_B_MINWIDTH=2 -D DSP_NAME=MULTIPLIER
chtype -set $mul t:$__soft_mul
read_verilog -lib multiplier.v
"""

_MULTIPLIER = """
module MULTIPLIER #(parameter A_SIGNED = 0, B_SIGNED = 0, A_WIDTH = 18, B_WIDTH = 18, Y_WIDTH = 36)
  (input [A_WIDTH-1:0] A, input [B_WIDTH-1:0] B, output [Y_WIDTH-1:0] Y);
endmodule
"""

_TABLES = f"""
synth -top {_TOP} -flatten -lut 4 -run begin:fine
splitnets
synth -top {_TOP} -flatten -lut 4 -run fine:
write_json netlist.json
"""
"""As ``synth -flatten -lut 4``, with buses split: Yosys 0.70 ends in ABC without, for some."""

_FOR_DEPTH = "scratchpad -set abc9.script +&synch2;&ps;&if,{C},{W},{D},{R},-v;\n"


class Levels(NamedTuple):
    """The longest way through look-up tables alone: how many they are, and the wires at its ends,
    which are registers, memories or ports; ``luts``, how many there are in all."""

    levels: int
    luts: int
    begin: str
    end: str


def measure(
    component: wiring.Component, *, for_depth: bool = False, has_multipliers: bool = False
) -> Levels:
    """Levels of a component. Its memories (``Ram``, ``TwoPortRam``) are none of it, carries are
    look-up tables as all else.

    for_depth
        whether ABC first makes its netlist as shallow as it can, and not as small: its default
        script often adds levels, and a different number of them after the least change.
    has_multipliers
        whether multipliers are blocks of 18 x 18 bits, which are none of it, or look-up tables.
    """
    design = to_rtlil(component, _TOP)
    parts = [_FOR_DEPTH if for_depth else "", _READ, _MULTIPLIERS if has_multipliers else ""]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "modules.il").write_text(design.modules, encoding="utf-8")
        (folder / "memories.v").write_text(design.memories, encoding="utf-8")
        (folder / "multiplier.v").write_text(_MULTIPLIER, encoding="utf-8")
        (folder / "levels.ys").write_text("".join([*parts, _TABLES]), encoding="utf-8")
        run([YOSYS, "-Q", "-T", "levels.ys"], folder, "levels.log")
        netlist = json.loads((folder / "netlist.json").read_text(encoding="utf-8"))
    return longest(netlist["modules"][_TOP])


def longest(module: Mapping[str, Any]) -> Levels:
    """The longest way in a module of ``write_json``. O(cells)."""
    drivers = {
        cell["connections"]["Y"][0]: cell["connections"]["A"]
        for cell in module["cells"].values()
        if cell["type"] == _LUT
    }
    ways, names = _ways(drivers), _names(module)
    levels, begin, end = max(
        ((*ways.get(bit, (0, bit)), end) for bit, end in _ends(module, names)),
        key=lambda way: way[0],
        default=(0, "", ""),
    )
    return Levels(levels, len(drivers), names.get(begin, ""), end)


def _ways(drivers: Mapping[Any, list[Any]]) -> dict[Any, tuple[int, Any]]:
    """How many tables are behind each table's output, itself included, and where that begins."""
    ways: dict[Any, tuple[int, Any]] = {}
    for start in drivers:
        waiting = [start]
        while waiting:
            bit = waiting[-1]
            inner = [each for each in drivers[bit] if each in drivers]
            if missing := [each for each in inner if each not in ways]:
                waiting += missing
                continue
            waiting.pop()
            if bit not in ways:
                before = max((ways[each] for each in inner), key=lambda way: way[0], default=None)
                level, begin = before or (0, drivers[bit][0])
                ways[bit] = level + 1, begin
    return ways


def _ends(module: Mapping[str, Any], names: Mapping[Any, str]) -> Iterator[tuple[Any, str]]:
    """Bits that ports, registers and memories take, and what these are called."""
    for name, port in module["ports"].items():
        if port["direction"] == "output":
            yield from ((bit, name) for bit in port["bits"])
    for name, cell in module["cells"].items():
        if cell["type"] == _LUT:
            continue
        held = cell["connections"].get("Q", [])
        shown = names.get(held[0], name) if held else name
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "input":
                yield from ((bit, shown) for bit in bits)


def _names(module: Mapping[str, Any]) -> dict[Any, str]:
    """A name of each bit: of those that the design has, the one with the fewest dots."""
    found: dict[Any, str] = {}
    for name, net in module["netnames"].items():
        if not net["hide_name"] and "$abc" not in name:
            for bit in net["bits"]:
                if bit not in found or name.count(".") < found[bit].count("."):
                    found[bit] = name
    return found

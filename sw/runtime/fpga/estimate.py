"""An estimate of what a design needs on an ECP5, in a fraction of the time of synthesis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gnarl.hw.fpga.family import Family, Resources
from gnarl.sw.program.cache import cached, digest_of
from gnarl.sw.runtime.fpga.cell_costs import ecp5_cells
from gnarl.sw.runtime.fpga.rtlil import read_modules
from gnarl.sw.runtime.fpga.synthesis import RECIPES, YOSYS, count, tool_version
from gnarl.sw.runtime.fpga.tool_run import run

if TYPE_CHECKING:
    from gnarl.hw.lib.verilog import Rtlil

_MODULES = "modules.il"
_MEMORIES = "memories.v"
_NETLIST = "netlist.il"
_LOG = "estimate.log"

_ROUNDS = 3  # of passing constants from module to module

_WIDTHS = "-D DSP_A_MAXWIDTH=18 -D DSP_B_MAXWIDTH=18 -D DSP_A_MINWIDTH=2 -D DSP_B_MINWIDTH=2"

# What synth_ecp5 does until memories are mapped, without what takes long and changes little.
# Modules stay apart, so that each is worked on once, however many instances it has.
_SCRIPT = f"""
read_rtlil {_MODULES}
read_verilog {_MEMORIES}
read_verilog -lib +/lattice/cells_sim_ecp5.v +/lattice/cells_bb_ecp5.v
hierarchy -top {{top}}
proc -noopt
opt_clean -purge
memory_collect
memory_dff -no-rw-check
opt_expr
opt_merge
opt_muxtree
opt_reduce
opt_dff
opt_expr -mux_undef -undriven
opt_clean
{{rounds}}
opt_expr -mux_undef -fine
opt_merge
opt_clean
wreduce
peepopt
opt_clean
techmap -map +/cmp2lut.v -D LUT_WIDTH=4
opt_expr
techmap -map +/mul2dsp.v -map +/lattice/dsp_map_18x18.v {_WIDTHS} -D DSP_NAME=$__MUL18X18
chtype -set $mul t:$__soft_mul
wreduce
alumacc
opt_expr -mux_undef -fine
opt_merge
opt_dff
memory -nomap -no-rw-check
memory_libmap -lib +/lattice/lutrams_trellis.txt -lib +/lattice/brams_16kd.txt
techmap -map +/lattice/lutrams_map_trellis.v -map +/lattice/brams_map_16kd.v
memory_map
opt_expr -mux_undef -undriven -fine
opt_clean -purge
delete =A:blackbox =A:whitebox
write_rtlil {_NETLIST}
"""

_ROUND = """
wreduce
opt_expr -mux_undef -fine
opt_muxtree
opt_dff
opt_clean
opt_hier
"""


def estimate(design: Rtlil, top: str) -> Resources:
    """About what ``synthesise`` would find that an ECP5 needs for module ``top``.

    Raises ``FpgaError`` as ``gnarl.sw.runtime.fpga.tool_run.run`` does.
    """
    modules = read_modules(_netlist(design, top).read_text(encoding="utf-8"))
    cells = {name: ecp5_cells(inside) for name, inside in modules.items()}
    return count(RECIPES[Family.ECP5], _total(cells, top))


def _netlist(design: Rtlil, top: str) -> Path:
    """What Yosys leaves; from the cache where it was made before."""
    script = _SCRIPT.format(top=top, rounds=_ROUND * _ROUNDS)

    def make(folder: Path) -> None:
        (folder / _MODULES).write_text(design.modules, encoding="utf-8")
        (folder / _MEMORIES).write_text(design.memories, encoding="utf-8")
        (folder / "estimate.ys").write_text(script, encoding="utf-8")
        run([YOSYS, "-Q", "-T", "estimate.ys"], folder, _LOG)

    digest = digest_of(tool_version(YOSYS), design.modules, design.memories, script)
    return cached("estimate", digest, make, (_NETLIST,))[0]


def _total(cells: Mapping[str, Mapping[str, float]], top: str) -> dict[str, float]:
    """Cells of a module and of all modules that it has instances of."""

    @cache
    def total(module: str) -> dict[str, float]:
        found: dict[str, float] = defaultdict(float)
        for kind, number in cells[module].items():
            for inner, inside in (total(kind) if kind in cells else {kind: 1.0}).items():
                found[inner] += number * inside
        return found

    return total(top)

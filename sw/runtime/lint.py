"""Lint of generated Verilog by Verilator."""

from __future__ import annotations

import tempfile
from pathlib import Path

from sw.runtime.verilate import run_verilator

WAIVERS = Path(__file__).parents[2] / "hw" / "lib" / "verilator.vlt"
"""The warnings that Amaranth's Verilog cannot avoid, each with its reason."""


def lint(verilog: str, top: str) -> list[str]:
    """What ``verilator --lint-only -Wall`` finds in module ``top`` and below, beyond ``WAIVERS``.

    One line a warning or error, e.g. ``%Warning-LATCH: design.v:9:3: …``; none where all is well.
    Latches, combinational loops and signals with two drivers or none are among what it finds.
    """
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "design.v").write_text(verilog)
        arguments = ["--lint-only", "-Wall", "--top-module", top, str(WAIVERS), "design.v"]
        done = run_verilator(arguments, Path(name))
    found = [line for line in done.stdout.splitlines() if line.startswith("%")]
    return found or ([f"exit status {done.returncode}"] if done.returncode else [])

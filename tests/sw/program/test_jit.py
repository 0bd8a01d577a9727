from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gnarl.sw.program import jit

INNER = """
from hw.numbers import STEP
from gnarl.sw.program.jit import in_place

@in_place
def step(x):
    return x + STEP
"""

OUTER = """
from sw import (  # (more)
    inner,
)
from gnarl.sw.program.jit import compiled

step = inner.step

@compiled
def twice(x):
    return step(step(x))
"""

MAIN = """
from sw.outer import twice
print(twice(1), sum(twice.stats.cache_hits.values()))
"""

EDIT = """
from pathlib import Path
import sw.outer
source = Path("sw/inner.py")
source.write_text(source.read_text().replace("x + STEP", "x + 2 * STEP"))
"""


def run(folder: Path, **environment: str) -> str:
    """What a process prints: the result, and how many functions came from files."""
    return process(folder, MAIN, **environment).stdout


def process(folder: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=known | environment,
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Packages with a compiled function that calls another, which has a constant of a third."""
    for package in ("hw", "sw", "sw/program"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    shutil.copy(jit.__file__, tmp_path / "sw/program/jit.py")
    (tmp_path / "hw/numbers.py").write_text("STEP = 10\n")
    (tmp_path / "hw/others.py").write_text("STEP = 10\n")
    (tmp_path / "sw/inner.py").write_text(INNER)
    (tmp_path / "sw/outer.py").write_text(OUTER)
    return tmp_path


@pytest.mark.parametrize("elsewhere", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_function_is_compiled_again_when_what_is_compiled_into_it_has_changed(
    project: Path, elsewhere: bool
) -> None:
    environment = {"NUMBA_CACHE_DIR": str(project / "cache")} if elsewhere else {}
    assert run(project, **environment) == "21 0\n"
    (project / "hw/others.py").write_text("STEP = 100\n")
    os.utime(project / "sw/inner.py")
    os.utime(project / "sw/outer.py")
    assert run(project, **environment) == "21 1\n"
    assert process(project, EDIT + MAIN, **environment).stdout == "21 0\n"
    assert run(project, **environment) == "41 0\n"
    (project / "hw/numbers.py").write_text("STEP = 100\n")
    assert run(project, **environment) == "401 0\n"


def truncated(octets: bytes) -> bytes:
    return octets[: len(octets) // 2]


def flipped(octets: bytes) -> bytes:
    at = len(octets) // 2
    return octets[:at] + bytes([octets[at] ^ 1]) + octets[at + 1 :]


@pytest.mark.parametrize(
    ("ending", "damage"), [pytest.param("nbi", truncated, marks=pytest.mark.slow), ("nbc", flipped)]
)
def test_damaged_machine_code_is_made_again(
    project: Path, ending: str, damage: Callable[[bytes], bytes]
) -> None:
    assert run(project) == "21 0\n"
    (path,) = (project / "sw/__pycache__").glob(f"outer.twice*.{ending}")
    path.write_bytes(damage(path.read_bytes()))
    done = process(project, MAIN)
    assert done.stdout == "21 0\n"
    assert f"UserWarning: {path}: damaged cache entry: made again\n" in done.stderr
    assert run(project) == "21 1\n"

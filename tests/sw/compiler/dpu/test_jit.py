from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sw.compiler.dpu import jit

INNER = """
from tiny.jit import in_place

@in_place
def step(x):
    return x + {step}
"""

OUTER = """
from tiny.jit import compiled
from tiny.inner import step

@compiled
def twice(x):
    return step(step(x))
"""

MAIN = """
from tiny.outer import twice
print(twice(1), sum(twice.stats.cache_hits.values()))
"""


def run(folder: Path, **environment: str) -> str:
    """What a process prints: the result, and how many functions came from files."""
    return process(folder, **environment).stdout


def process(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return subprocess.run(
        [sys.executable, "-c", MAIN],
        cwd=folder,
        env=known | environment,
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with a compiled function that calls another."""
    package = tmp_path / "tiny"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(jit.__file__, package / "jit.py")
    (package / "inner.py").write_text(INNER.format(step=10))
    (package / "outer.py").write_text(OUTER)
    return package


@pytest.mark.parametrize("elsewhere", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_function_is_compiled_again_when_what_it_calls_has_changed(
    package: Path, tmp_path: Path, elsewhere: bool
) -> None:
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")} if elsewhere else {}
    assert run(tmp_path, **environment) == "21 0\n"
    assert run(tmp_path, **environment) == "21 1\n"
    (package / "inner.py").write_text(INNER.format(step=20))
    assert run(tmp_path, **environment) == "41 0\n"
    assert run(tmp_path, **environment) == "41 1\n"


def truncated(octets: bytes) -> bytes:
    return octets[: len(octets) // 2]


def flipped(octets: bytes) -> bytes:
    at = len(octets) // 2
    return octets[:at] + bytes([octets[at] ^ 1]) + octets[at + 1 :]


@pytest.mark.parametrize(
    ("ending", "damage"), [pytest.param("nbi", truncated, marks=pytest.mark.slow), ("nbc", flipped)]
)
def test_damaged_machine_code_is_made_again(
    package: Path, tmp_path: Path, ending: str, damage: Callable[[bytes], bytes]
) -> None:
    assert run(tmp_path) == "21 0\n"
    (path,) = (package / "__pycache__").glob(f"outer.twice*.{ending}")
    path.write_bytes(damage(path.read_bytes()))
    done = process(tmp_path)
    assert done.stdout == "21 0\n"
    assert f"UserWarning: {path}: damaged cache entry: made again\n" in done.stderr
    assert run(tmp_path) == "21 1\n"

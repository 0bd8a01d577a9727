from __future__ import annotations

import os
import shutil
import subprocess
import sys
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
    known = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return subprocess.run(
        [sys.executable, "-c", MAIN],
        cwd=folder,
        env=known | environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_function_is_compiled_again_when_what_it_calls_has_changed(
    tmp_path: Path, elsewhere: bool
):
    package = tmp_path / "tiny"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(jit.__file__, package / "jit.py")
    (package / "inner.py").write_text(INNER.format(step=10))
    (package / "outer.py").write_text(OUTER)
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")} if elsewhere else {}
    assert run(tmp_path, **environment) == "21 0\n"
    assert run(tmp_path, **environment) == "21 1\n"
    (package / "inner.py").write_text(INNER.format(step=20))
    assert run(tmp_path, **environment) == "41 0\n"
    assert run(tmp_path, **environment) == "41 1\n"

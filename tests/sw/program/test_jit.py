from __future__ import annotations

import ast
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gnarl.hw.lib import errors
from gnarl.sw.program import jit
from gnarl.sw.program.paths import HARDWARE, SOFTWARE
from tests.support import forked

INNER = """
from gnarl.hw.numbers import STEP
from gnarl.sw.program.jit import in_place

@in_place
def step(x):
    return x + STEP
"""

OUTER = """
from gnarl.sw import (  # (more)
    inner,
)
from gnarl.sw.program.jit import compiled

step = inner.step

@compiled
def twice(x):
    return step(step(x))
"""

ALONE = """
import sys
import numba
for name in list(sys.modules):
    if name.partition(".")[0] == "gnarl":
        del sys.modules[name]
sys.path.insert(0, "")
numba.core.config.reload_config()
"""
"""What a process does that has the project imported, to take a package in its folder for it."""

MAIN = """
from gnarl.sw.outer import twice
print(twice(1), sum(twice.stats.cache_hits.values()))
"""

EDIT = """
from pathlib import Path
import gnarl.sw.outer
source = Path("gnarl/sw/inner.py")
source.write_text(source.read_text().replace("x + STEP", "x + 2 * STEP"))
"""


def run(folder: Path, **environment: str) -> str:
    """What a process prints: the result, and how many functions came from files."""
    return process(folder, MAIN, **environment).stdout


def process(folder: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    env = known | {"GNARL_CACHE": str(folder / "cache")} | environment
    done = forked.run(code=ALONE + code, cwd=folder, env=env)
    done.check_returncode()
    return done


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Packages with a compiled function that calls another, which has a constant of a third."""
    package = tmp_path / "gnarl"
    for folder in ("", "hw", "hw/lib", "sw", "sw/program"):
        (package / folder).mkdir()
        (package / folder / "__init__.py").touch()
    for file in ("jit", "cache", "cache_contents", "paths", "atomic", "command_files"):
        shutil.copy(Path(jit.__file__).with_name(f"{file}.py"), package / "sw/program")
    shutil.copy(errors.__file__, package / "hw/lib")
    (package / "hw/numbers.py").write_text("STEP = 10\n")
    (package / "hw/others.py").write_text("STEP = 10\n")
    (package / "sw/inner.py").write_text(INNER)
    (package / "sw/outer.py").write_text(OUTER)
    return tmp_path


@pytest.mark.parametrize("elsewhere", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_function_is_compiled_again_when_what_is_compiled_into_it_has_changed(
    project: Path, elsewhere: bool
) -> None:
    environment = {"NUMBA_CACHE_DIR": str(project / "elsewhere")} if elsewhere else {}
    assert run(project, **environment) == "21 0\n"
    (project / "gnarl/hw/others.py").write_text("STEP = 100\n")
    os.utime(project / "gnarl/sw/inner.py")
    os.utime(project / "gnarl/sw/outer.py")
    assert run(project, **environment) == "21 1\n"
    assert process(project, EDIT + MAIN, **environment).stdout == "21 0\n"
    assert run(project, **environment) == "41 0\n"
    (project / "gnarl/hw/numbers.py").write_text("STEP = 100\n")
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
    (path,) = (project / "cache/numba").rglob(f"outer.twice*.{ending}")
    path.write_bytes(damage(path.read_bytes()))
    done = process(project, MAIN)
    assert done.stdout == "21 0\n"
    assert f"UserWarning: {path}: damaged cache entry: made again\n" in done.stderr
    assert run(project) == "21 1\n"


TEXTS = """
from numba.core import compiler
compile_extra, compiled = compiler.compile_extra, []
def counted(*arguments, **options):
    compiled.append(arguments)
    return compile_extra(*arguments, **options)
compiler.compile_extra = counted
from gnarl.sw.program.jit import compiled_text
texts = [f"STEP = {step}\\ndef f(x):\\n    return x + STEP\\n" for step in (1, 20)]
print([compiled_text(text, "f")(1) for text in texts], len(compiled))
"""


def test_texts_are_compiled_once(project: Path) -> None:
    """Functions of one name and types, in one process."""
    for compiled in (2, 0):
        assert process(project, TEXTS).stdout == f"[2, 21] {compiled}\n"
    first, *_ = sorted((project / "cache/numba/texts").glob("*.nbc"))
    first.write_bytes(flipped(first.read_bytes()))
    done = process(project, TEXTS)
    assert done.stdout == "[2, 21] 1\n"
    assert f"UserWarning: {first}: damaged cache entry: made again\n" in done.stderr


def test_machine_code_is_kept_where_sources_cannot_be_written_to(project: Path) -> None:
    assert run(project) == "21 0\n"
    assert not list(project.glob("gnarl/**/*.nb[ic]"))
    assert list(project.glob("cache/numba/**/*.nbc"))


def test_without_any_folder_for_it_functions_are_compiled_in_each_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
        if options.get("cache"):
            raise RuntimeError("cannot cache function 'twice': no locator available")
        return lambda function: ("compiled", function)

    def twice(x: int) -> int:
        return 2 * x

    monkeypatch.setattr(jit, "njit", njit)
    assert jit.compiled(twice) == ("compiled", twice)


def test_a_module_whose_imports_are_not_seen_keeps_nothing(project: Path) -> None:
    path = project / "gnarl/sw/program/jit.py"
    path.write_text(path.read_text().replace("(gnarl(?:", "(other(?:"))
    for _ in range(2):
        assert run(project) == "21 0\n"


def test_imports_of_compiled_modules_are_seen() -> None:
    """As ``ast`` sees them, in every module that has compiled functions."""
    compiled = [
        path
        for path in sorted(SOFTWARE.rglob("*.py"))
        if "gnarl.sw.program.jit import" in path.read_text() and path.name != "jit.py"
    ]
    assert len(compiled) > 20
    for path in compiled:
        assert jit._imported(path) >= set(_parsed_imports(path)), path


def _parsed_imports(path: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gnarl."):
            _, top, *rest = (node.module or "").split(".")
            place = {"hw": HARDWARE, "sw": SOFTWARE}[top].joinpath(*rest)
            for file in (place.with_suffix(".py"), place / "__init__.py"):
                if file.is_file():
                    yield file
            for alias in node.names:
                if (place / f"{alias.name}.py").is_file():
                    yield place / f"{alias.name}.py"

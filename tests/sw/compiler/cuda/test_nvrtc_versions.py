"""Kernels compile with the oldest NVRTC that pyproject.toml allows, and with the newest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gnarl.sw.compiler.cuda.nvrtc import nvrtc_version
from tests.support.workloads import workload_file

pytest.importorskip("cuda.bindings.nvrtc", reason="needs gnarl[cuda]")

ROOT = Path(__file__).parents[4]
OLDEST = Path(sys.prefix) / "nvrtc-oldest"
"""Where `make setup` installs it."""
EXAMPLE = ROOT / "examples" / "embedding_model.py"

SCRIPT = """
import json, sys
from pathlib import Path
from gnarl.sw.compiler.cuda.backward import BackwardProgram
from gnarl.sw.compiler.cuda.backward_kernels import SUM_LOOKUPS, backward_source
from gnarl.sw.compiler.cuda.nvrtc import compile_kernel, nvrtc_version
from gnarl.sw.compiler.cuda.nvrtc_library import load_nvrtc_of
from gnarl.sw.compiler.cuda.optimizers import RowWiseAdagrad
from gnarl.sw.compiler.cuda.sections import decode
from gnarl.sw.compiler.cuda.templates.template import INCLUDE
from gnarl import Device
from gnarl.sw.runtime.cuda.gpu.embedding import compile_program
from gnarl.sw.workloads.embedding.recflex import load_model
from gnarl.sw.workloads.embedding.rowwise import ROWWISE_FORMATS

folder, variants, *paths = sys.argv[1:]
if folder:
    assert load_nvrtc_of(Path(folder))
print(json.dumps(nvrtc_version()))
for path in paths:
    program = decode(Device("cuda_sm90").compile(load_model(path)).launches[0])
    for options in ({}, {"timed": True}, {"checked": True}) if variants == "all" else ({},):
        kernel = compile_program(program, **options)
        print(json.dumps([kernel.cached, kernel.registers]))
    if variants != "all":
        continue
    trained = tuple(each.table_type not in ROWWISE_FORMATS for each in program.model.features)
    backward = BackwardProgram(
        program.model, tuple(range(len(trained))), trained, optimizer=RowWiseAdagrad(0.1)
    )
    source = backward_source(backward)
    kernel = compile_kernel(source, "sm_90", include=[INCLUDE], kernel=SUM_LOOKUPS)
    print(json.dumps([kernel.cached, kernel.registers]))
"""


def compiled(
    folder: Path | None, variants: str, paths: Sequence[Path], cache: Path
) -> tuple[Any, list[Any]]:
    """The version of the NVRTC in ``folder``, or of the installed one; of each path's kernels,
    ``plain`` or ``all``, which are plain, timed, checked and backward, whether it came from the
    cache, and its registers."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder or ""), variants, *map(str, paths)],
        cwd=ROOT,
        env={**os.environ, "GNARL_CACHE": str(cache)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    version, *kernels = map(json.loads, done.stdout.splitlines())
    return tuple(version), kernels


def oldest_version() -> str:
    optional = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (text,) = (each for each in optional["optional-dependencies"]["cuda"] if "nvrtc" in each)
    return text.removeprefix("nvidia-cuda-nvrtc>=")


@pytest.fixture(params=["oldest", "newest"])
def library(request: pytest.FixtureRequest) -> Path | None:
    """The folder of a NVRTC; ``None``: the one that is installed."""
    if request.param == "newest":
        return None
    version = oldest_version()
    if not (OLDEST / f"nvidia_cuda_nvrtc-{version}.dist-info").is_dir():
        pytest.skip(f"{OLDEST} has no nvidia-cuda-nvrtc {version}: `make setup` installs it")
    return next(OLDEST.glob("nvidia/*/lib"))


@pytest.mark.slow
def test_the_example_compiles(library: Path | None, tmp_path: Path) -> None:
    variants = "all" if library else "plain"  # other tests compile all with the newest
    version, kernels = compiled(library, variants, [EXAMPLE], tmp_path)
    expected = nvrtc_version() if library is None else oldest_version().split(".")[:2]
    assert version == tuple(map(int, expected))
    assert [cached for cached, _ in kernels] == [False] * (4 if library else 1)


@pytest.mark.slow
def test_the_papers_models_compile(library: Path | None, tmp_path: Path) -> None:
    models = [workload_file(f"recflex/{name}/table_config.txt").parent for name in "ABCDE"]
    _, kernels = compiled(library, "plain", models, tmp_path)
    assert len(kernels) == len(models)
    assert all(not cached and registers > 0 for cached, registers in kernels)

"""Where NVRTC's library is found on a machine without its package."""

from __future__ import annotations

import ctypes.util
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.support.cuda.bare_machine import packages, python

pytest.importorskip("cuda.bindings.nvrtc", reason="needs gnarl[cuda]")

SCRIPT = """
import site, sys
site.PREFIXES.clear()  # where cuda.pathfinder looks
from gnarl.sw.compiler.cuda.nvrtc import NvrtcError, compile_kernel
try:
    found = compile_kernel('extern "C" __global__ void f() {}', "sm_90", kernel="f")
except NvrtcError as error:
    sys.exit(str(error))
assert found.cubin and "torch" not in sys.modules
from cuda.pathfinder import load_nvidia_dynamic_lib
print(load_nvidia_dynamic_lib("nvrtc").abs_path)
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Packages without NVRTC; PyTorch is not to be imported."""
    if ctypes.util.find_library("nvrtc"):
        pytest.skip("this system has an NVRTC of its own")
    found = packages(tmp_path, ("cuda-bindings", "filelock", "ml_dtypes", "click", "rich"))
    (found / "torch").mkdir()
    (found / "torch" / "__init__.py").write_text("raise AssertionError('imported')\n")
    return found


def bring(folder: Path) -> str:
    """NVRTC's library, and what it loads; where the former is."""
    folder.mkdir(parents=True)
    files = [each for each in distribution("nvidia-cuda-nvrtc").files or () if ".so." in each.name]
    for each in files:
        if ".alt." not in each.name:
            (folder / each.name).symlink_to(Path(str(each.locate())).resolve())
    (library,) = folder.glob("libnvrtc.so.*")
    return str(library)


@pytest.mark.parametrize("folder", ["torch/lib", "nvidia/cu13/lib"])
def test_of_pytorchs_own_cuda_libraries(site: Path, tmp_path: Path, folder: str) -> None:
    library = bring(site / folder)
    done = python(site, "-c", SCRIPT, environment={"GNARL_CACHE": str(tmp_path / "cache")})
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{library}\n"


def test_of_a_library_that_cannot_be_loaded(site: Path, tmp_path: Path) -> None:
    (site / "nvidia" / "cu13" / "lib").mkdir(parents=True)
    (site / "nvidia" / "cu13" / "lib" / "libnvrtc.so.13").write_text("not a library")
    library = bring(site / "torch" / "lib")
    done = python(site, "-c", SCRIPT, environment={"GNARL_CACHE": str(tmp_path / "cache")})
    assert done.stdout == f"{library}\n", done.stderr


def test_none_at_all(site: Path, tmp_path: Path) -> None:
    done = python(site, "-c", SCRIPT, environment={"GNARL_CACHE": str(tmp_path / "cache")})
    expected = "CUDA is compiled by NVRTC: pip install 'gnarl[cuda]'\n"
    assert (done.returncode, done.stderr) == (1, expected)

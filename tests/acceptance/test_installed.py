"""The package, installed outside of any repository: what it has, and that it runs.

Most tests unpack the wheel; dependencies are those of this Python, and simulators those of this
cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from gnarl.sw.program.cache_contents import cache_folder
from gnarl.sw.runtime.target.configuration import configuration_files
from tests.support.cuda.embedding_files import write_model
from tests.support.dpu.dag_files import PRODUCT_EDGES, PRODUCT_NODES, node_link

ROOT = Path(__file__).parents[2]
SOURCES = ("gnarl", "hw", "sw", "configs", "examples", "pyproject.toml", "README.md", "LICENSE")
ENDINGS = {".py", ".ipynb", ".toml", ".vlt", ".v", ".h", ".cpp", ".cuh", ".c", ".sram"}
BUILD = "import sys; from setuptools import build_meta; build_meta.{}(sys.argv[1])"
PYTHONS = [f"python3.{minor}" for minor in range(11, 20)]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what distributions are made of."""
    source = tmp_path_factory.mktemp("source")
    skipped = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in SOURCES:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, source / name, symlinks=True, ignore=skipped)
        else:
            shutil.copy2(path, source)
    return source


def distribution(source: Path, build: str, folder: Path) -> Path:
    """What ``build``, a hook of the build backend, makes of ``source``."""
    subprocess.run(
        [sys.executable, "-c", BUILD.format(build), str(folder)],
        cwd=source,
        check=True,
        capture_output=True,
    )
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def site(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that the wheel is unpacked in, which nothing writes to."""
    wheel = distribution(source, "build_wheel", tmp_path_factory.mktemp("wheel"))
    site = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    before = digests(site)
    yield site
    assert digests(site) == before


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def run(site: Path, folder: Path, *arguments: str, **environment: str) -> str:
    """What Python prints, without the checkout: ``-S`` leaves out links to it."""
    packages = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    caches = folder / "caches"
    caches.mkdir(exist_ok=True)
    if not (caches / "gnarl").exists():
        (caches / "gnarl").symlink_to(cache_folder())
    known = {name: value for name, value in os.environ.items() if name != "GNARL_CACHE"}
    done = subprocess.run(
        [sys.executable, "-S", *arguments],
        cwd=folder,
        env={
            **known,
            "PYTHONPATH": os.pathsep.join([str(site), *packages]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_CACHE_HOME": str(caches),
            **environment,
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def command(site: Path, folder: Path, *arguments: str, **environment: str) -> str:
    return run(site, folder, "-m", "gnarl", *arguments, **environment)


def test_it_has_all_files(site: Path) -> None:
    """One package; each module, configuration and example, and what is built or compiled from."""
    assert {path.name for path in site.iterdir() if path.suffix != ".dist-info"} == {"gnarl"}
    for folder in ("hw", "sw", "configs", "examples"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in ENDINGS and path.name != "ruff.toml":
                installed = site / "gnarl" / path.relative_to(ROOT)
                assert installed.read_bytes() == path.read_bytes()


def test_it_is_gnarl(site: Path, tmp_path: Path) -> None:
    code = "import gnarl, sys; print(gnarl.__file__, gnarl.__version__, gnarl.Device.__name__)"
    found = run(site, tmp_path, "-c", code).split()
    assert found[::2] == [str(site / "gnarl" / "__init__.py"), "Device"]
    assert command(site, tmp_path, "--version") == f"python -m gnarl, version {found[1]}\n"
    assert (
        run(site, tmp_path, "-c", "import gnarl, sys; print('numpy' in sys.modules)") == "False\n"
    )


def test_it_has_the_repositorys_configurations(site: Path, tmp_path: Path) -> None:
    code = (
        "from gnarl.sw.runtime.target.configuration import configuration_files as files\n"
        "for name, path in files().items(): print(name, path)"
    )
    found = dict(line.split() for line in run(site, tmp_path, "-c", code).splitlines())
    assert list(found) == list(configuration_files())
    assert {Path(path).parent for path in found.values()} == {site / "gnarl" / "configs"}
    table = command(site, tmp_path, "configs", COLUMNS="200")
    assert [line.split()[0] for line in table.splitlines()[1:] if line[0] != " "] == list(found)


def test_its_cache_is_in_the_users_folder_or_where_it_says(site: Path, tmp_path: Path) -> None:
    code = "from gnarl.sw.program.cache_contents import cache_folder; print(cache_folder())"
    caches = str(tmp_path / "mine")
    if sys.platform == "linux":
        assert run(site, tmp_path, "-c", code, XDG_CACHE_HOME=caches) == f"{caches}/gnarl\n"
    assert run(site, tmp_path, "-c", code, GNARL_CACHE=caches) == f"{caches}\n"


def test_a_folder_of_sources_that_is_gone_is_named(site: Path, tmp_path: Path) -> None:
    shutil.copytree(site, tmp_path / "site")
    shutil.rmtree(tmp_path / "site" / "gnarl" / "configs")
    with pytest.raises(AssertionError) as refused:
        command(tmp_path / "site", tmp_path, "configs")
    folder = tmp_path / "site" / "gnarl" / "configs"
    assert f"gnarl: {folder}: has no files *.toml: must be a folder of some" in str(refused.value)


def product(folder: Path) -> str:
    (folder / "product.json").write_text(node_link(PRODUCT_NODES, *PRODUCT_EDGES))
    return "product.json"


def test_rtl_runs(site: Path, tmp_path: Path) -> None:
    """Without numba: machine code of another folder would be compiled here."""
    found = command(
        *(site, tmp_path, "run", "dpu_d1_b8", product(tmp_path), "--backend", "rtl", "--json"),
        NUMBA_DISABLE_JIT="1",
    )
    assert json.loads(found)["bit_exact"]


@pytest.mark.slow
def test_every_target_runs(site: Path, tmp_path: Path) -> None:
    """On RTL where it has one, with an example of the wheel's own."""
    example = site / "gnarl" / "examples" / "vec_add.c"
    np.save(tmp_path / "b.npy", np.arange(8) / 4)
    for arguments in (
        ("dpu_d1_b8", product(tmp_path)),
        ("sam_fp32", "x(i)=b(i)+b(i) -f=x:d -f=b:d", "--tensor", "b=b.npy"),
        ("tmu_l2", "embedding_bag:tiny"),
        ("sram_b2", str(example), "--size", "n=64"),
    ):
        found = json.loads(command(site, tmp_path, "run", *arguments, "--json"))
        assert found["bit_exact"], arguments
    model = str(write_model(tmp_path))
    options = ("--backend", "emulation", "--batch", "8", "--json")
    assert json.loads(command(site, tmp_path, "run", "cuda_sm90", model, *options))["bit_exact"]


@pytest.mark.slow
@pytest.mark.parametrize("build", ["build_wheel", "build_sdist"])
@pytest.mark.parametrize("python", PYTHONS)
def test_it_installs_with_its_dependencies(
    source: Path, tmp_path: Path, python: str, build: str
) -> None:
    """Each Python on the path that the package is for, from what pip finds in its index."""
    if (
        not shutil.which(python)
        or subprocess.run([python, "--version"], capture_output=True).returncode
    ):
        pytest.skip(f"{python}: not on the path")
    built = tmp_path / "built"
    built.mkdir()
    package = distribution(source, build, built)
    environment = tmp_path / "environment"
    subprocess.run([python, "-m", "venv", str(environment)], check=True)
    pip = [str(environment / "bin" / "pip"), "install", "--quiet"]
    reached = subprocess.run([*pip, "setuptools", "wheel"], capture_output=True, text=True)
    if reached.returncode:
        pytest.skip(f"pip reaches no index: {reached.stderr.strip().splitlines()[-1]}")
    subprocess.run([*pip, str(package)], check=True)
    gnarl = str(environment / "bin" / "gnarl")
    known = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    known |= {"GNARL_CACHE": str(tmp_path / "cache"), "NUMBA_DISABLE_JIT": "1", "COLUMNS": "200"}
    ran = partial(subprocess.run, cwd=tmp_path, env=known, check=True, stdout=subprocess.PIPE)
    table = ran([gnarl, "configs"]).stdout.decode()
    assert [line.split()[0] for line in table.splitlines()[1:] if line[0] != " "] == list(
        configuration_files()
    )
    done = ran([gnarl, "run", "dpu_d1_b8", product(tmp_path), "--backend", "rtl", "--json"])
    assert json.loads(done.stdout)["bit_exact"]

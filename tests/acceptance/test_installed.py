"""The wheel, installed outside of any repository: what it has, and that it runs.

Dependencies are those of this Python, and simulators those of this cache.
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
from pathlib import Path

import numpy as np
import pytest

from gnarl.sw.program.cache import cache_folder
from gnarl.sw.runtime.target.configuration import configuration_files
from tests.support.cuda.embedding_files import write_model
from tests.support.dpu.dag_files import PRODUCT_EDGES, PRODUCT_NODES, node_link

ROOT = Path(__file__).parents[2]
SOURCES = ("gnarl", "hw", "sw", "configs", "examples", "pyproject.toml", "README.md", "LICENSE")
ENDINGS = {".py", ".toml", ".vlt", ".v", ".h", ".cpp", ".cuh", ".c", ".sram"}
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that the wheel is unpacked in, which nothing writes to."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    skipped = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in SOURCES:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, source / name, symlinks=True, ignore=skipped)
        else:
            shutil.copy2(path, source)
    subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)], cwd=source, check=True, capture_output=True
    )
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
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
    code = "from gnarl.sw.program.cache import cache_folder; print(cache_folder())"
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

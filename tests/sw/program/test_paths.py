"""Where the project's files are: folders that are there, and have files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gnarl.sw.program import cache_contents, paths
from gnarl.sw.program.cache import file_texts
from gnarl.sw.program.cache_contents import cache_folder
from gnarl.sw.program.paths import MissingFilesError, files_in

ROOT = Path(__file__).parents[3]


def test_the_project_has_what_is_named() -> None:
    assert paths.CHECKOUT == ROOT
    patterns = {
        paths.HARDWARE: "*.py",
        paths.SOFTWARE: "*.py",
        paths.CONFIGURATIONS: "*.toml",
        paths.INCLUDE: "*.cuh",
        paths.SIMT: "*.cpp",
        paths.SHIM_FOLDER: "*.cpp",
    }
    for folder, pattern in patterns.items():
        assert files_in(folder, pattern), folder
    assert paths.WAIVERS.is_file()
    assert len(files_in(paths.HARDWARE, "*.py")) > 200


@pytest.mark.parametrize("exists", [False, True], ids=["missing", "empty"])
def test_a_folder_without_sources_is_an_error(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path / "hw"
    if exists:
        (folder / "lib").mkdir(parents=True)
        (folder / "lib" / "note.txt").touch()
    with pytest.raises(
        MissingFilesError, match=f"^{folder}: has no files \\*.py: must be a folder"
    ):
        file_texts(folder, "*.py")


def test_no_other_module_of_the_package_says_where_files_are() -> None:
    """By way of its own place, as that of a module changes when it is moved."""
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in (paths.HARDWARE, paths.SOFTWARE)
        for path in folder.rglob("*.py")
        if re.search(r"\b(?<!\.)__file__", path.read_text())
    }
    assert found == {"sw/program/paths.py"}


def test_caches_are_in_the_checkout_in_the_users_folder_or_where_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GNARL_CACHE", raising=False)
    assert cache_folder() == ROOT / "build" / "sim"
    monkeypatch.setattr(cache_contents, "CHECKOUT", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    if sys.platform == "linux":
        assert cache_folder() == tmp_path / "caches" / "gnarl"
    monkeypatch.setenv("GNARL_CACHE", str(tmp_path / "named"))
    assert cache_folder() == tmp_path / "named"


@pytest.mark.parametrize("name", ["hw", "sw"])
def test_a_second_copy_of_modules_is_refused(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {name}.program.cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: import gnarl.{name} instead of {name}: it would be a second copy of all "
        "modules"
    )

"""A second process that fills the caches ahead of the first."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from gnarl.sw.program.cache_contents import cache_folder
from gnarl.sw.runtime.run.warm_up import running_ahead
from tests.support.commands import gnarl
from tests.support.targets.installed import OUTSIDE, importable, install

NAMES = ("adder", "ulp")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One without simulators, of which a process finds what the process before it has built.

    What simulators share is there, where other tests have built it.
    """
    folder = tmp_path / "cache"
    folder.mkdir()
    for sums in cache_folder().glob("*/sha256sums"):
        if not (sums.parent / "simulator.so").exists():
            (folder / sums.parent.name).symlink_to(sums.parent)
    monkeypatch.setenv("GNARL_CACHE", str(folder))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    return folder


@pytest.fixture
def ahead() -> Callable[[], list[BaseProcess]]:
    """Says which processes were started since the test began."""
    before = set(multiprocessing.active_children())
    return lambda: [each for each in multiprocessing.active_children() if each not in before]


def simulators(cache: Path) -> int:
    return sum((path.parent / "sha256sums").exists() for path in cache.glob("*/simulator.so"))


def test_the_last_configuration_is_built_first(
    cache: Path, ahead: Callable[[], list[BaseProcess]], tmp_path: Path
) -> None:
    install(tmp_path, "outside", OUTSIDE)
    with importable(tmp_path):
        with running_ahead(NAMES):
            end = time.monotonic() + 300
            while not simulators(cache) and time.monotonic() < end:
                time.sleep(0.1)
        assert simulators(cache)
        assert not ahead()
        demo = gnarl("demo", "--config", "ulp", "--config", "adder", "-o", tmp_path / "demo")
        assert demo.exit_code == 0
        assert "bit-exact" in demo.stdout  # of ulp's example: adder has none


def test_one_configuration_has_nothing_ahead(
    cache: Path, ahead: Callable[[], list[BaseProcess]]
) -> None:
    with running_ahead(["adder"]):
        assert not ahead()


def test_what_cannot_run_is_left_to_the_first_process(
    cache: Path,
    ahead: Callable[[], list[BaseProcess]],
    capfd: pytest.CaptureFixture[str],
) -> None:
    with running_ahead(["no_such_configuration", "neither"]):
        (process,) = ahead()
        process.join()
        assert process.exitcode == 0
    assert capfd.readouterr() == ("", "")

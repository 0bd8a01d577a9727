"""The plugin that limits and lists what tests take of the processor."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

TESTS = """
import time

import pytest

from gnarl.sw.program.cache import cached, digest_of


def spend(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.fixture
def slowly_made():
    spend(0.6)


def test_that_spends():
    spend(0.6)


@pytest.mark.slow
def test_marked_slow():
    spend(0.6)


def test_of_a_fixture(slowly_made):
    pass


def test_that_builds(tmp_path, monkeypatch):
    monkeypatch.setenv("GNARL_CACHE", str(tmp_path))

    def make(folder):
        spend(0.6)
        (folder / "kept").write_text("")

    cached("test", digest_of("entry"), make, keep=("kept",))


@pytest.mark.parametrize("number", range(20))
def test_that_is_quick(number):
    pass
"""


def run(folder: Path, *options: str) -> str:
    (folder / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.processor_time", *options]
    command += [f"--rootdir={folder}", "-p", "no:cacheprovider", "-m", ""]
    command += ["-p", "no:hypothesispytest"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.stdout


def test_the_limit_counts_calls_without_builds(tmp_path: Path) -> None:
    # The machine is scaled to the slow one, which may be several times slower than this one.
    output = run(tmp_path, "-oprocessor_limit_s=0.25")
    assert "FAILED test_some.py::test_that_spends - Failed: takes 0.6 s of the proc" in output
    assert "1 failed, 23 passed" in output
    assert "over the limit" not in output


def test_what_is_somewhat_over_the_limit_is_listed(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "from tests.support import processor_time\n"
        "processor_time._scaled_limit = lambda config, choose: 0.4\n"
    )
    output = run(tmp_path)
    assert "24 passed" in output
    listed = output[output.index("tests over the limit of processor time") :].splitlines()
    assert listed[1].startswith("test_some.py::test_that_spends: takes 0.6 s of the processor")
    assert "slowest 20" in listed[2]


def test_without_a_limit_the_slowest_are_listed_with_what_they_build(tmp_path: Path) -> None:
    output = run(tmp_path, "-oprocessor_limit_s=0", "-n", "2")
    assert "24 passed" in output
    listed = output[output.index("slowest 20 of 24 tests, by processor time") :].splitlines()
    slowest = {line.split("::")[1] for line in listed[1:5]}
    spending = {"test_that_spends", "test_marked_slow", "test_of_a_fixture", "test_that_builds"}
    assert slowest == spending
    assert [float(line.split()[0]) >= 0.6 for line in listed[1:6]] == [True] * 4 + [False]

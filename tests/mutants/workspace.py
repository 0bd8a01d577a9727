"""A copy of the project in which files are changed and tests run; the project stays as it is."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self
from xml.etree import ElementTree

from tests.mutants.sites import Mutant
from tests.support import processor_time

ROOT = Path(__file__).parents[2]
FOLDERS = (
    *("gnarl", "hw", "sw", "tests", "cocotb_tests", "bench", "manual", "configs", "examples"),
    "docs",
)
FILES = ("pyproject.toml", "Makefile", "README.md", "conftest.py")
MEMORY = 16 << 30
"""Bytes of address space that a mutant's tests may take."""

_LONG_S = 3600.0
NO_TESTS_RAN = {2, 3, 4, 5}
"""Exit statuses of pytest where it did not get as far as tests: modules could not be imported."""


class BaselineError(Exception):
    """Tests fail without any mutant."""


class Workspace:
    """The project's sources in a temporary folder, which is removed at the end.

    Each change gets a time of its own, so that nothing compiled from another is taken for it.
    """

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="gnarl-mutants-", ignore_cleanup_errors=True)
        self.root = Path(self._folder.name).resolve()
        self._changes = 0
        self._began = int(time.time())

    def __enter__(self) -> Self:
        skipped = shutil.ignore_patterns("__pycache__")
        for name in FOLDERS:
            shutil.copytree(ROOT / name, self.root / name, symlinks=True, ignore=skipped)
        for name in FILES:
            shutil.copy2(ROOT / name, self.root / name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._folder.cleanup()

    def write(self, file: str, source: bytes) -> None:
        path = self.root / file
        path.write_bytes(source)
        self._changes += 1
        os.utime(path, (self._began + self._changes,) * 2)

    def run(self, command: Sequence[str | Path], limit_s: float, plain: bool) -> int | None:
        """The exit status of Python with these arguments; None where it took longer."""
        environment = os.environ | {
            "PYTHONPATH": str(self.root),
            "GNARL_CACHE": str(self.root / "cache"),
            "NUMBA_DISABLE_JIT": str(int(plain)),
        }
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            # With all that the tests have started: simulators, compilers.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()

    def test(
        self, tests: Sequence[str], limit_s: float, seed: int, plain: bool, *options: str
    ) -> int | None:
        """The exit status of pytest, up to the first failure."""
        command = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        command += [f"-o{processor_time.LIMIT}=0"]
        command += [f"--hypothesis-seed={seed}", *options, *tests]
        return self.run(command, limit_s, plain)

    def seconds(self, tests: Sequence[str], seed: int, plain: bool) -> dict[str, float]:
        """Processor time that each file of tests takes. Raises ``BaselineError`` if one fails."""
        report = self.root / "report.xml"
        options = (f"--junitxml={report}", "-ojunit_family=xunit1")
        status = self.test(tests, _LONG_S, seed, plain, *options)
        cases = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
        if status != 0:
            wrong = (case for case in cases if len(case.findall("failure") + case.findall("error")))
            name = next((f"{case.get('file')}::{case.get('name')}" for case in wrong), tests[0])
            raise BaselineError(f"{name}: fails without a mutant")
        found = dict.fromkeys(tests, 0.0)
        for case in cases:
            for test in tests:
                if case.get("file", "").startswith(test):
                    found[test] += _processor_s(case)
        return found

    def verdict(
        self, mutant: Mutant, tests: Sequence[str], limit_s: float, seed: int, plain: bool
    ) -> str:
        """``killed``, ``timeout``, ``survived``, or ``broken``: not even imported."""
        source = (self.root / mutant.file).read_bytes()
        self.write(mutant.file, mutant.apply(source))
        try:
            status = self.test(tests, limit_s, seed, plain)
        finally:
            self.write(mutant.file, source)
        if status is None:
            return "timeout"
        if status in NO_TESTS_RAN:
            return "broken"
        return "survived" if status == 0 else "killed"


def _processor_s(case: ElementTree.Element) -> float:
    return sum(
        float(each.get("value", 0))
        for each in case.iter("property")
        if each.get("name") == processor_time.PROPERTY
    )

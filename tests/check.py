"""``python -m tests.check``, the second half of ``make check``: the tests nearest to a change."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterable
from itertools import chain, zip_longest
from pathlib import Path

import click
import pytest

from tests.mutants.targets import Neighbours

ROOT = Path(__file__).parents[1]

SECONDS = 75
"""How long tests run; with lint it is two minutes at most."""


def changed(root: Path, base: str) -> list[str]:
    """Python files that differ from commit ``base`` or are new, below ``root``."""
    commands = (
        ["git", "diff", "--name-only", "--diff-filter=d", "--relative", base],
        ["git", "ls-files", "--others", "--exclude-standard"],
    )
    done = [subprocess.run(each, cwd=root, check=True, capture_output=True) for each in commands]
    names = b"".join(each.stdout for each in done).decode().split("\n")
    return sorted(name for name in names if name.endswith(".py"))


def nearest(files: Iterable[str], neighbours: Neighbours) -> list[str]:
    """Test files: changed ones, then in turn those nearest to each other file."""
    tests = [file for file in files if Path(file).name.startswith("test_")]
    near = [neighbours.of(file) for file in files if file not in tests]
    turns = chain.from_iterable(zip_longest(*near))
    return list(dict.fromkeys([*tests, *(test for test in turns if test is not None)]))


class _Failures:
    """A plugin of pytest that knows whether a test has failed."""

    def __init__(self) -> None:
        self.any = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.any |= report.failed


@click.command()
@click.option("--base", default="HEAD", show_default=True, help="The commit to compare with.")
def main(base: str) -> None:
    """Run the tests nearest to what the working tree changes, for 75 seconds at most.

    Exit status: 0 when no test failed, 1 when one did.
    """
    tests = nearest(changed(ROOT, base), Neighbours(ROOT))
    if not tests:
        click.echo(f"no test is near to what differs from {base}")
        return
    click.echo(f"{len(tests)} files of tests: {', '.join(tests[:4])}{', …' * (len(tests) > 4)}")
    failures = _Failures()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(SECONDS)
    options = ["-q", "-x", "-n", "auto", "--dist", "worksteal", f"--rootdir={ROOT}"]
    status = pytest.main([*options, *(str(ROOT / test) for test in tests)], [failures])
    signal.alarm(0)
    if status == pytest.ExitCode.INTERRUPTED and not failures.any:
        click.echo(f"stopped after {SECONDS} s: make test runs the rest")
        status = pytest.ExitCode.OK
    sys.exit(int(status != pytest.ExitCode.OK))


if __name__ == "__main__":
    main()

"""Orders for the target ``counted``, and what of it has run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gnarl.sw.runtime.explore.point_run import run_point
from tests.support.targets.installed import OUTSIDE, importable, install

_TARGETS = {**OUTSIDE, "counted": "tests.support.targets.counted_target:TARGET"}


@contextmanager
def counted_target(folder: Path) -> Iterator[Path]:
    """The targets belong to this process; gives a folder that others have to have in their path."""
    install(folder, "counted", _TARGETS)
    with importable(folder):
        yield folder


def run_here(tasks: Mapping[int, dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Runs points in this process, one after the other."""
    return ((at, run_point(tasks[at])) for at in tasks)


class Order:
    """A workload in a folder of its own."""

    def __init__(self, folder: Path, **text: Any) -> None:
        self.path = folder / "order.json"
        self._log = folder / "runs"
        self.path.write_text(json.dumps({"log": str(self._log), **text}))

    def runs(self) -> list[int]:
        """Numbers of the runs that have begun."""
        return [int(word) for word in self._log.read_text().split()] if self._log.exists() else []

    def searches(self) -> list[list[Any]]:
        """Number, lanes and sparsities of each search for plans."""
        log = self._log.with_suffix(".searches")
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def go(self) -> None:
        """Runs wait no longer."""
        self._log.with_suffix(".go").touch()

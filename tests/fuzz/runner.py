"""A server of cases, from the process that asks it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from tests.support.forked import ONE_THREAD, ROOT


class Runner:
    """To be used in a ``with`` block; ``folder`` must exist, and is the server's alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.server", str(folder.absolute())],
            cwd=ROOT,
            env={**os.environ, **ONE_THREAD},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def run(self, seed: int, number: int) -> dict[str, Any]:
        """The fields of the case's ``tests.fuzz.server.Outcome``; its files are in ``case``."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{seed} {number}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the server died of seed {seed}, case {number}"
        found: dict[str, Any] = json.loads(answer)
        return found

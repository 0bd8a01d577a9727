"""The file that a sweep's results are in as soon as they are there, so that it can go on."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from gnarl.hw.lib.errors import WorkloadError, short
from gnarl.sw.program.atomic import write_text
from gnarl.sw.program.command_files import check_output

NAME = "results.jsonl"

_SWEEP = "sweep"
"""The first line's only entry."""


class ResultsFile:
    """The results in a file: a line that says of which sweep, and then a line for each point.

    found
        results by the place of their point in the sweep.
    """

    def __init__(self, file: IO[bytes], found: dict[int, dict[str, Any]]) -> None:
        self._file = file
        self.found = found

    def add(self, at: int, result: Mapping[str, Any]) -> None:
        """Appends a point's result, which is in the file when this returns."""
        self.found[at] = dict(result)
        self._file.write(_line({"at": at, **result}))
        self._file.flush()


@contextmanager
def opened(path: Path, identity: Mapping[str, Any], points: int) -> Iterator[ResultsFile]:
    """The results file at ``path`` of a sweep of so many points, which is made if there is none.

    A last line that was cut is dropped. Raises ``WorkloadError`` for a file of another sweep, which
    says what differs, for one that is something else, and while another command writes it.
    """
    check_output(path)
    if not path.exists():
        write_text(path, _line({_SWEEP: identity}).decode())
    with path.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WorkloadError(f"{path}: another gnarl explore is writing it") from None
        whole, _, _ = file.read().rpartition(b"\n")
        lines = whole.split(b"\n")
        _require_same(path, lines[0], identity)
        results = [_result(path, at, line, points) for at, line in enumerate(lines[1:], 2)]
        found = {result.pop("at"): result for result in results}
        file.seek(len(whole) + 1)
        file.truncate()
        yield ResultsFile(file, found)
        os.fsync(file.fileno())


def require_same(path: Path, identity: Mapping[str, Any]) -> None:
    """Raises ``WorkloadError`` unless the file at ``path`` has results of this sweep."""
    with path.open("rb") as file:
        _require_same(path, file.readline(), identity)


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, allow_nan=False).encode() + b"\n"


def _require_same(path: Path, line: bytes, identity: Mapping[str, Any]) -> None:
    try:
        older = json.loads(line)[_SWEEP]
        differing = [name for name, value in identity.items() if older.get(name) != value]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        text = "not results of gnarl explore, or damaged: must be another folder"
        raise WorkloadError(f"{path}: {text}") from None
    if differing:
        changes = ", ".join(_change(name, older.get(name), identity[name]) for name in differing)
        text = f"results of another sweep: {changes}; must be another folder"
        raise WorkloadError(f"{path}: {text}")


def _change(name: str, older: Any, newer: Any) -> str:
    """What differs; contents are digests, which tell nobody anything."""
    if name in ("configuration", "workload", "values", "tensors"):
        return f"{name} {'differ' if name.endswith('s') else 'differs'}"
    return f"{name} was {short(json.dumps(older))}, is {short(json.dumps(newer))}"


def _result(path: Path, number: int, line: bytes, points: int) -> dict[str, Any]:
    try:
        result = json.loads(line)
        if type(result["at"]) is int and 0 <= result["at"] < points and "error" in result:
            return result
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    raise WorkloadError(f"{path}:{number}: not a result of gnarl explore, or damaged")

"""What a tuning has measured so far: a file beside its output, a line of JSON for each job.

The first line says what is being tuned. Every line is on disk before the next job is counted, so
that a tuning that was interrupted, or killed, resumes where it was.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.tune.distribute import Outcome
from gnarl.sw.workloads.text_file import parse_json

_VERSION = 1
_BEGIN = b'{"journal": '


def journal_path(output: Path) -> Path:
    return output.with_name(output.name + ".journal")


class Journal(ExitStack):
    """Outcomes of jobs by their keys, to be used in a ``with`` block.

    tuning
        what is being tuned, names and texts: a journal of another tuning is refused.

    Raises ``WorkloadError`` naming file and line for a journal of another tuning, one that is
    damaged elsewhere than at its end, which is where a write was cut off, a file that is no
    journal, and one that another process writes to.
    """

    def __init__(self, path: Path, tuning: Mapping[str, str]) -> None:
        super().__init__()
        self._path = path
        # Not of the journal itself: some versions of filelock truncate or remove what they lock.
        self._lock = FileLock(path.with_name(path.name + ".lock"), timeout=0)
        self._header = {"journal": _VERSION, **tuning}
        self.outcomes: dict[str, Outcome] = {}
        self._lines: dict[str, int] = {}

    def __enter__(self) -> Self:
        with ExitStack() as entered:
            # First: filelock would make folders that are missing.
            self._file = entered.enter_context(open(self._path, "a+b"))
            try:
                entered.enter_context(self._lock)
            except Timeout:
                raise WorkloadError(
                    f"{self._path}: another process is tuning to this file"
                ) from None
            # Removed while locked, which others notice; one left by a killed process does no harm.
            entered.callback(Path(self._lock.lock_file).unlink, missing_ok=True)
            self._read()
            self.push(entered.pop_all())
        return self

    def known(self, key: str, times: int) -> Outcome | None:
        """What is known of a job that has so many times, if it has not failed.

        Raises ``WorkloadError`` naming file and line if it has another number of them.
        """
        found = self.outcomes.get(key)
        if found is not None and not found.failure and len(found.times) != times:
            raise self._damaged(self._lines[key])
        return found

    def add(self, key: str, outcome: Outcome) -> None:
        """Adds an outcome, which is on disk when this returns."""
        self.outcomes[key] = outcome
        if outcome.failure:
            self._write({"job": key, "failure": outcome.failure})
        else:
            self._write({"job": key, "times": list(outcome.times)})

    def _write(self, record: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(record).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self) -> None:
        self._file.seek(0)
        # A line that does not end was being written when the process was killed.
        content = self._file.read()
        if not _BEGIN.startswith(content[: len(_BEGIN)]):
            raise self._wrong(1, "must be a tuner's journal")
        lines = content.split(b"\n")[:-1]
        size = 0
        for number, line in enumerate(lines, start=1):
            record = self._record(line)
            if record is None and number == len(lines):
                break
            if record is None:
                raise self._damaged(number)
            if number == 1:
                self._require_header(record)
            else:
                self._note(number, record)
            size += len(line) + 1
        self._file.truncate(size)
        if size == 0:
            self._write(self._header)

    def _record(self, line: bytes) -> dict[str, Any] | None:
        try:
            record = parse_json(line.decode(), "")
        except (WorkloadError, UnicodeDecodeError, RecursionError):
            return None
        return record if isinstance(record, dict) else None

    def _require_header(self, record: dict[str, Any]) -> None:
        for name, value in self._header.items():
            if record.get(name) != value:
                raise self._wrong(
                    1,
                    f"{name} = {record.get(name)}: must be {value}: delete the file to start "
                    "again, or tune to another",
                )

    def _note(self, number: int, record: dict[str, Any]) -> None:
        key, times, failure = record.get("job"), record.get("times"), record.get("failure")
        if isinstance(key, str) and isinstance(failure, str) and failure:
            self.outcomes[key] = Outcome((), failure)
        elif isinstance(key, str) and isinstance(times, list) and times and all(map(_time, times)):
            self.outcomes[key] = Outcome(tuple(map(float, times)))
        else:
            raise self._damaged(number)
        self._lines[key] = number

    def _damaged(self, line: int) -> WorkloadError:
        return self._wrong(line, "is damaged: delete the file to start again")

    def _wrong(self, line: int, text: str) -> WorkloadError:
        return WorkloadError(f"{self._path}: line {line}: {text}")


def _time(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and value >= 0

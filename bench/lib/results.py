"""A part's results file while the part runs: whatever ends the run, what was measured is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.lib.records import Record, Setting, commit, load, save


def of_this_commit(record: Record) -> bool:
    """Whether this commit measured it."""
    return record.commit == commit()


@dataclass(frozen=True)
class Results:
    """The file at ``path``, written whenever records are added. For one process at a time."""

    path: Path

    @classmethod
    def begin(
        cls, path: Path, resume: bool, counts: Callable[[Record], bool] = of_this_commit
    ) -> Results:
        """Empty; or, to resume, with those records of the file that still count.

        Raises ``ResultsError`` for a file that is none.
        """
        kept = load(path) if resume and path.is_file() else []
        save(path, [record for record in kept if counts(record)])
        return cls(path)

    def load(self) -> list[Record]:
        """All of them."""
        return load(self.path)

    def add(self, records: Sequence[Record]) -> None:
        """Adds records, in place of those of the same names."""
        names = {record.name for record in records}
        save(self.path, [each for each in self.load() if each.name not in names] + list(records))

    def has(
        self,
        bench: str,
        labels: Mapping[str, Any],
        setting: Setting,
        also: Mapping[str, str] | None = None,
    ) -> bool:
        """Whether there are records of these labels, measured with ``setting``, in as many runs or
        more, and ``also``."""

        def as_many(known: Setting) -> bool:
            return known.runs >= setting.runs and replace(known, runs=setting.runs) == setting

        return any(
            (record.bench, record.labels) == (bench, dict(labels))
            and as_many(record.setting)
            and dict(also or {}).items() <= record.tools.items()
            for record in self.load()
        )

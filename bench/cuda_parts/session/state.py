"""What a session has done, in a folder that travels from one machine to the next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.cuda_parts.protocol import PROTOCOL, counts
from bench.cuda_parts.session.outcome import FAILED, FINAL, UNFINISHED, Outcome
from bench.lib.records import commit
from bench.lib.results import Results
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.program.atomic import write_text

MOST_BYTES = 16 << 20
"""Bytes of a state."""

FILE = "session.json"
SCHEDULES = "schedules"

_JOURNALS = f"{SCHEDULES}/*.journal"


class StateError(GnarlError):
    """A folder that is no state, or not one of this protocol, or too large."""


@dataclass(frozen=True)
class Entry:
    """A step that was run.

    key
        what its figures are known by.
    failures
        how often it has failed since it was last done.
    """

    status: str
    reason: str
    key: Mapping[str, str]
    seconds: float
    commit: str
    failures: int


@dataclass
class State:
    """A folder with ``session.json``, a results file for each part, and what was tuned."""

    folder: Path
    entries: dict[str, Entry] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path) -> State:
        """The state in a folder; a new one where the folder is empty, or not there.

        Raises ``StateError``, and changes nothing then.
        """
        if not folder.exists():
            folder.mkdir(parents=True)
        if not folder.is_dir():
            raise StateError(f"{folder}: must be a folder")
        file = folder / FILE
        if file.is_file():
            state = cls(folder, _read(file))
        elif strangers := sorted(each.name for each in folder.iterdir()):
            raise StateError(
                f"{folder}: must be a session's state, or empty: has {strangers[0]} and no {FILE}"
            )
        else:
            state = cls(folder)
            state._save()
        if (size := state.size()) > MOST_BYTES:
            raise StateError(f"{folder}: {_mib(size)}: must be at most {_mib(MOST_BYTES)}")
        return state

    def results(self, part: str) -> Results:
        """The results file of a part, with the figures of this protocol that it has."""
        path = self.folder / f"cuda_{part}.json"
        return Results(path) if path.is_file() else Results.begin(path, True, counts)

    @property
    def schedules(self) -> Path:
        """The folder of what was tuned."""
        return self.folder / SCHEDULES

    def is_done(self, step: str, key: Mapping[str, str]) -> bool:
        """Whether a step need not be run again."""
        entry = self.entries.get(step)
        return entry is not None and entry.status in FINAL and entry.key == key

    def has(self, step: str) -> bool:
        """Whether a step was done, with whatever kernel."""
        return step in self.entries and self.entries[step].status in FINAL

    def failures(self, step: str) -> int:
        """How often a step has failed since it was last done."""
        return self.entries[step].failures if step in self.entries else 0

    def note(self, step: str, outcome: Outcome, key: Mapping[str, str], seconds: float) -> None:
        """Saves how a step has ended."""
        failures = self._failures(step, outcome)
        self.entries[step] = Entry(
            outcome.status, outcome.reason, dict(key), round(seconds, 1), commit(), failures
        )
        self._save()

    def size(self) -> int:
        """Bytes of all files."""
        return sum(each.stat().st_size for each in self.folder.rglob("*") if each.is_file())

    def make_room(self) -> str:
        """Where the state has grown too large, removes what tuning can measure again.

        What was removed, in words. Raises ``StateError`` where that is not enough.
        """
        size = self.size()
        if size <= MOST_BYTES:
            return ""
        journals = list(self.folder.glob(_JOURNALS))
        for each in journals:
            each.unlink()
        if (left := self.size()) > MOST_BYTES:
            raise StateError(f"{self.folder}: {_mib(left)}: must be at most {_mib(MOST_BYTES)}")
        return f"{_mib(size)} are too many: removed {len(journals)} journals of tuning"

    def _failures(self, step: str, outcome: Outcome) -> int:
        """How often a step has failed now. What is unfinished once has made headway."""
        before = self.entries.get(step)
        again = before is not None and before.status == outcome.status == UNFINISHED
        if outcome.status in FINAL:
            return 0
        return self.failures(step) + (again or outcome.status == FAILED)

    def _save(self) -> None:
        steps = {name: asdict(entry) for name, entry in self.entries.items()}
        content = {"protocol": PROTOCOL, "steps": steps}
        write_text(self.folder / FILE, json.dumps(content, indent=1) + "\n")


def _read(file: Path) -> dict[str, Entry]:
    try:
        content: Any = json.loads(file.read_text(encoding="utf-8"))
        protocol, steps = content["protocol"], content["steps"]
        if protocol != PROTOCOL:
            raise StateError(
                f"{file}: protocol {protocol}: must be {PROTOCOL}; nothing was changed: keep it, "
                "and begin another state"
            )
        return {name: Entry(**entry) for name, entry in steps.items()}
    except OSError as error:
        raise StateError(f"{file}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StateError(f"{file}: not a session's state: {error!r}") from error


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB"

"""What lies in the cache, and how it is kept small.

A cache is a folder of entries (``cache.py``) and of numba's machine code (``jit.py``). Each use of
one sets its time of modification, so that what was not used for longest goes first. Nothing else
that lies in the folder is touched: a user may have named any.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.program.paths import CHECKOUT

MAX_BYTES = 2_000_000_000
"""What a cache is kept to, unless ``$GNARL_CACHE_MAX_BYTES`` says otherwise."""

SUMS = "sha256sums"
"""Lists an entry's files, as the program ``sha256sum`` does."""

MACHINE_CODE = "numba"
"""The folder of numba's files in a cache."""

WORK, LOCK = ".work", ".lock"
"""How names of folders end that entries are made in, and of files that are locked meanwhile."""

_SPARED_S = _PERIOD_S = 3600
"""Seconds: what was used within them stays where others may read it, and how long it takes until
a cache is looked through again."""

_STAMP = ".pruned"
_ENTRY = re.compile("(?:([a-z]+)-)?[0-9a-f]{64}")
_MACHINE_CODE_FILE = re.compile(r".*\.checked(\.\d+)?\.nb[ic](\.tmp\.[0-9a-f]+)?")
_FAILED, _LOCKS = "failed build", "lock"


class CacheError(GnarlError):
    """``$GNARL_CACHE_MAX_BYTES`` is no number of bytes."""


@dataclass(frozen=True)
class Content:
    """A file or folder of the cache that can be removed by itself.

    kind
        what it is, for people.
    bytes
        of its files.
    used
        the time of its last use, seconds since 1970.
    """

    kind: str
    path: Path
    bytes: int
    used: float


def cache_folder() -> Path:
    """The folder of entries: ``$GNARL_CACHE``; else ``build/sim`` of a checkout, or where Gnarl is
    installed, the user's folder of caches."""
    named = os.environ.get("GNARL_CACHE")
    if named:
        return Path(named).absolute()
    if CHECKOUT:
        return CHECKOUT / "build" / "sim"
    from platformdirs import user_cache_dir  # a checkout does without

    return Path(user_cache_dir("gnarl"))


def max_cache_bytes() -> int:
    """What the cache is kept to. Raises ``CacheError``."""
    text = os.environ.get("GNARL_CACHE_MAX_BYTES", "")
    if not text:
        return MAX_BYTES
    if not re.fullmatch("[0-9]{1,18}", text):
        raise CacheError(f"GNARL_CACHE_MAX_BYTES = {text!r}: must be a number of bytes")
    return int(text)


def note_use(path: Path) -> None:
    """Says that a file of the cache is used now; one that is not there, or not ours, stays so."""
    with suppress(OSError):
        os.utime(path)


def contents(folder: Path) -> list[Content]:
    """All that Gnarl has put into a cache, what was used last at the end."""
    return sorted([*_entries(folder), *_machine_code(folder)], key=lambda each: each.used)


def prune(folder: Path, max_bytes: int) -> list[Content]:
    """Removes what was not used for longest until the rest takes ``max_bytes``, and locks and
    failed builds that nobody waits for. Returns what it has removed.

    While another process builds, what was used within an hour stays: it may be about to read it.
    """
    listed = contents(folder)
    building = any(_is_held(each.path) for each in listed if each.kind == _LOCKS)
    return _prune(listed, max_bytes, time.time() - _SPARED_S if building else float("inf"))


def prune_if_due() -> None:
    """Prunes the cache to its size once an hour, but for what was used within that time."""
    folder, now = cache_folder(), time.time()
    stamp = folder / _STAMP
    with suppress(OSError):
        if now - stamp.stat().st_mtime < _PERIOD_S:
            return
    most = max_cache_bytes()
    with suppress(OSError):  # else nobody can write here
        stamp.touch()
        _prune(contents(folder), most, now - _SPARED_S)


def _prune(listed: list[Content], max_bytes: int, used_before: float) -> list[Content]:
    taken = sum(each.bytes for each in listed)
    removed = []
    for each in listed:
        is_wanted = taken <= max_bytes and each.kind != _FAILED or each.used >= used_before
        if (each.kind == _LOCKS or not is_wanted) and _remove(each):
            taken -= each.bytes
            removed.append(each)
    return removed


def _entries(folder: Path) -> Iterator[Content]:
    for path in _children(folder):
        name = _ENTRY.fullmatch(path.name.removesuffix(WORK).removesuffix(LOCK))
        if not name or path.is_symlink():
            continue
        with suppress(OSError):  # another process may have removed it
            if path.is_dir():
                kind = _FAILED if path.name.endswith(WORK) else name[1] or "of an older version"
                files = [each.stat() for each in path.rglob("*") if each.is_file()]
                used = max((each.st_mtime for each in files), default=path.stat().st_mtime)
                yield Content(kind, path, sum(each.st_size for each in files), used)
            elif path.name.endswith(LOCK):
                yield Content(_LOCKS, path, 0, path.stat().st_mtime)


def _machine_code(folder: Path) -> Iterator[Content]:
    for inner in _children(folder / MACHINE_CODE):
        for path in _children(inner):
            with suppress(OSError):
                if _MACHINE_CODE_FILE.fullmatch(path.name) and not path.is_symlink():
                    found = path.stat()
                    yield Content("machine code", path, found.st_size, found.st_mtime)


def _children(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _remove(content: Content) -> bool:
    """Removes what nobody holds or has used meanwhile, and says whether it could."""
    path = content.path
    try:
        if path.is_file() and content.kind != _LOCKS:
            path.unlink()
            _remove_if_empty(path.parent)
            return True
        lock = path.with_name(path.name.removesuffix(WORK).removesuffix(LOCK) + LOCK)
        with FileLock(lock, timeout=0):
            done = content.kind == _LOCKS or _remove_entry(path, content.used)
            lock.unlink(missing_ok=True)
        return done
    except (OSError, Timeout):
        return False


def _remove_entry(path: Path, used: float) -> bool:
    """Puts an entry aside first, and back if somebody was quicker: who finds none waits for its
    lock."""
    work = path if path.name.endswith(WORK) else path.with_name(path.name + WORK)
    if path != work:
        if work.exists():
            shutil.rmtree(work)
        path.rename(work)
        if (work / SUMS).exists() and (work / SUMS).stat().st_mtime > used:
            work.rename(path)
            return False
    shutil.rmtree(work)
    return True


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _is_held(path: Path) -> bool:
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False

"""What compilers build, kept between runs.

A cache entry is a folder named by the SHA-256 digest of everything that goes in, and appears
whole or not at all: it is made in ``<digest>.work``, then renamed. A file lock for each entry makes
a second process that wants the same one wait for the first. What a failed build leaves in its work
folder, logs included, stays until the next attempt.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock


def cache_folder() -> Path:
    """Where entries are: ``$GNARL_CACHE``, or ``build/sim`` under the repository."""
    named = os.environ.get("GNARL_CACHE")
    return (Path(named) if named else Path(__file__).parents[2] / "build" / "sim").absolute()


def digest_of(*parts: str) -> str:
    """Hexadecimal digest, different for any two sequences of parts."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


def file_texts(folder: Path, pattern: str = "*") -> list[str]:
    """Names and texts of the files in a folder and below, for digests."""
    paths = sorted(path for path in folder.rglob(pattern) if path.is_file())
    return [
        text
        for path in paths
        for text in (path.relative_to(folder).as_posix(), path.read_text(errors="replace"))
    ]


def cached(digest: str, make: Callable[[Path], None], keep: tuple[str, ...]) -> list[Path]:
    """The files ``keep`` of entry ``digest``; if there is none, ``make`` writes them.

    Other files that it writes are removed, and all of them when it is interrupted. If it raises
    anything else its folder stays until the next attempt, for errors to refer to.
    """
    cache = cache_folder()
    entry = cache / digest
    paths = [entry / name for name in keep]
    if not entry.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(cache / f"{digest}.lock"):
            if not entry.exists():
                folder = cache / f"{digest}.work"
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                try:
                    make(folder)
                    for path in folder.iterdir():
                        if path.name not in keep:
                            shutil.rmtree(path) if path.is_dir() else path.unlink()
                    folder.rename(entry)
                except KeyboardInterrupt:
                    shutil.rmtree(folder, ignore_errors=True)
                    raise
    return paths

"""How the passes' loops are compiled: to files that later runs load, and without Python's lock.

With ``NUMBA_DISABLE_JIT=1`` they stay Python's, for its debugger, and where compiling takes longer.
"""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.caching import IndexDataCacheFile

from sw.workloads.dag import dag

Function = TypeVar("Function", bound=Callable[..., Any])

_DIGEST = hashlib.sha256().digest_size


def compiled(function: Function) -> Function:
    """For functions that create arrays."""
    return _kept(function, _nrt=True)


def in_place(function: Function) -> Function:
    """For functions that create none: without numba's reference counts, which cost more than the
    work of small functions."""
    return _kept(function, _nrt=False)


def inner(function: Function) -> Function:
    """The same, for functions that only compiled ones call: quicker to compile."""
    return _kept(function, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def stage(function: Function) -> Function:
    """For parts of one compiled function: numba reads them as if they were written there."""
    return _kept(function, inline="always")


def _kept(function: Function, **options: Any) -> Function:
    dispatcher: Any = njit(cache=True, nogil=True, **options)(function)
    if dispatcher is function:  # numba is turned off: NUMBA_DISABLE_JIT
        return function
    kept: Any = dispatcher._cache
    kept._cache_file.__class__ = _CheckedFile
    _forget_stale(Path(dispatcher.stats.cache_path))
    return cast(Function, dispatcher)


class _CheckedFile(IndexDataCacheFile):
    """The index and the machine code of one function, which begin with digests: numba would run
    what is damaged. Such a file is one that is missing."""

    def _load_index(self) -> dict[Any, str]:
        found = self._read(self._index_path)
        # Only of this version of numba are its types those of today.
        if found is None or found[:2] != (self._version, self._source_stamp):
            return {}
        return pickle.loads(found[2])

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._version, self._source_stamp, self._dump(overloads)))

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> Any:
        try:
            content = Path(path).read_bytes()
        except FileNotFoundError:
            return None
        digest, octets = content[:_DIGEST], content[_DIGEST:]
        if hashlib.sha256(octets).digest() != digest:
            warnings.warn(f"{path}: damaged cache entry: made again", stacklevel=2)
            return None
        return pickle.loads(octets)

    def _write(self, path: str, content: Any) -> None:
        octets = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(octets).digest() + octets)


@cache
def _forget_stale(folder: Path) -> None:
    """Removes the index of what numba keeps in ``folder``, unless this package is as it was then.

    Numba compiles a function again when the function's own file changes, but not when another file
    does whose functions were compiled into it.
    """
    sources = [Path(dag.__file__), *sorted(Path(__file__).parent.glob("*.py"))]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    mark = folder / "sources.sha256"
    if mark.is_file() and mark.read_text() == digest:
        return
    for index in folder.glob("*.nbi"):
        index.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    mark.write_text(digest)

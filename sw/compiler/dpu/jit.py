"""How the passes' loops are compiled: to files that later runs load, and without Python's lock."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

from sw.workloads.dag import dag

Function = TypeVar("Function", bound=Callable[..., Any])


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
    _forget_stale(Path(dispatcher.stats.cache_path))
    return cast(Function, dispatcher)


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

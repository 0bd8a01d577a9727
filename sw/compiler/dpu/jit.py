"""How the passes' loops are compiled: to files that later runs load, and without Python's lock."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit

from sw.workloads.dag import dag

_compile: Any = njit(cache=True, nogil=True)
_compile_inner: Any = njit(  # type: ignore[call-overload]
    cache=True, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


def compiled(function: Callable[..., Any]) -> Any:
    """For functions that Python calls."""
    return _fresh(_compile(function))


def inner(function: Callable[..., Any]) -> Any:
    """For functions that only compiled functions call: quicker to compile."""
    return _fresh(_compile_inner(function))


def _fresh(dispatcher: Any) -> Any:
    _forget_stale(Path(dispatcher.stats.cache_path))
    return dispatcher


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

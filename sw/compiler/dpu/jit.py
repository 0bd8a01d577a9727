"""How the passes' loops are compiled: to files that later runs load, and without Python's lock."""

from __future__ import annotations

from typing import Any

from numba import njit

compiled: Any = njit(cache=True, nogil=True)
"""For functions that Python calls."""

inner: Any = njit(  # type: ignore[call-overload]
    cache=True, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)
"""For functions that only compiled functions call: quicker to compile."""

"""How functions are compiled that only compiled ones call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

_Function = TypeVar("_Function", bound=Callable[..., Any])


def inner(function: _Function) -> _Function:
    """A compiled function that Python cannot call: it takes half as long to compile."""
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    found: _Function = njit(cache=True, nogil=True, **options)(function)
    return found

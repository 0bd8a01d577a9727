"""How functions are compiled that only compiled ones call, and types of what they get."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from numba import njit

Record: TypeAlias = Any
"""A record of a structured array, whose fields a type checker does not know."""

Records: TypeAlias = Any
"""A structured array of one dimension."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def inner(function: _Function) -> _Function:
    """A compiled function that Python cannot call: what it would be called by takes long to
    compile, too."""
    options: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    found: _Function = njit(**options, cache=True, nogil=True)(function)
    return found

"""Cycles of runs on machines that count them."""

from __future__ import annotations

from typing import Any

from gnarl.sw.runtime.machine.result import Result


def cycles_of(result: Result[Any]) -> int:
    """Cycles from start to done, of all launches."""
    assert result.cycles is not None
    return result.cycles

"""Ways in which the TMU's compiler makes a program of a nest: each of them in tests."""

from __future__ import annotations

from typing import Any

from gnarl.sw.compiler.tmu.compile import LEVELS

MANNERS: dict[str, dict[str, Any]] = {f"level {level}": {"opt": level} for level in LEVELS}
MANNERS["coupled"] = {"coupled": True}
"""Options of the compiler, by name."""


def manner_of(seed: int) -> dict[str, Any]:
    """One for each seed in turn, coupled first."""
    return [*MANNERS.values()][seed % len(MANNERS) - 1]

"""What a user asked of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console

Case = TypeVar("Case")


@dataclass(frozen=True)
class Request:
    """What every part of a benchmark is given.

    workloads
        folder of the real inputs.
    output
        folder for results, pictures and generated inputs.
    backend
        ``rtl`` or ``model``.
    seed
        for inputs and compilers.
    quick
        whether a few small cases are enough.
    console
        for progress, and what went wrong.
    options
        those of one benchmark alone, by name.
    full
        whether cases that take long are wanted, too.
    results
        the file of the part's records.
    """

    workloads: Path
    output: Path
    backend: str
    seed: int
    quick: bool
    console: Console
    options: Mapping[str, Any] = field(default_factory=dict)
    full: bool = False
    results: Path = Path()

    def cases(self, usual: Sequence[Case], more: Sequence[Case] = (), quick: int = 1) -> list[Case]:
        """What to measure: the first ``quick`` of the ``usual`` cases, or all, or ``more``, too."""
        if self.quick:
            return list(usual[:quick])
        return [*usual, *more] if self.full else list(usual)

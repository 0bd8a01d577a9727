"""What a user asked of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console


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
    results: Path = Path()

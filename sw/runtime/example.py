"""Workloads that ship with the project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Example:
    """A workload as the command line takes it: ``source`` and files of ``tensors`` by name."""

    name: str
    source: str
    tensors: Mapping[str, str] = field(default_factory=dict)

"""Refusals of what a target does not have."""

from __future__ import annotations

from collections.abc import Iterable

from gnarl.hw.lib.errors import WorkloadError


def unsupported(what: str, target: str) -> WorkloadError:
    """The error for an option, or what else a target of that name does not have."""
    return WorkloadError(f"{what}: not supported by target {target}")


def refuse_named(option: str, names: Iterable[str], target: str) -> None:
    """Raises ``WorkloadError`` if an option ``NAME=VALUE`` was given."""
    for name in names:
        raise unsupported(f"{option} {name}", target)

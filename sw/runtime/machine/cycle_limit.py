"""Runs that do not end: the limit of their cycles, which machines and models keep alike."""

from __future__ import annotations

from gnarl.hw.lib.errors import ProgramError


class CycleLimitError(ProgramError):
    """A run that has not ended within ``max_cycles``."""

    def __init__(self, max_cycles: int) -> None:
        super().__init__(f"did not end within {max_cycles} cycles: --max-cycles N allows more")


def require_cycles(cycles: int, max_cycles: int) -> None:
    """Raises ``CycleLimitError`` where a run takes more than its limit."""
    if cycles > max_cycles:
        raise CycleLimitError(max_cycles)

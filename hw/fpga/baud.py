"""The rate of the serial line, for whoever has no use for hardware otherwise."""

from __future__ import annotations

BAUD = 3_000_000
"""Bits a second, unless a board is built for another rate."""

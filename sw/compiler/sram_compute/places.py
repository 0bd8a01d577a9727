"""Where loop nests run."""

from __future__ import annotations

PLACES = ("auto", "memory", "core")
"""``auto``: in memory if that takes the nest, else on the core."""

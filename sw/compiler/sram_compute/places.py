"""Where loop nests run."""

from __future__ import annotations

PLACES = ("auto", "memory", "core", "near")
"""``auto``: each statement of the nest's body in memory if that takes it, else on the core.
``near``: on stream engines."""

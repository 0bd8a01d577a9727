"""Where loop nests run."""

from __future__ import annotations

PLACES = ("auto", "memory", "core", "near")
"""``auto``: each statement of the nest's body where it takes fewer cycles, of memory and core.
``near``: on stream engines."""

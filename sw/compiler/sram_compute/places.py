"""Where loop nests run."""

from __future__ import annotations

PLACES = ("auto", "memory", "core", "near")
"""``auto``: each statement of the nest's body where it takes the fewest cycles. ``near``: on stream
engines."""

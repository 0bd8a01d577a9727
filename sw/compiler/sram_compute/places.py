"""The engines that loop nests run on."""

from __future__ import annotations

ENGINES = ("auto", "memory", "core", "near")
"""``auto``: each statement of the nest's body where it takes the fewest cycles. ``near``: on stream
engines."""

"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# Machines differ in speed: a slow example is no failure.
settings.register_profile("gnarl", deadline=None)
settings.load_profile("gnarl")

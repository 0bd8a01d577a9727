"""The shape of caches of vectors, which models know, too."""

from __future__ import annotations

WAYS = 4

WRITTEN_LINES = 16
"""Lines that wait to be written."""

REQUESTS = 8
"""Requests of the cache that wait for what is below."""

READS_PER_LOAD = 2
"""Reads that wait for lines, for each line that may be under way."""

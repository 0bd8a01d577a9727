"""Types of what compiled functions get."""

from __future__ import annotations

from typing import Any, TypeAlias

Record: TypeAlias = Any
"""A record of a structured array, whose fields a type checker does not know."""

Records: TypeAlias = Any
"""A structured array of one dimension."""

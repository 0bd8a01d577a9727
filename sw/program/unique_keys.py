"""Objects of JSON in which no key is repeated: Python's reader takes the last of them."""

from __future__ import annotations

from typing import Any

from gnarl.hw.lib.errors import short


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An ``object_pairs_hook`` of ``json.loads``; ``ValueError`` names the first repeated key."""
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"duplicate key {short(repeated)!r} in one object")
    return result

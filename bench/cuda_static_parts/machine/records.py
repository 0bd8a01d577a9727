"""The layout of decoded instructions, which ``warp.h`` has, too."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
_NAMES = re.findall(r"OPERATION\((\w+)\)", (FOLDER / "operations.h").read_text(encoding="utf-8"))
OPERATIONS = {name: number for number, name in enumerate(_NAMES)}

_GUARD = [("predicate", "u1"), ("negated", "u1")]
_OPERAND = [("row", "i4"), ("flags", "u4")]
INSTRUCTION = np.dtype(
    [
        ("operation", "u2"),
        ("guard", _GUARD),
        ("inputs", _GUARD, 3),
        ("outputs", "u1", 2),
        ("uniform", "u1"),
        ("count", "u1"),
        ("result", "i4"),
        ("target", "i4"),
        ("mode", "u4"),
        ("offset", "i4"),
        ("operands", _OPERAND, 4),
    ],
    align=True,
)

TRUE = 7
"""The predicate that always holds."""

"""Cycles that are filled for good, compressed: most of what could happen in one does not."""

from __future__ import annotations

import zlib

import numpy as np

from gnarl.sw.compiler.dpu.state import Cycles

_LEVEL = 1

_LEFT_OUT = ("held", "passing")
"""Fields that only the scheduler needs."""


class PackedCycles:
    """Cycles whose fields, but ``held`` and ``passing``, are attributes that each use unpacks."""

    def __init__(self) -> None:
        self.length = 0
        self._parts: list[dict[str, bytes]] = []
        self._kinds: dict[str, tuple[np.dtype, tuple[int, ...]]] = {}

    def append(self, cycles: Cycles, count: int) -> None:
        """Adds the first ``count`` cycles."""
        part = {}
        for name, column in cycles._asdict().items():
            if name not in _LEFT_OUT:
                part[name] = zlib.compress(column[:count], _LEVEL)
                self._kinds[name] = column.dtype, column.shape[1:]
        self._parts.append(part)
        self.length += count

    def __getattr__(self, name: str) -> np.ndarray:
        if name not in Cycles._fields or name in _LEFT_OUT:
            raise AttributeError(name)
        type, shape = self._kinds[name]
        column = np.empty((self.length, *shape), type)
        octets, at = column.reshape(-1).view(np.uint8), 0
        for part in self._parts:
            piece = np.frombuffer(zlib.decompress(part[name]), np.uint8)
            octets[at : at + len(piece)] = piece
            at += len(piece)
        return column

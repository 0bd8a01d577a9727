"""Launches of the emulated GPU that share a workspace, as those of a GPU do."""

from __future__ import annotations

import numpy as np
import pytest

from sw.runtime.cuda.emulation import embedding as emulated
from sw.runtime.cuda.emulation.kernels import GlobalArray


class OneWorkspace:
    """Memory that features' workspaces are cut from, one after the other.

    While it is installed, ``EmulatedEmbedding`` takes workspaces from here. Whoever launches calls
    ``next_launch`` before; so features find what other features have left in earlier launches.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, size: int = 1 << 21) -> None:
        self._memory = np.zeros(size // 8, np.int64)
        self._used = 0
        monkeypatch.setattr(emulated, "GlobalArray", self._array)

    def _array(self, name: str, array: np.ndarray, writable: bool = False) -> GlobalArray:
        if name.startswith("workspace of "):
            begin, end = self._used, self._used + len(array)
            self._used = end + end % 2  # 16 bytes
            array = self._memory[begin:end]
        return GlobalArray(name, array, writable)

    def next_launch(self) -> None:
        """Raises ``AssertionError`` unless all of it is zeroes."""
        assert self._used, "no template asked for a workspace"
        assert not self._memory.any(), "a launch must leave its workspace as zeroes"
        self._used = 0

"""Launches of the emulated GPU that share a workspace, as those of a GPU do."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.runtime.cuda.emulation import embedding as emulated
from gnarl.sw.runtime.cuda.emulation.kernels import GlobalArray


class OneWorkspace:
    """Memory that launches have their workspace in.

    While it is installed, ``EmulatedEmbedding`` takes workspaces from here, so that launches find
    what others have left. Whoever launches calls ``next_launch`` after.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, size: int = 1 << 21) -> None:
        self._memory = np.zeros(size // 8, np.int64)
        self._used = False
        monkeypatch.setattr(emulated, "GlobalArray", self._array)

    def _array(self, name: str, array: np.ndarray, writable: bool = False) -> GlobalArray:
        if name == "workspace":
            self._used = bool(len(array))
            array = self._memory[: len(array)]
        return GlobalArray(name, array, writable)

    def next_launch(self) -> None:
        """Raises ``AssertionError`` unless all of it is zeroes."""
        assert self._used, "no template asked for a workspace"
        assert not self._memory.any(), "a launch must leave its workspace as zeroes"
        self._used = False

"""What stream engines hold, and the words of their banks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import REGISTERS, STRIP
from gnarl.sw.runtime.sram_compute.model.array import ComputeArray

Fields = Mapping[str, Any]
"""The fields of a command."""


class Engines:
    """The engines of all banks, on ``arrays``.

    registers
        uint32 [registers, banks, elements of a strip].
    turned
        uint32 [banks, words]: the transposers.
    """

    def __init__(self, config: SramConfig, arrays: ComputeArray) -> None:
        self._config = config
        self.registers = np.zeros((REGISTERS, config.banks, STRIP), np.uint32)
        self.turned = np.zeros((config.banks, STRIP), np.uint32)
        self._words = arrays.planes.view("<u4")  # [wordlines, words of a row of all banks]

    def clear(self) -> None:
        """All becomes 0."""
        self.registers[:] = 0
        self.turned[:] = 0

    def copy(self, fields: Fields, memory: np.ndarray) -> None:
        """Does a ``COPY``; ``memory``: uint32 [lines, words of a line]."""
        count, line_words = fields["lines"], memory.shape[1]
        words = fields["words"] * line_words + np.arange(count * line_words)
        rows, columns, _ = self.places(words)
        lines = memory[fields["line"] : fields["line"] + count]
        if fields["is_store"]:
            lines[:] = self._words[rows, columns].reshape(lines.shape)
        else:
            self._words[rows, columns] = lines.reshape(-1)

    def places(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, places in the rows of all banks, and banks."""
        banks = self._config.banks
        of_row = self._words.shape[1] // banks
        bank = words // STRIP % banks
        own = words // (STRIP * banks) * STRIP + words % STRIP
        return own // of_row, bank * of_row + own % of_row, bank

    def transposed_places(
        self, bitlines: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places as from ``places``, of the words of rows that have these bitlines of all tiles."""
        return rows, bitlines // 32, bitlines // (self._config.bitlines * self._config.arrays)

    def read(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return self._words[rows, columns]

    def write(self, rows: np.ndarray, columns: np.ndarray, data: Any, mask: Any) -> None:
        """One after the other."""
        for row, column, word, bits in zip(rows, columns, data, mask, strict=True):
            self._words[row, column] = self._words[row, column] & ~bits | word & bits

    @property
    def word_count(self) -> int:
        return self._words.size

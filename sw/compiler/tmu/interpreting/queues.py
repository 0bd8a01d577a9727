"""The queues between both units, which never are full here, and the memory that both see."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.dialects.builtin import VectorType, i1
from xdsl.ir import Attribute
from xdsl.utils.exceptions import InterpretationError

from gnarl.sw.compiler.tmu.interpreting.values import DTYPES


class Queues:
    """``words`` of 32 bits, and ``tokens`` by the names of their cases."""

    def __init__(self) -> None:
        self.words: deque[np.uint32] = deque()
        self.tokens: deque[str] = deque()

    def take(self, type: Attribute) -> Any:
        """A value of so many words. Raises ``InterpretationError`` where words are missing."""
        is_vector = isinstance(type, VectorType)
        element = type.element_type if isinstance(type, VectorType) else type
        (lanes,) = type.get_shape() if isinstance(type, VectorType) else (1,)
        is_mask = is_vector and element == i1
        count = 1 if is_mask else lanes
        if len(self.words) < count:
            raise InterpretationError(
                f"{len(self.words)} words in the data queue: must be at least {count}"
            )
        words = np.array([self.words.popleft() for _ in range(count)], np.uint32)
        if is_mask:
            return (words >> np.arange(lanes, dtype=np.uint32) & 1).astype(bool)
        values = words.view(DTYPES[element])
        return values if is_vector else values[0]

    def next_token(self) -> str:
        """Raises ``InterpretationError`` where there is none."""
        if not self.tokens:
            raise InterpretationError("no token in the control queue: must be one up to the end")
        return self.tokens.popleft()

    def check_empty(self) -> None:
        """Raises ``InterpretationError`` where something is left behind the end."""
        if self.words or self.tokens:
            raise InterpretationError(
                f"{len(self.words)} words and {len(self.tokens)} tokens behind the end: must be "
                "none"
            )


class SharedMemory:
    """Copies of arrays of 32-bit elements, one behind the other.

    words
        uint32 [words of all].
    bases
        the first word of each array by name.
    arrays
        the same words as arrays.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.words = np.zeros(sum(array.size for array in arrays.values()), np.uint32)
        self.bases: dict[str, int] = {}
        self.arrays: dict[str, np.ndarray] = {}
        end = 0
        for name, array in arrays.items():
            self.bases[name] = end
            words = self.words[end : end + array.size]
            self.arrays[name] = words.view(array.dtype).reshape(array.shape)
            self.arrays[name][...] = array
            end += array.size

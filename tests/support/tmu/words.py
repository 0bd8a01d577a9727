"""Words of memory that the execute unit uses, by an interpreter of its instructions."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gnarl.hw.lib.encoding.execute_isa import Instruction
from gnarl.sw.execute.values.output import Output
from tests.support.execute.interpreter import Starved, State

Words = npt.NDArray[np.uint32]


class UsedWords:
    """Memory of a run, for ``State``.

    reads, writes
        places that were read, and that were written.
    late_writes
        those that were written when all that is queued had been taken.
    """

    def __init__(self, memory: Words) -> None:
        self._memory = memory
        self.state: State | None = None
        self.reads: set[int] = set()
        self.writes: set[int] = set()
        self.late_writes: set[int] = set()

    def __len__(self) -> int:
        return len(self._memory)

    def __getitem__(self, places: npt.NDArray[np.int64]) -> Words:
        self.reads |= {*places.tolist()}
        return self._memory[places]

    def __setitem__(self, places: npt.NDArray[np.int64], words: Words) -> None:
        assert self.state is not None
        left = self.state.outcome
        (self.writes if left.words or left.tokens else self.late_writes).update(places.tolist())
        self._memory[places] = words


def used_words(
    instructions: Words, memory: Words, lanes: int, queued: Output, most: int
) -> UsedWords:
    """Words that a run of ``instructions``, uint32 [n, words], uses on ``memory``, which they
    write; of up to ``most`` of them, and as many more as take tokens."""
    program = [_decoded(tuple(row)) for row in instructions.tolist()]
    used = UsedWords(memory)
    words, tokens = list(queued.words), list(queued.tokens)
    used.state = State(program, used, lanes, len(program), words, tokens)
    with suppress(Starved):
        used.state.run(most + len(tokens))
    return used


@lru_cache(maxsize=1 << 14)
def _decoded(words: tuple[int, ...]) -> Instruction | tuple[int, ...]:
    try:
        return Instruction.decoded(words)
    except ValueError:
        return words

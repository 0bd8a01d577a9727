"""Elements of arrays as streams over the loops of a command. Source: Infinity Stream, 3.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.isa import DIMENSIONS, STREAM, STRIP, WORD_BITS, Opcode
from gnarl.hw.sram_compute.program import Command, command
from gnarl.sw.compiler.sram_compute.tdfg.affine import Affine, affine_of
from gnarl.sw.compiler.sram_compute.tdfg.statements import reject
from gnarl.sw.workloads.loops.ir.nest import Expression
from gnarl.sw.workloads.place import Location

_MOST_SCALE = (1 << STREAM["scale"].width) - 1


@dataclass(frozen=True)
class BankArray:
    """An array in banks, each row of which begins with a line.

    line, lines
        its first line of words, and how many it has.
    strides
        words from an element to the next in each dimension.
    """

    shape: tuple[int, ...]
    line: int

    @property
    def pitch(self) -> int:
        """Words of a row."""
        return -(-self.shape[-1] // LINE_WORDS) * LINE_WORDS

    @property
    def lines(self) -> int:
        return prod(self.shape[:-1]) * self.pitch // LINE_WORDS

    @property
    def strides(self) -> tuple[int, ...]:
        sizes = (*self.shape[1:-1], self.pitch)
        whole = [prod(sizes[place:]) for place in range(len(self.shape) - 1)]
        return (*whole, 1)


@dataclass(frozen=True)
class Loop:
    """``count`` iterations, of which the variable of the first is ``first``, by ``step``."""

    variable: str
    first: int
    count: int
    step: int


@dataclass(frozen=True)
class Stream:
    """Words ``base`` + the sum of ``strides`` x the numbers of iterations of x, y and z, and if it
    is indirect ``scale`` x an index below ``length``."""

    base: int
    strides: tuple[int, ...]
    length: int = 0
    scale: int = 0

    def command(self, number: int, first: int) -> Command:
        """The command that sets the stream. ``first``: x of the first iteration."""
        return command(
            Opcode.STREAM,
            stream=number,
            is_indirect=int(self.length > 0),
            base=(self.base - first * self.strides[0]) % (1 << WORD_BITS),
            strides=tuple(stride % (1 << WORD_BITS) for stride in self.strides),
            length=self.length,
            scale=self.scale,
        )


class Streams:
    """Finds streams of a statement.

    loops
        x, y and z.
    names
        what else indices name.
    """

    def __init__(
        self, arrays: Mapping[str, BankArray], loops: Sequence[Loop], names: Mapping[str, int]
    ) -> None:
        self._arrays = arrays
        self._loops = loops
        self._names = names

    def find(
        self, array: str, indices: Sequence[Expression], place: Location
    ) -> tuple[Stream, Expression | None]:
        """The stream of ``array[indices]``, and the index that is no affine number, if there is
        one. Raises ``NotTensor``."""
        placed = self._arrays[array]
        base, strides, loaded = placed.line * LINE_WORDS, [0] * DIMENSIONS, list[Expression]()
        length = scale = 0
        for dimension, (index, words) in enumerate(zip(indices, placed.strides, strict=True)):
            affine = affine_of(index)
            if affine is None:
                loaded.append(index)
                length, scale = placed.shape[dimension], words
                continue
            first, steps = self._numbers(affine, place)
            self._check(array, dimension, first, steps, place)
            base += first * words
            strides = [one + step * words for one, step in zip(strides, steps, strict=True)]
        if len(loaded) > 1:
            reject(place, f"{array}: two indices are not affine: must be at most one")
        if scale > _MOST_SCALE:
            reject(
                place, f"{array}: {scale} words to the next index: must be at most {_MOST_SCALE}"
            )
        return Stream(base, tuple(strides), length, scale), loaded[0] if loaded else None

    def _numbers(self, affine: Affine, place: Location) -> tuple[int, list[int]]:
        """The number at the first iteration, and its steps from one iteration to the next, of each
        loop."""
        first, steps = affine.constant, []
        for loop in self._loops:
            first += affine.factor(loop.variable) * loop.first
            steps.append(affine.factor(loop.variable) * loop.step)
        variables = {loop.variable for loop in self._loops}
        for name, factor in affine.terms:
            if name not in variables:
                if name not in self._names:
                    reject(place, f"{name} must be known before the loop")
                first += factor * self._names[name]
        return first, steps

    def _check(
        self, array: str, dimension: int, first: int, steps: Sequence[int], place: Location
    ) -> None:
        ends = [step * (loop.count - 1) for step, loop in zip(steps, self._loops, strict=True)]
        low, high = first + sum(min(end, 0) for end in ends), first + sum(max(e, 0) for e in ends)
        size = self._arrays[array].shape[dimension]
        outside = low if low < 0 else high
        if low < 0 or high >= size:
            reject(
                place,
                f"{array}: index {outside} in dimension {dimension}: must be from 0 to {size - 1}",
            )


def alignment(stream: Stream) -> int:
    """x of the first iteration with which strips of a stream are those of banks."""
    return stream.base % STRIP if stream.strides[0] == 1 else 0

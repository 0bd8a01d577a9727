"""A bank's compute arrays side by side, which run microinstructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gnarl.hw.sram_compute.microcode.program import Microinstruction
from gnarl.hw.sram_compute.microcode.sequence import Run, Span, sequence
from gnarl.hw.sram_compute.microinstruction import SKIP_CYCLES, Base
from gnarl.sw.runtime.sram_compute.model.formulas import formula, start_formula

_WORD = 64


class ComputeArray:
    """``wordlines`` rows of ``bitlines`` bits, with a carry and a predicate on each bitline.

    ``planes``: uint64 [wordlines, words], 64 bitlines a word, the lowest bit first. All bits are
    those of ``random``, if it is given, else 0.
    """

    def __init__(
        self, wordlines: int, bitlines: int, random: np.random.Generator | None = None
    ) -> None:
        self._bitlines = bitlines
        words = -(-bitlines // _WORD)
        self.planes = np.zeros((wordlines, words), np.uint64)
        self._carry = np.zeros(words, np.uint64)
        self._predicate = np.zeros(words, np.uint64)
        if random is not None:
            for each in (self.planes, self._carry, self._predicate):
                each[:] = random.integers(0, 1 << 64, each.shape, np.uint64)
        self._used = np.full(words, (1 << _WORD) - 1, np.uint64)
        if bitlines % _WORD:
            self._used[-1] = (1 << bitlines % _WORD) - 1

    def write(self, row: int, values: np.ndarray, width: int) -> None:
        """Puts an integer on each bitline, its lowest bit in ``row``: [bitlines], any sign."""
        octets = np.ascontiguousarray(values.astype("<i8")).view(np.uint8).reshape(-1, 8)
        bits = np.unpackbits(octets, axis=1, count=width, bitorder="little")
        padded = np.zeros((width, self.planes.shape[1] * _WORD), np.uint8)
        padded[:, : self._bitlines] = bits.T
        packed = np.packbits(padded, axis=1, bitorder="little")
        self.planes[row : row + width] = packed.view("<u8")

    def read(self, row: int, width: int) -> np.ndarray:
        """The integers of ``width`` bits that ``write`` puts: uint64 [bitlines]."""
        octets = self.planes[row : row + width].astype("<u8").view(np.uint8)
        bits = np.unpackbits(octets, axis=1, count=self._bitlines, bitorder="little")
        packed = np.packbits(bits, axis=0, bitorder="little")
        columns = np.zeros((self._bitlines, 8), np.uint8)
        columns[:, : len(packed)] = packed.T
        return columns.view("<u8")[:, 0]

    def run(
        self,
        program: Sequence[Microinstruction],
        bases: Mapping[Base, int],
        n: int = 0,
        *,
        skips: bool = True,
    ) -> int:
        """Runs a program at width ``n``; gives its cycles.

        ``bases``: the row of each base that the program names. ``skips``: whether a skip passes
        over its block where it may. ``ValueError`` for a row that the array does not have.
        """
        cycles = 0
        for run in sequence(program, n, lambda: not skips or bool(self.any_predicate(1)[0])):
            if run is not None:
                self.sweep(run, bases)
            cycles += SKIP_CYCLES if run is None else max(1, run.count)
        return cycles

    def any_predicate(self, parts: int) -> np.ndarray:
        """Whether any bitline's predicate is set, in each of ``parts`` equal parts. Bool
        [parts]."""
        return np.any((self._predicate & self._used).reshape(parts, -1), axis=1)

    def part(self, members: np.ndarray, parts: int) -> ComputeArray:
        """A copy of some of so many equal parts, which ``put`` puts back."""
        copied = ComputeArray(len(self.planes), self._bitlines * len(members) // parts)
        copied.planes = self._columns(self.planes, parts)[:, members].reshape(len(self.planes), -1)
        copied._carry = self._columns(self._carry, parts)[members].reshape(-1)
        copied._predicate = self._columns(self._predicate, parts)[members].reshape(-1)
        return copied

    def put(self, part: ComputeArray, members: np.ndarray, parts: int) -> None:
        """Inverse of ``part``."""
        count = len(members)
        self._columns(self.planes, parts)[:, members] = self._columns(part.planes, count)
        for name in ("_carry", "_predicate"):
            latches = getattr(self, name).copy()  # others may be the same
            self._columns(latches, parts)[members] = self._columns(getattr(part, name), count)
            setattr(self, name, latches)

    def view(self, member: int, parts: int) -> ComputeArray:
        """One of so many equal parts, with the same rows, but latches of its own."""
        viewed = ComputeArray(len(self.planes), self._bitlines // parts)
        words = self.planes.shape[1] // parts
        viewed.planes = self.planes[:, member * words : (member + 1) * words]
        return viewed

    def clear(self) -> None:
        """All rows, carries and predicates become 0."""
        self.planes[:] = 0
        self._carry = np.zeros_like(self._carry)
        self._predicate = np.zeros_like(self._predicate)

    @staticmethod
    def _columns(words: np.ndarray, parts: int) -> np.ndarray:
        return words.reshape(*words.shape[:-1], parts, -1)

    def sweep(self, run: Run, bases: Mapping[Base, int]) -> None:
        """Does a sweep's row operations."""
        sweep, carry, predicate = run.sweep, self._carry, self._predicate
        self._carry = self._latched(start_formula(sweep.start_carry)(carry, predicate))
        self._predicate = self._latched(start_formula(sweep.start_predicate)(carry, predicate))
        write, next_carry, next_predicate = map(
            formula, (sweep.write, sweep.carry, sweep.predicate)
        )
        if run.count == 0:
            return
        rows = [self._rows(span, bases, run.count) for span in (run.a, run.b, run.d)]
        for place in range(run.count):
            a, b, d = (None if each is None else self.planes[each[place]] for each in rows)
            carry, predicate = self._carry, self._predicate
            self._carry = self._latched(next_carry(a, b, carry, predicate))
            self._predicate = self._latched(next_predicate(a, b, carry, predicate))
            if d is not None:
                d[:] = write(a, b, carry, predicate)

    def _rows(self, span: Span | None, bases: Mapping[Base, int], count: int) -> list[int] | None:
        if span is None:
            return None
        base, offset, step = span
        first = bases[base] + offset
        last = first + step * (count - 1)
        if min(first, last) < 0 or max(first, last) >= len(self.planes):
            raise ValueError(
                f"rows {first} to {last}, from {base.name} on: there are {len(self.planes)} rows"
            )
        return [first + step * place for place in range(count)]

    def _latched(self, value: np.ndarray) -> np.ndarray:
        """A word's latches of their own, where ``value`` is a row's bits or one for all."""
        if value is self._carry or value is self._predicate:
            return value
        latches = np.empty_like(self._used)
        latches[:] = value
        return latches

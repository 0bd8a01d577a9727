"""What a program by hand is written for: sizes, and where arrays lie."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu.config import TmuConfig


@dataclass(frozen=True)
class Array:
    """An array in memory. ``base``: its first word."""

    base: int
    shape: tuple[int, ...]

    @property
    def words(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Site:
    """``sizes`` of the nest and its ``arrays``, by name."""

    config: TmuConfig
    sizes: Mapping[str, int]
    arrays: Mapping[str, Array]


@dataclass(frozen=True)
class Vectors:
    """``words`` as vectors of ``lanes``, of which the last may have fewer."""

    words: int
    lanes: int

    @property
    def count(self) -> int:
        return -(-self.words // self.lanes)

    @property
    def _tail(self) -> int:
        """Lanes of the last one, 0 where it has all."""
        return self.words % self.lanes

    def each(self, line: str) -> str:
        """``line`` for each."""
        return "\n".join(self.line(line, number) for number in range(self.count))

    def line(self, line: str, number: int) -> str:
        """The line with ``number`` for ``{i}``, its first word for ``{at}``, and for ``{m}`` its
        mask as an operand behind others: m1 of the last one, where it has not all lanes."""
        is_part = self._tail and number == self.count - 1
        return line.format(i=number, at=number * self.lanes, m=", m1" if is_part else "")

    @property
    def lines(self) -> list[int]:
        """Words, one at least in each of its lines, of a row of a table that begins a line."""
        found = [*range(0, self.words, LINE_WORDS)]
        is_apart = self.words % LINE_WORDS == 0 or LINE_WORDS % self.words == 0
        return found if is_apart else [*found, self.words - 1]

    @property
    def mask(self) -> str:
        """Sets m1."""
        return f"first_lanes m1, {self._tail}" if self._tail else ""


def row_of(site: Site, most: int = 28) -> Vectors:
    """A row of the size ``dim``. Raises ``CapacityError`` where it has more than ``most`` vectors,
    by default those that leave four registers for others."""
    row = Vectors(site.sizes["dim"], site.config.lanes)
    if row.count > most:
        raise CapacityError(
            f"dim = {row.words}: must be at most {most * row.lanes} for a program by hand"
        )
    return row

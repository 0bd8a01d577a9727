"""What a program by hand is written for: sizes, and where arrays lie."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hw.lib.errors import CapacityError
from hw.tmu.config import TmuConfig
from hw.tmu.execute_isa import VECTOR_REGISTERS


@dataclass(frozen=True)
class Array:
    """``base``: its first word in memory."""

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

    @property
    def lanes(self) -> int:
        return self.config.lanes


@dataclass(frozen=True)
class Vectors:
    """``words`` as vectors of ``lanes``, of which the last may have fewer."""

    words: int
    lanes: int

    @property
    def count(self) -> int:
        return -(-self.words // self.lanes)

    @property
    def tail(self) -> int:
        """Lanes of the last one, 0 where it has all."""
        return self.words % self.lanes

    def each(self, line: str) -> str:
        """A line for each; ``{i}`` is its number, ``{at}`` its first word, ``{m}`` its mask as an
        operand behind others: m1 of the last one, where it has not all lanes."""
        return "\n".join(
            line.format(
                i=number,
                at=number * self.lanes,
                m=", m1" if self.tail and number == self.count - 1 else "",
            )
            for number in range(self.count)
        )

    @property
    def mask(self) -> str:
        """Sets m1."""
        return f"first_lanes m1, {self.tail}" if self.tail else ""


def vectors_of(site: Site, name: str, most: int) -> Vectors:
    """A row of the size ``name``. Raises ``CapacityError`` where it does not fit ``most`` of the
    vector registers."""
    found = Vectors(site.sizes[name], site.lanes)
    assert most <= VECTOR_REGISTERS
    if found.count > most:
        raise CapacityError(
            f"{name} = {found.words}: must be at most {most * site.lanes} for a program by hand"
        )
    return found

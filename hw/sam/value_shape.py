"""What a value is: one word, or a block of words, one of each neighbour along some indices."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod

BLOCK_WORDS = (1, 2, 4, 8, 16, 32, 64)
"""Words along an index."""

MAX_BLOCK = 4096
"""Words of a block in all."""

_TEXT = re.compile(r"[A-Za-z_]\w*:[0-9]{1,2}(,[A-Za-z_]\w*:[0-9]{1,2})*", re.ASCII)


@dataclass(frozen=True)
class ValueShape:
    """The indices that the words of a value lie along, in the order of their names, each with how
    many there are; none for one word.

    Words are in the order of coordinates, those of the last index next to each other.
    """

    dims: tuple[tuple[str, int], ...] = ()

    @classmethod
    @cache
    def parse(cls, text: str) -> ValueShape:
        """The shape that ``text`` writes, as ``i:4,k:4``. Raises ``ValueError`` that says what it
        must be."""
        if not text:
            return cls()
        allowed = ", ".join(map(str, BLOCK_WORDS[1:]))
        if not _TEXT.fullmatch(text):
            raise ValueError(f"indices with {allowed} words each, as i:4,k:4")
        dims = tuple(
            (part.partition(":")[0], int(part.partition(":")[2])) for part in text.split(",")
        )
        names = [index for index, _ in dims]
        if any(words not in BLOCK_WORDS[1:] for _, words in dims):
            raise ValueError(f"of {allowed} words along each index")
        if names != sorted(set(names)):
            raise ValueError("indices in the order of their names, each once")
        found = cls(dims)
        if found.words > MAX_BLOCK:
            raise ValueError(f"at most {MAX_BLOCK:,} words, not {found.words:,}")
        return found

    @property
    def text(self) -> str:
        """Inverse of ``parse``."""
        return ",".join(f"{index}:{words}" for index, words in self.dims)

    @property
    def words(self) -> int:
        return prod(words for _, words in self.dims)

    def __str__(self) -> str:
        if not self.dims:
            return "1 word"
        counts = " × ".join(f"{words}" for _, words in self.dims)
        return f"{counts} words along {' and '.join(index for index, _ in self.dims)}"

    def joined(self, other: ValueShape) -> ValueShape:
        """The shape of what is computed of two values, word by word. Raises ``ValueError`` where
        they have an index in common, and other words along it."""
        found = dict(self.dims)
        for index, words in other.dims:
            if found.setdefault(index, words) != words:
                raise ValueError(f"{found[index]} words along {index}, and {words}")
        return ValueShape(tuple(sorted(found.items())))

    def without(self, index: str) -> ValueShape:
        return ValueShape(tuple(each for each in self.dims if each[0] != index))

    def places(self, of: ValueShape) -> tuple[int, ...]:
        """For each word of a block ``of`` another shape, which has all of these indices, the word
        of this one at the same coordinates."""
        found = []
        for at in product(*(range(words) for _, words in of.dims)):
            coordinates = dict(zip((index for index, _ in of.dims), at, strict=True))
            place = 0
            for index, words in self.dims:
                place = place * words + coordinates[index]
            found.append(place)
        return tuple(found)

    def groups(self, index: str) -> tuple[tuple[int, ...], ...]:
        """For each word of the shape without an index those along it, in order."""
        rest = self.without(index).places(self)
        groups: list[list[int]] = [[] for _ in range(max(rest) + 1)]
        for place, group in enumerate(rest):
            groups[group].append(place)
        return tuple(map(tuple, groups))


ONE_WORD = ValueShape()

"""What the execute unit is given by the access unit before it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Output:
    """What an access program gives: tokens and words, in the order in which they are queued.

    ``requests`` are the lines that it reads: of layers that step one unit, by layer, stream and
    line, in the order in which the nest comes by; a unit runs ahead with each stream by itself.
    They make no difference between outputs, and are those of a unit only in runs without a fault.
    ``puts``: both in one order: 0 for a token, 1 for a word, the lanes for a vector's words, which
    need room at once.
    """

    tokens: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    puts: list[int] = field(default_factory=list, compare=False)
    requests: list[tuple[int, int, int]] = field(default_factory=list, compare=False)


@dataclass(frozen=True)
class Room:
    """What the queues between the units hold at once, in words and tokens."""

    words: int
    tokens: int

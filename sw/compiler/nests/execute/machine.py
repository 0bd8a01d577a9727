"""Instructions of virtual registers, in blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gnarl.hw.lib.encoding.execute_isa import Opcode

BRANCHES = (Opcode.BRANCH_EQ, Opcode.BRANCH_NE, Opcode.BRANCH_LT, Opcode.BRANCH_GE)


@dataclass(frozen=True)
class Register:
    """A virtual register: of kind ``"s"``, ``"v"`` or ``"m"``."""

    kind: str
    number: int


@dataclass(frozen=True)
class Taken:
    """What is taken from the data queue: a word, ``"s"``, or a vector, ``"v"``."""

    kind: str


Value = Register | Taken | int
"""A register, what is taken from the data queue, or a word in every lane."""


@dataclass(frozen=True)
class WordRange:
    """The words that an access touches: ``width`` from ``base`` + ``offset`` on, of an array."""

    array: str
    base: Register | None
    offset: int
    width: int


@dataclass
class Step:
    """An instruction. ``target`` is a block's number, where ``immediate`` is not used."""

    opcode: Opcode
    vector: bool = False
    dst: Register | None = None
    a: Value = 0
    b: Value = 0
    c: Value = 0
    mask: Register | None = None
    immediate: int | None = None
    target: int | None = None
    words: WordRange | None = None

    @property
    def reads(self) -> Iterator[Register]:
        for each in (self.a, self.b, self.c, self.mask):
            if isinstance(each, Register):
                yield each

    @property
    def takes(self) -> bool:
        """Whether it takes something from the data queue."""
        return any(isinstance(each, Taken) for each in (self.a, self.b, self.c))

    def renamed(self, old: Register, new: Value) -> None:
        """Reads ``new`` in the place of ``old``."""
        self.a = new if self.a == old else self.a
        self.b = new if self.b == old else self.b
        self.c = new if self.c == old else self.c
        if self.mask == old:
            assert isinstance(new, Register)
            self.mask = new


@dataclass
class Block:
    """Steps one after the other. ``following``: numbers of blocks that may come next.

    ``closes``: the last block of a ``LOOP``'s body.
    """

    steps: list[Step] = field(default_factory=list)
    following: list[int] = field(default_factory=list)
    closes: bool = False


def registers_of(blocks: Iterable[Block]) -> Iterator[Register]:
    for block in blocks:
        for step in block.steps:
            yield from step.reads
            if step.dst is not None:
                yield step.dst

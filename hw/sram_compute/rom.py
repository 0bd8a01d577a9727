"""The microprograms of a bank's operations, one behind the other, as its sequencer reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gnarl.hw.sram_compute.operations import Operation


@dataclass(frozen=True)
class Rom:
    """The microprogram memory. ``words``: of ``MICROINSTRUCTION``. ``entries``: where an
    operation's programs begin, by its name and, as ``Operation.programs`` has them, the least width
    that they are for."""

    words: tuple[int, ...]
    entries: Mapping[str, Mapping[int, int]]

    def entry(self, operation: Operation, n: int = 0) -> int:
        """The address at which ``operation`` begins at width ``n``."""
        return self.entries[operation.name][operation.entry(n)]


def rom(operations: Iterable[Operation]) -> Rom:
    """All programs of the operations; programs that are alike, once."""
    words: list[int] = []
    entries: dict[str, dict[int, int]] = {}
    known: dict[tuple[int, ...], int] = {}
    for operation in operations:
        places = entries.setdefault(operation.name, {})
        for width, program in operation.programs().items():
            found = tuple(each.word() for each in program)
            if found not in known:
                known[found] = len(words)
                words += found
            places[width] = known[found]
    return Rom(tuple(words), entries)

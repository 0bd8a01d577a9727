"""Names in a program for what a graph calls otherwise."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import count

from gnarl.sw.workloads.einsum.rearrangement import KINDS
from gnarl.sw.workloads.tensor.expression import FUNCTIONS, REDUCTIONS

_FUNCTIONS = frozenset((*FUNCTIONS, *REDUCTIONS, *KINDS))
_INDICES = "ijklmnopqrstuvwxyzabcdefgh"


class Names:
    """Names of tensors, none twice, and of indices, none like a tensor's.

    reserved
        names that neither may have, unless they are claimed.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._reserved = frozenset(reserved)
        self._taken: set[str] = set()

    def claim(self, wanted: str) -> str:
        """A tensor's name like ``wanted``: functions are numbered, as ``torch.fx`` numbers what
        comes after the first of a name."""
        name = re.sub(r"\W", "_", wanted, flags=re.ASCII)
        if not name or name[0].isdecimal():
            name = f"_{name}"
        if name in _FUNCTIONS:
            name = f"{name}_0"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def indices(self) -> Iterator[str]:
        """Indices of one statement: i, j, k and so on."""
        return index_names(self._taken | self._reserved)


def index_names(avoided: Collection[str]) -> Iterator[str]:
    """Names of indices: i, j, k and so on, but for some."""
    names = (f"{letter}{number or ''}" for number in count() for letter in _INDICES)
    return (name for name in names if name not in avoided)

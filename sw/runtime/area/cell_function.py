"""Boolean functions of cells, as liberty files write them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TOKEN = re.compile(r"\w+(?:\[\d+\])?|[!'^*&+|()]")
_OR, _AND, _XOR = "+|", "*&", "^"


def truth_table(function: str, inputs: Sequence[str]) -> int | None:
    """Bit ``n`` is the function's value where bit ``i`` of ``n`` is that of ``inputs[i]``.

    ``None`` where the text is no function of these inputs. Source: Liberty User Guide, volume 1,
    ``function``: ``!`` and postfix ``'`` bind most, then ``^``, then AND (``*``, ``&`` or nothing),
    then OR (``+``, ``|``).
    """
    rows = 1 << len(inputs)
    columns = {
        name: sum(1 << row for row in range(rows) if row >> at & 1)
        for at, name in enumerate(inputs)
    }
    parser = _Parser(_TOKEN.findall(function), columns, (1 << rows) - 1)
    try:
        value = parser.alternatives()
    except (KeyError, IndexError):
        return None
    return value if parser.at_end() else None


class _Parser:
    def __init__(self, tokens: list[str], columns: dict[str, int], ones: int) -> None:
        self._tokens = tokens[::-1]
        self._columns = {**columns, "0": 0, "1": ones}
        self._ones = ones

    def at_end(self) -> bool:
        return not self._tokens

    def _next(self) -> str:
        return self._tokens[-1] if self._tokens else ")"

    def alternatives(self) -> int:
        value = self._product()
        while self._next() in _OR:
            self._tokens.pop()
            value |= self._product()
        return value

    def _product(self) -> int:
        value = self._difference()
        while self._next() not in f"{_OR})":
            if self._next() in _AND:
                self._tokens.pop()
            value &= self._difference()
        return value

    def _difference(self) -> int:
        value = self._factor()
        while self._next() == _XOR:
            self._tokens.pop()
            value ^= self._factor()
        return value

    def _factor(self) -> int:
        token = self._tokens.pop()
        if token == "!":
            value = self._ones ^ self._factor()
        elif token == "(":
            value = self.alternatives()
            if self._tokens.pop() != ")":
                raise IndexError
        else:
            value = self._columns[token]
        while self._next() == "'":
            self._tokens.pop()
            value ^= self._ones
        return value

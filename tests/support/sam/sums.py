"""What a sparse accumulator is given and has to give, from nested lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnarl.hw.lib.operation import Operation
from gnarl.sw.golden.arithmetic import arithmetic
from tests.support.sam.nested import mapped, stream
from tests.support.sam.tokens import payload_of


class Sums:
    """The reference: what is drained at a stop of the reduced index, from lists of values."""

    def __init__(self, format: str, order: int, sizes: tuple[int, ...], full: tuple[bool, ...]):
        self._arithmetic = arithmetic(format)
        self._order = order
        self._sizes = sizes
        self._full = full

    def of(self, passes: list[Any]) -> Any:
        """(coordinate, sum) pairs, or (outer coordinate, such pairs) pairs, in order."""
        if self._order == 1:
            return self._row([pair for fiber in passes for pair in fiber])
        rows: dict[int, list[Any]] = {}
        for fibers in passes:
            for outer, pairs in fibers:
                if pairs:
                    rows.setdefault(outer, []).extend(pairs)
        if self._full[1]:
            rows = {outer: rows.get(outer, []) for outer in range(self._sizes[1])}
        return [(outer, self._row(rows[outer])) for outer in sorted(rows)]

    def _row(self, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        sums: dict[int, np.ndarray] = {}
        for crd, token in pairs:
            value = self._arithmetic.numbers(np.array([payload_of(token)]))
            known = crd in sums
            sums[crd] = self._arithmetic.apply(Operation.ADD, sums[crd], value) if known else value
        words = {crd: int(self._arithmetic.words(value)[0]) for crd, value in sums.items()}
        if self._full[0]:
            words = {crd: words.get(crd, 0) for crd in range(self._sizes[0])}
        return sorted(words.items())


def input_streams(tree: Any, outside: int, order: int) -> dict[str, list[int]]:
    """Streams of ``outside`` lists around what is summed: passes of fibers of pairs."""

    def keys(passes: Any) -> Any:
        return list(range(len(passes)))

    def outers(passes: Any) -> Any:
        return [[outer for outer, _ in fibers] for fibers in passes]

    def fibers_of(passes: Any) -> Any:
        return passes if order == 1 else [[pairs for _, pairs in fibers] for fibers in passes]

    fibers = mapped(fibers_of, tree, outside)
    found = {f"crd{order}": stream(mapped(keys, tree, outside), outside + 1)}
    if order == 2:
        found["crd1"] = stream(mapped(outers, tree, outside), outside + 2)
    depth = outside + order + 1
    found["crd0"] = stream(mapped(lambda pair: pair[0], fibers, depth), depth)
    found["val"] = stream(mapped(lambda pair: pair[1], fibers, depth), depth)
    return found


def output_streams(tree: Any, outside: int, order: int) -> dict[str, list[int]]:
    """Streams of ``outside`` lists around what ``Sums`` gives."""
    found = {}
    if order == 2:
        found["out_crd1"] = stream(mapped(lambda row: row[0], tree, outside + 1), outside + 1)
        tree = mapped(lambda row: row[1], tree, outside + 1)
    depth = outside + order
    found["out_crd0"] = stream(mapped(lambda pair: pair[0], tree, depth), depth)
    found["out_val"] = stream(mapped(lambda pair: pair[1], tree, depth), depth)
    return found

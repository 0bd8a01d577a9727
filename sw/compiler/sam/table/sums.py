"""Sums and maxima over a loop, of what was computed inside it."""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.block_types import MAX_ACCUMULATOR_ORDER
from gnarl.sw.compiler.sam.builder import Stream
from gnarl.sw.compiler.sam.table.nest import Loop, Walker
from gnarl.sw.compiler.sam.table.table import VALUES, TableBuilder


class Sums:
    """Places what reduces a loop in a fusion table, whose loops run in ``order``."""

    def __init__(self, table: TableBuilder, walker: Walker, order: Sequence[str]) -> None:
        self._table = table
        self._walker = walker
        self._order = tuple(order)

    def reduced(self, op: str, loop: Loop, val: Stream) -> Stream:
        return self._table.place(
            VALUES,
            "",
            "reduce",
            f"reduce_{loop.index}",
            {"val": val},
            op="add" if op == "sum" else "max",
        ).out_val

    def accumulated(
        self,
        op: str,
        summed: Loop,
        kept: tuple[Loop, ...],
        val: Stream,
        around: tuple[Loop, ...],
        wanted: set[str],
    ) -> tuple[tuple[Loop, ...], Stream]:
        """The sum over a loop in which those of ``kept`` lie; those ``wanted`` should have every
        coordinate."""
        order = len(kept)
        inside = ", ".join(loop.index for loop in kept)
        where = f"loop order {','.join(self._order)}: index {summed.index}"
        if op != "sum":
            raise WorkloadError(
                f"{where} is reduced by {op} outside of {inside}; a sparse accumulator only adds, "
                f"put {summed.index} further inside"
            )
        if order > MAX_ACCUMULATOR_ORDER:
            raise WorkloadError(
                f"{where} is summed outside of {inside}; a sparse accumulator holds at most "
                f"{MAX_ACCUMULATOR_ORDER} indices, put {summed.index} further inside"
            )
        innermost_first = kept[::-1]
        inputs = {f"crd{place}": loop.crd for place, loop in enumerate(innermost_first)}
        full = [loop.index in wanted for loop in innermost_first]
        # Where there may be an empty fiber around, the coordinates are added behind.
        behind = any(full) and not all(loop.never_empty for loop in around)
        if behind and order > 1:
            full, behind = [False] * order, False
        node = self._table.place(
            summed.index,
            "",
            "spaccumulator",
            f"accumulate_{summed.index}",
            {**inputs, f"crd{order}": summed.crd, "val": val},
            order=order,
            **{f"full{place}": flag and not behind for place, flag in enumerate(full)},
        )
        if behind:
            index = kept[0].index
            every = self._walker.every(around, index)
            union = self._table.join(
                "union", index, (node.out_crd0, node.out_val), (every.out_crd, every.out_ref)
            )
            return (Loop(index, union.out_crd, True, True),), union.out_ref0
        loops = tuple(
            Loop(
                loop.index,
                getattr(node, f"out_crd{place}"),
                full[place],
                full[place] or (place < order - 1 and not full[place + 1]),
            )
            for place, loop in enumerate(innermost_first)
        )
        return loops[::-1], node.out_val

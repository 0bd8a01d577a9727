"""The notation of the TACO and SAM command lines: an expression, its formats and its loop order.

``X(i,j)=B(i,k)*C(k,j) -f=X:ss -f=B:ss:0,1 -f=C:ss:1,0 -s=reorder(i,k,j)``. Each term of the top sum
is summed over its indices that the result lacks; ``sum(k,…)`` says so where a function might be
taken to be that of the sum (see ``sums``), and so does ``sum[k](…)`` of a whole term. Formats name
the kind of each level, outermost first (d dense, s compressed, b bitvector), then the mode that
each level stores. Tensors without ``-f`` are dense, in the order of their modes. Without ``-s``
loops run in order of appearance, the result's indices first. ``-s=parallelize(i,4)`` deals the loop
over i to four copies of what lies inside it; each of several loops may have its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gnarl.sw.workloads.tensor.columns import fail
from gnarl.sw.workloads.tensor.expression import Statement, accesses
from gnarl.sw.workloads.tensor.expression_parser import ExpressionParser
from gnarl.sw.workloads.tensor.names import check_names
from gnarl.sw.workloads.tensor.options import (
    FormatOptions,
    parse_block,
    parse_parallelize,
    parse_reorder,
    split_options,
)
from gnarl.sw.workloads.tensor.sums import without_sums

MAX_LENGTH = 20_000  # in characters


def parse(text: str) -> Statement:
    """The statement that ``text`` writes. ``WorkloadError`` names the column, counted from 1."""
    assignment, options = split_options(text, MAX_LENGTH)
    result, written = ExpressionParser(assignment).assignment()
    expression = without_sums(result, written)
    check_names(result, list(accesses(expression)))
    used = [result, *accesses(expression)]
    indices = tuple(dict.fromkeys(index for access in used for index in access.indices))
    orders = {access.tensor: len(access.indices) for access in used}
    chosen = _Options(indices, orders)
    for option in options:
        chosen.add(option)
    formats = {tensor: chosen.formats.format(tensor) for tensor in orders}
    order = chosen.order or indices
    lanes = tuple(sorted(chosen.lanes, key=lambda each: order.index(each[0])))
    return Statement(result, expression, formats, order, lanes, chosen.blocks)


class _Options:
    """What options say of an expression with such indices and orders of tensors."""

    def __init__(self, indices: tuple[str, ...], orders: Mapping[str, int]) -> None:
        self._indices = indices
        self.formats = FormatOptions(orders)
        self.order: tuple[str, ...] | None = None
        self.lanes: tuple[tuple[str, int], ...] = ()
        self.blocks: tuple[tuple[str, int], ...] = ()

    def add(self, option: re.Match[str]) -> None:
        value, column = option["value"], option.start("value") + 1
        match option["kind"]:
            case "f":
                self.formats.add(value, column)
            case "s" if value.startswith("parallelize("):
                index, lanes = parse_parallelize(value, column, self._indices)
                if index in dict(self.lanes):
                    fail(column, f"index {index} is parallelized already")
                self.lanes = (*self.lanes, (index, lanes))
            case "s" if value.startswith("block("):
                index, words = parse_block(value, column, self._indices)
                if index in dict(self.blocks):
                    fail(column, f"index {index} has blocks already")
                self.blocks = (*self.blocks, (index, words))
            case "s":
                if self.order is not None:
                    fail(column, "there is a loop order already; give one -s")
                self.order = parse_reorder(value, column, self._indices)
            case kind:
                fail(option.start() + 1, f"unknown option -{kind}; the options are -f and -s")

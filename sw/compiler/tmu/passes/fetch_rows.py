"""Fetches rows of results that come soon: beyond Ember's table II."""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import MemRefType, ModuleOp, VectorType
from xdsl.ir import Block, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.flat import FetchOp
from gnarl.sw.compiler.nests.dialects.slc import ToggleOp
from gnarl.sw.compiler.nests.values import constant_of, integer, source_of
from gnarl.sw.compiler.tmu.callbacks.kept_vectors import as_index
from gnarl.sw.compiler.tmu.callbacks.row_lines import one_in_each_line

ROWS_AHEAD = 2
"""A row may have so few entries that the time of one does not do."""


def fetch_rows(module: ModuleOp) -> ModuleOp:
    """A toggle that loads vectors of the row that its stream names also fetches the lines of those
    vectors ``ROWS_AHEAD`` rows on, behind its loads: where indices ascend, they come soon.

    A guess, which costs bandwidth where they do not, and never more: a fetch has no effect but on
    caches, and none at all where there is no such line, as behind the last row at the end of
    memory. An array of so few rows is left alone. O(operations).
    """
    module = copied(module)
    for toggle in [each for each in module.walk() if isinstance(each, ToggleOp)]:
        columns: dict[SSAValue, list[range]] = {}
        row: SSAValue | None = None
        for load in toggle.body.block.ops:
            if not isinstance(load, vector.LoadOp | vector.MaskedLoadOp):
                continue
            named, *starts = [source_of(each) for each in load.indices]
            if len(starts) != 1 or not _is_value(named, toggle):
                continue
            start = constant_of(starts[0])
            type = load.result.type
            if start is not None and isinstance(type, VectorType):
                row = named
                columns.setdefault(load.base, []).append(range(start, start + type.get_shape()[0]))
        for array, parts in columns.items():
            assert row is not None
            _fetch(toggle.body.block, array, row, parts)
    return module


def _is_value(row: SSAValue, toggle: ToggleOp) -> bool:
    """Whether it is what the stream has, alone or as the first of a row of the queue."""
    owner = row.owner
    is_first = (
        isinstance(owner, vector.ExtractOp)
        and owner.vector is toggle.value
        and [*owner.static_position.get_values()] == [0]
    )
    return row is toggle.value or is_first


def _fetch(block: Block, array: SSAValue, row: SSAValue, parts: list[range]) -> None:
    assert isinstance(array.type, MemRefType)
    rows, size = array.type.get_shape()
    if rows <= ROWS_AHEAD:
        return
    ahead = integer(ROWS_AHEAD)
    then = arith.AddiOp(row, ahead.result)
    block.add_ops([ahead, then])
    words = sorted({word for part in parts for word in part if word < size})
    for column in one_in_each_line(words, size):
        first = integer(column)
        block.add_op(first)
        at = [as_index(each, block) for each in (then.result, first.result)]
        block.add_op(FetchOp(array, at))

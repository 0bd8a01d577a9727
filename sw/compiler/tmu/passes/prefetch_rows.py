"""Brings the row of a loop's next iteration into the cache: beyond Ember's table II."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import MemRefType, ModuleOp, VectorType
from xdsl.ir import Block, SSAValue

from gnarl.sw.compiler.nests.copied import copied
from gnarl.sw.compiler.nests.dialects.flat import FetchOp
from gnarl.sw.compiler.nests.dialects.slc import CallbackOp, ForOp, GetOp
from gnarl.sw.compiler.nests.execute.affine import affine_of
from gnarl.sw.compiler.nests.operations import written_arrays
from gnarl.sw.compiler.nests.values import constant_of, integer, source_of
from gnarl.sw.compiler.tmu.callbacks.row_lines import one_in_each_line
from gnarl.sw.compiler.tmu.passes.queued_fiber import counter_of

_Load = vector.LoadOp | vector.MaskedLoadOp


def prefetch_rows(module: ModuleOp) -> ModuleOp:
    """A callback of a loop whose iterations are counted fetches, of the vectors that it loads at a
    row which follows from the counter, the lines of the next iteration's row.

    Nothing may write the array. Behind the last row it does not matter what is fetched.
    O(operations).
    """
    changed = copied(module)
    written = written_arrays(changed)
    for callback in [each for each in changed.walk() if isinstance(each, CallbackOp)]:
        loop = callback.parent_op()
        counter = counter_of(loop) if isinstance(loop, ForOp) else None
        if not isinstance(loop, ForOp) or counter is None:
            continue
        rows = _rows(callback.body.block, written)
        for (array, *indices), loads in rows.items():
            steps = [_factor(each, counter) * loop.step.value.data for each in indices]
            starts = [constant_of(each.indices[-1]) for each in loads]
            if any(steps) and None not in starts:
                words = [each for each in starts if each is not None]
                _fetch(callback.body.block, array, indices, steps, _lines(loads[0], words))
    return changed


def _rows(block: Block, written: Collection[SSAValue]) -> dict[tuple[SSAValue, ...], list[_Load]]:
    """Loads of vectors by array, of those that are not written, and row."""
    rows: dict[tuple[SSAValue, ...], list[_Load]] = {}
    for load in block.ops:
        if isinstance(load, _Load) and load.base not in written:
            key = (load.base, *map(source_of, load.indices[:-1]))
            rows.setdefault(key, []).append(load)
    return rows


def _factor(index: SSAValue, counter: str) -> int:
    """The factor of a loop's counter in an index."""
    return sum(
        factor
        for value, factor in affine_of(index).terms.items()
        if isinstance(value.owner, GetOp) and value.owner.variable.data == counter
    )


def _lines(load: _Load, starts: Sequence[int]) -> list[int]:
    """A word of each line that has vectors from ``starts`` on."""
    assert isinstance(load.base.type, MemRefType)
    size = load.base.type.get_shape()[-1]
    type = load.results[0].type
    assert isinstance(type, VectorType)
    (lanes,) = type.get_shape()
    words = {word for start in starts for word in range(start, start + lanes) if word < size}
    return one_in_each_line(sorted(words), size)


def _fetch(
    block: Block,
    array: SSAValue,
    indices: Sequence[SSAValue],
    steps: Sequence[int],
    words: Sequence[int],
) -> None:
    following = []
    for index, step in zip(indices, steps, strict=True):
        by = integer(step)
        total = arith.AddiOp(index, by.result)
        block.add_ops([by, total] if step else [])
        following.append(total.result if step else index)
    for word in words:
        at = integer(word)
        block.add_ops([at, FetchOp(array, [*following, at.result])])

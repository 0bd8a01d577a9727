"""Operators that move elements, where no other view of a tensor does what they do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

from gnarl.sw.workloads.einsum.pytorch import moved_statements as moved
from gnarl.sw.workloads.einsum.pytorch.elementwise import Operator
from gnarl.sw.workloads.einsum.pytorch.statements import Step
from gnarl.sw.workloads.einsum.pytorch.views import View


def reshaped(step: Step, x: View, shape: Sequence[int]) -> View:
    """The view of a tensor in another shape, in which -1 may stand for one size.

    Dimensions of size 1 come and go without a statement.
    """
    count = math.prod(size for size in shape if size != -1)
    sizes = [math.prod(x.shape) // max(count, 1) if size == -1 else size for size in shape]
    before = [dim for dim, size in enumerate(x.shape) if size != 1]
    after = [dim for dim, size in enumerate(sizes) if size != 1]
    if [x.shape[dim] for dim in before] != [sizes[dim] for dim in after]:
        return step.reshaped(x, sizes)
    return x.permuted(before).spread(after, len(sizes))


def _flattened(step: Step, x: View, start: int = 0, end: int = -1) -> View:
    rank = max(x.rank, 1)
    first, last = start % rank, end % rank
    joined = math.prod(x.shape[first : last + 1])
    return reshaped(step, x, [*x.shape[:first], joined, *x.shape[last + 1 :]])


def _unflattened(step: Step, x: View, dim: int, sizes: Sequence[int]) -> View:
    dim %= x.rank
    known = math.prod(size for size in sizes if size != -1)
    split = [x.shape[dim] // max(known, 1) if size == -1 else size for size in sizes]
    return reshaped(step, x, [*x.shape[:dim], *split, *x.shape[dim + 1 :]])


def _like(step: Step, x: View, other: View) -> View:
    return reshaped(step, x, other.shape)


def _concatenated(step: Step, parts: Sequence[View], dim: int = 0) -> View:
    rank = max(each.rank for each in parts)
    kept = [each for each in parts if each.rank == rank]  # the others have no element
    return kept[0] if len(kept) == 1 else moved.concatenated(step, kept, dim % rank)


def _stacked(step: Step, parts: Sequence[View], dim: int = 0) -> View:
    dim %= parts[0].rank + 1
    return _concatenated(step, [each.unsqueezed(dim) for each in parts], dim)


def _sliced(
    step: Step,
    x: View,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    by: int = 1,
) -> View:
    dim %= x.rank
    chosen = range(x.shape[dim])[start:end:by]
    return x if chosen == range(x.shape[dim]) else step.part(x, dim, chosen)


def _selected(step: Step, x: View, dim: int, index: int) -> View:
    dim %= x.rank
    index %= x.shape[dim]
    one = step.part(x, dim, range(index, index + 1)) if x.shape[dim] > 1 else x
    return one.permuted([each for each in range(x.rank) if each != dim])


def _narrowed(step: Step, x: View, dim: int, start: int, length: int) -> View:
    first = start % max(x.shape[dim], 1) if start < 0 else start
    return _sliced(step, x, dim, first, first + length)


def _parted(step: Step, x: View, lengths: Sequence[int], dim: int) -> list[View]:
    ends = [*accumulate(lengths, initial=0)]
    return [_sliced(step, x, dim, start, end) for start, end in pairwise(ends)]


def _split(step: Step, x: View, length: int, dim: int = 0) -> list[View]:
    size = x.shape[dim]
    starts = range(0, size, length) if size else range(1)
    return _parted(step, x, [min(length, size - start) for start in starts], dim)


def _chunked(step: Step, x: View, count: int, dim: int = 0) -> list[View]:
    size = x.shape[dim]
    if not size:
        return [x] * count
    return _split(step, x, -(-size // count), dim)


def _split_with_sizes(step: Step, x: View, lengths: Sequence[int], dim: int = 0) -> list[View]:
    return _parted(step, x, lengths, dim)


def _unbound(step: Step, x: View, dim: int = 0) -> list[View]:
    return [_selected(step, x, dim, index) for index in range(x.shape[dim % x.rank])]


PARTS: dict[str, Operator] = {
    **dict.fromkeys(
        ("aten.cat.default", "aten.concat.default", "aten.concatenate.default"), _concatenated
    ),
    "aten.stack.default": _stacked,
    "aten.select.int": _selected,
    "aten.narrow.default": _narrowed,
    "aten.split.Tensor": _split,
    "aten.split.sizes": _split_with_sizes,
    "aten.split_with_sizes.default": _split_with_sizes,
    "aten.chunk.default": _chunked,
    "aten.unbind.int": _unbound,
    "aten.unflatten.int": _unflattened,
}
"""Those that make tensors of parts, or parts of tensors, by their names in graphs."""

SHAPES: dict[str, Operator] = {
    "aten.flatten.using_ints": _flattened,
    **dict.fromkeys(
        ("aten.reshape.default", "aten.view.default", "aten._unsafe_view.default"), reshaped
    ),
    "aten.reshape_as.default": _like,
    "aten.view_as.default": _like,
    "aten.slice.Tensor": _sliced,
}
"""The others, some of which are other views mostly, by their names in graphs."""

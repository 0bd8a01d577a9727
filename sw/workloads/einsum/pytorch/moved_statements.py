"""Statements that move elements, as operators of a graph add them.

Their tensors have no dimension of size 1 that a view may do without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any, Protocol

from gnarl.sw.workloads.einsum.pytorch.views import View
from gnarl.sw.workloads.einsum.rearrangement import Concat, How, Rearrangement, Reshape, Slice
from gnarl.sw.workloads.tensor.expression import Access


class Step(Protocol):
    """What is asked of an operator's step, see ``statements.Step``."""

    @property
    def statements(self) -> Any: ...

    @property
    def name(self) -> str: ...

    @property
    def place(self) -> str: ...

    def repeated(self, view: View, part: str = "") -> View: ...


def reshaped(step: Step, x: View, shape: Sequence[int]) -> View:
    """The view of a tensor in another shape; dimensions that stay, and those of size 1, are none of
    the statement's."""
    before = [dim for dim, size in enumerate(x.shape) if size != 1]
    after = [dim for dim, size in enumerate(shape) if size != 1]
    short, wanted = x.permuted(before), [shape[dim] for dim in after]
    found = _reshaped(step, short, wanted, dict(_kept(short.shape, wanted)))
    return found.spread(after, len(shape))


def _kept(before: Sequence[int], after: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Dimensions that stay what they are in a reshape: places before and after."""
    if 0 in before:
        return
    here, there = ([*accumulate(each, int.__mul__, initial=1)] for each in (before, after))
    places = {product: place for place, product in enumerate(there)}
    for place, (start, end) in enumerate(pairwise(here)):
        if start in places and there[places[start] : places[start] + 2] == [start, end]:
            yield place, places[start]


def _reshaped(step: Step, x: View, shape: Sequence[int], kept: Mapping[int, int]) -> View:
    """A view without dimensions of size 1 in another shape without such.

    kept
        the dimension of the result that each dimension is that stays.
    """
    own = [dim for dim in range(x.rank) if dim not in kept]
    if any(x.modes[dim] is None for dim in own):
        x = step.repeated(x, "repeated")
    modes = [mode for dim in own if (mode := x.modes[dim]) is not None]
    if modes != sorted(modes):
        x = transposed(step, x)
    names = step.statements.names.indices()
    indices = [next(names) for _ in shape]
    taken = {dim: indices[kept[dim]] if dim in kept else next(names) for dim in range(x.rank)}
    made = [dim for dim in range(len(shape)) if dim not in kept.values()]
    sizes = [(indices[dim], shape[dim]) for dim in made]
    if all(size for _, size in sizes[:-1]):
        sizes.pop()  # it follows
    repeats = {kept[dim] for dim in kept if x.modes[dim] is None}
    there = [dim for dim in range(len(shape)) if dim not in repeats]
    operand = _access(step, x, taken, names)
    found = _add(step, [indices[dim] for dim in there], Reshape(tuple(sizes)), [operand])
    return _view(step, found, there, shape)


def transposed(step: Step, x: View) -> View:
    """The view of a tensor whose modes have the order of the view's dimensions."""
    names = step.statements.names.indices()
    there = [dim for dim in range(x.rank) if x.modes[dim] is not None]
    taken = {dim: next(names) for dim in there}
    operand = _access(step, x, taken, names)
    found = _add(step, [taken[dim] for dim in there], Reshape(), [operand])
    return _view(step, found, there, x.shape)


def sliced(step: Step, x: View, dim: int, part: range) -> View:
    """The view of some coordinates of a dimension."""
    if part == range(x.shape[dim]):
        return x
    shape = (*x.shape[:dim], len(part), *x.shape[dim + 1 :])
    if x.modes[dim] is None:
        return replace(x, shape=shape)
    x = _without_singles(step, x)
    names = step.statements.names.indices()
    there = [dim for dim in range(x.rank) if x.modes[dim] is not None]
    taken = {each: next(names) for each in there}
    how = Slice(taken[dim], part.start, max(part.start, part.stop), part.step)
    operand = _access(step, x, taken, names)
    kept = [each for each in there if each != dim or len(part) != 1]
    result = [next(names) if each == dim else taken[each] for each in kept]
    found = _add(step, result, how, [operand])
    return _view(step, found, kept, shape)


def concatenated(step: Step, parts: Sequence[View], dim: int) -> View:
    """Views of the same rank, one behind the other along a dimension."""
    first, size = parts[0], sum(each.shape[dim] for each in parts)
    shape = (*first.shape[:dim], size, *first.shape[dim + 1 :])
    there = [each for each in range(first.rank) if each == dim or shape[each] != 1]
    names = step.statements.names.indices()
    indices = {each: next(names) for each in there}
    operands = []
    for part in parts:
        if any(part.modes[each] is None and part.shape[each] != 1 for each in there):
            part = step.repeated(part, "repeated")
        modes = tuple(mode if d in there else None for d, mode in enumerate(part.modes))
        part = _without_singles(step, replace(part, modes=modes))
        operands.append(_access(step, part, {**indices, dim: next(names)}, names))
    found = _add(step, [indices[each] for each in there], Concat(), operands)
    return _view(step, found, there, shape)


def _without_singles(step: Step, x: View) -> View:
    """The view of a tensor each of whose modes is a dimension."""
    shape = step.statements.shapes[x.tensor]
    kept = [mode for mode in range(len(shape)) if mode in x.modes]
    if len(kept) == len(shape):
        return x
    names = step.statements.names.indices()
    indices = [next(names) for _ in shape]
    found = _add(step, [indices[m] for m in kept], Reshape(), [Access(x.tensor, tuple(indices))])
    step.statements.shapes[found] = tuple(shape[mode] for mode in kept)
    modes = tuple(None if mode is None else kept.index(mode) for mode in x.modes)
    return View(found, x.shape, modes)


def _view(step: Step, tensor: str, there: Sequence[int], shape: Sequence[int]) -> View:
    """The view in a shape of a new tensor, whose modes are the dimensions that are ``there``."""
    step.statements.shapes[tensor] = tuple(shape[dim] for dim in there)
    modes = (there.index(dim) if dim in there else None for dim in range(len(shape)))
    return View(tensor, tuple(shape), tuple(modes))


def _access(step: Step, x: View, taken: Mapping[int, str], names: Iterator[str]) -> Access:
    """A tensor at indices of dimensions; its modes that are none of them have new ones. Elements of
    a view with a meaning are not the tensor's, and are not moved as those."""
    assert x.meaning is None, f"{x.tensor} has elements of another meaning"
    own = {mode: taken[dim] for dim, mode in enumerate(x.modes) if mode is not None}
    modes = range(len(step.statements.shapes[x.tensor]))
    return Access(x.tensor, tuple(own[mode] if mode in own else next(names) for mode in modes))


def _add(step: Step, result: Sequence[str], how: How, operands: Sequence[Access]) -> str:
    """Adds a statement; the name of its tensor."""
    statements = step.statements
    is_first = all(each.name != step.name for each in statements.added)
    name = step.name if is_first else statements.names.claim(f"{step.name}_{how.kind}")
    access = Access(name, tuple(result))
    statements.added.append(Rearrangement(access, how, tuple(operands), step.place))
    return name

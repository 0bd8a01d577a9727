"""Tensors of a graph as they lie in tensors of a program: dimensions in another order, left out, or
repeated. No view costs a statement."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from gnarl.sw.workloads.einsum.rearrangement import Kept, Pattern


@dataclass(frozen=True)
class Along:
    """A tensor of the program, and for each of its modes the mode of another tensor that it lies
    along."""

    tensor: str
    modes: tuple[int, ...]


@dataclass(frozen=True)
class Masked:
    """Elements are -∞ where one of the patterns, which lie along the tensor, has no entry."""

    patterns: tuple[Along, ...]


@dataclass(frozen=True)
class EmptyRows:
    """Elements are NaN where one of these totals is 0: of a softmax of rows that are -∞."""

    totals: tuple[Along, ...]


@dataclass(frozen=True)
class Compared:
    """Elements are those of a pattern of the tensor."""

    how: Pattern | Kept


@dataclass(frozen=True)
class Additive:
    """Elements are 0 and -∞: an input that is a mask."""


Meaning: TypeAlias = Masked | EmptyRows | Compared | Additive


@dataclass(frozen=True)
class View:
    """A tensor of the graph.

    tensor
        the tensor of the program that has its elements.
    shape
        size of each dimension.
    modes
        the mode of ``tensor`` that each dimension is, of the same size; ``None`` for one along
        which elements repeat. Modes that are none of them have size 1.
    meaning
        what elements are, where they are not the tensor's own.
    is_truth
        whether they are truth values in PyTorch; the tensor's own are 0 and 1.
    is_dense
        whether a sparse tensor was made dense: PyTorch has lost the zeros among its entries.
    """

    tensor: str
    shape: tuple[int, ...]
    modes: tuple[int | None, ...]
    meaning: Meaning | None = None
    is_truth: bool = False
    is_dense: bool = False

    @classmethod
    def whole(cls, tensor: str, shape: tuple[int, ...]) -> View:
        """The view of a tensor as it is."""
        return cls(tensor, shape, tuple(range(len(shape))))

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def permuted(self, order: Sequence[int]) -> View:
        """The view whose dimension d is dimension ``order[d]``."""
        shape = tuple(self.shape[dim] for dim in order)
        return self._with(shape, tuple(self.modes[dim] for dim in order))

    def unsqueezed(self, dim: int) -> View:
        """The view with one more dimension of size 1, before dimension ``dim``."""
        shape, modes = [*self.shape], [*self.modes]
        shape.insert(dim, 1)
        modes.insert(dim, None)
        return self._with(tuple(shape), tuple(modes))

    def squeezed(self, dims: Collection[int]) -> View:
        """The view without those of the dimensions that have size 1."""
        kept = [dim for dim, size in enumerate(self.shape) if size != 1 or dim not in dims]
        return self.permuted(kept)

    def expanded(self, shape: Sequence[int]) -> View:
        """The view in a shape that it broadcasts to, where -1 stands for its own size."""
        first = len(shape) - self.rank
        sizes = [*shape[:first]]
        modes: list[int | None] = [None] * first
        for size, own, mode in zip(shape[first:], self.shape, self.modes, strict=True):
            sizes.append(own if size == -1 else size)
            modes.append(mode if own == sizes[-1] else None)
        return self._with(tuple(sizes), tuple(modes))

    def spread(self, places: Sequence[int], rank: int) -> View:
        """The view in ``rank`` dimensions, of which ``places`` are its own; the rest have size
        1."""
        shape = [1] * rank
        modes: list[int | None] = [None] * rank
        for place, size, mode in zip(places, self.shape, self.modes, strict=True):
            shape[place], modes[place] = size, mode
        return self._with(tuple(shape), tuple(modes))

    def bare(self) -> View:
        """The view of the tensor's own elements, as numbers."""
        return replace(self, meaning=None, is_truth=False, is_dense=False)

    def _with(self, shape: tuple[int, ...], modes: tuple[int | None, ...]) -> View:
        return replace(self, shape=shape, modes=modes)

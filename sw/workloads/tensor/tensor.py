"""Tensors of any order: a list of entries, whatever they came from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.workloads.entries_order import sum_finite, sum_repeated
from gnarl.sw.workloads.refusals import NOT_BELOW, refuse_first, refuse_not_finite
from gnarl.sw.workloads.tensor.sparse_matrix import PARTS, entries

DENSE_LIMIT = 2**28
"""At most this many values are held in memory for a tensor, or a level of it, that is dense."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor by its entries; what is no entry is zero.

    shape
        size of each dimension; () for a scalar.
    coordinates
        int64 [nnz, order]: ascending by the first coordinate, then the second and so on, each
        below its dimension's size, none twice.
    values
        [nnz], of a floating-point type; an explicit zero is an entry. Those of ``from_any`` and
        files are float64 and finite, as inputs must be numbers; results have their own type, and
        may be infinite or NaN.

    Raises ``WorkloadError`` naming the first entry (from 0) that is invalid.
    O(nnz · order).
    """

    shape: tuple[int, ...]
    coordinates: np.ndarray
    values: np.ndarray

    def __post_init__(self) -> None:
        shape = _shape(self.shape)
        coordinates = _coordinates(self.coordinates, len(shape))
        values = _values(self.values)
        if values.shape != (len(coordinates),):
            raise WorkloadError(
                f"values of shape {values.shape}: must be ({len(coordinates)},), one for each "
                "coordinate"
            )
        _require_in_range(coordinates, shape)
        _require_ascending(coordinates)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "coordinates", coordinates)
        object.__setattr__(self, "values", values)

    @property
    def order(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def nnz(self) -> int:
        """Number of entries, explicit zeros included."""
        return len(self.values)

    @classmethod
    def from_any(cls, source: Any, finite: bool = True) -> Tensor:
        """The tensor that ``source`` means.

        ``source`` is a ``Tensor``; a number; a dense NumPy array, or nested lists of numbers, of
        which what is not zero becomes an entry; a SciPy sparse matrix or array of any format, of
        which every stored element becomes one, the sum of those that it stores in one place; or a
        tuple ``(coordinates, values, shape)`` as the fields. A scalar has one entry, even if it is
        zero. Values become float64, rounded to nearest.

        Raises ``WorkloadError`` naming the entry: for what the class refuses, and, where it must be
        ``finite``, for a value that is infinite or NaN.
        """
        if isinstance(source, Tensor):
            tensor = source
        elif scipy.sparse.issparse(source):
            tensor = _from_sparse(source)
        elif isinstance(source, tuple):
            if len(source) != 3:
                raise WorkloadError(
                    f"a tuple of {len(source)}: must be (coordinates, values, shape)"
                )
            coordinates, values, shape = source
            tensor = cls(shape, coordinates, values)
        else:
            tensor = _from_dense(source)
        if finite:
            tensor.require_finite()
        return tensor._in_float64()

    @classmethod
    def from_result(cls, source: Array) -> Tensor:
        """The tensor that was computed, whose values become float64: they may be infinite or
        NaN."""
        if isinstance(source, np.ndarray):
            return _from_dense(source)._in_float64()
        return cls(source.shape, source.coordinates, source.values)._in_float64()

    def _in_float64(self) -> Tensor:
        with np.errstate(over="ignore"):
            values = self.values.astype(np.float64, copy=False)
        return replace(self, values=values) if values is not self.values else self

    @classmethod
    def from_entries(
        cls,
        shape: tuple[int, ...],
        coordinates: np.ndarray,
        values: np.ndarray,
        source: str,
        name: Callable[[int], str],
    ) -> Tensor:
        """The tensor with finite entries of the file ``source`` in any order; those of one place
        are added, with a warning.

        ``name``: see ``sum_repeated``. Raises ``WorkloadError`` for a sum beyond float64.
        O(nnz log nnz · order).
        """
        order, sums = sum_finite(coordinates, values, source, name)
        return cls(shape, coordinates[order], sums)

    @classmethod
    def from_sparse(
        cls,
        format: str,
        shape: tuple[int, ...],
        parts: Mapping[str, np.ndarray],
        source: str | None = None,
    ) -> Tensor:
        """The tensor that SciPy stores so, see ``sparse_matrix.entries``.

        Elements that are stored twice are added, as SciPy does; for a file ``source`` with a
        warning. Raises ``WorkloadError``.
        """
        coordinates, values = entries(format, tuple(map(int, shape)), parts)
        order, sums = sum_repeated(
            coordinates,
            _values(values),
            source,
            lambda at: f"entry {at} at {_tuple(coordinates[at])}",
        )
        return cls(shape, coordinates[order], sums)

    def require_finite(self) -> None:
        """Raises ``WorkloadError`` naming the first entry that is infinite or NaN."""
        refuse_not_finite(
            self.values,
            lambda at: f"entry {at}: the value at {_tuple(self.coordinates[at])}",
        )

    def to_dense(self, dtype: np.typing.DTypeLike = np.float64) -> np.ndarray:
        """All values, of the tensor's shape. Raises ``CapacityError`` if too many."""
        if math.prod(self.shape) > DENSE_LIMIT:
            raise CapacityError(
                f"a dense array of shape {self.shape} has {math.prod(self.shape):,} values: at "
                f"most {DENSE_LIMIT:,} are kept in memory"
            )
        # The dimension in front makes a scalar like the others.
        dense = np.zeros((1, *self.shape), dtype)
        dense[(np.zeros(self.nnz, np.int64), *self.coordinates.T)] = self.values
        return dense.reshape(self.shape)

    def with_shape(self, shape: tuple[int, ...]) -> Tensor:
        """The same entries in a tensor of ``shape``, which is nowhere smaller.

        For files that give the largest coordinate and not the size. Raises ``WorkloadError``.
        """
        shape = _shape(shape)
        if len(shape) != self.order or any(
            new < old for new, old in zip(shape, self.shape, strict=True)
        ):
            raise WorkloadError(
                f"shape {shape}: must be at least {self.shape} in each of {self.order} dimensions"
            )
        return Tensor(shape, self.coordinates, self.values)


def _shape(shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, Sequence | np.ndarray) or isinstance(shape, str):
        raise WorkloadError(f"shape {shape!r}: must be a tuple of whole numbers")
    sizes = []
    for dimension, size in enumerate(shape):
        if isinstance(size, bool) or not isinstance(size, int | np.integer):
            raise WorkloadError(f"dimension {dimension} has size {size!r}: must be a whole number")
        if not 0 <= size < 2**63:
            raise WorkloadError(f"dimension {dimension} has size {size}: must be 0 to 2**63 - 1")
        sizes.append(int(size))
    return tuple(sizes)


def _coordinates(coordinates: Any, order: int) -> np.ndarray:
    array = _array(coordinates, "coordinates")
    if array.size == 0 and array.shape[:1] == (0,):
        return np.zeros((0, order), np.int64)
    if array.ndim != 2 or array.shape[1] != order:
        raise WorkloadError(
            f"coordinates of shape {array.shape}: must be (entries, {order}), a row for each entry"
        )
    if array.dtype.kind not in "iu" and array.size:
        raise WorkloadError(f"coordinates are {array.dtype}: must be whole numbers")
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:
        raise WorkloadError(f"coordinate {array.max()}: must be within 63 bits")
    return array.astype(np.int64, copy=False)


def _values(values: Any) -> np.ndarray:
    array = _array(values, "values")
    if array.dtype.kind in "biu":
        return array.astype(np.float64)
    if array.dtype.kind == "f" and array.dtype.itemsize > np.dtype(np.float64).itemsize:
        return _rounded(array)
    if not np.can_cast(array.dtype, np.float64):
        raise WorkloadError(f"values are {array.dtype}: must be real numbers")
    return array


def _rounded(values: np.ndarray) -> np.ndarray:
    """Extended precision in float64, infinite beyond it."""
    with np.errstate(over="ignore", under="ignore"):
        rounded = values.astype(np.float64)
    refuse_first(
        (rounded == 0) & (values != 0), lambda at: f"value {at}: {values[at]}: {NOT_BELOW}"
    )
    return rounded


def _array(source: Any, what: str) -> np.ndarray:
    try:
        return np.asarray(source)
    except (ValueError, TypeError, OverflowError):
        raise WorkloadError(f"{what} {_short(source)}: must be an array of numbers") from None


def _require_in_range(coordinates: np.ndarray, shape: tuple[int, ...]) -> None:
    outside = (coordinates < 0) | (coordinates >= np.array(shape, np.int64))
    if outside.any():
        entry, dimension = (int(at) for at in np.argwhere(outside)[0])
        raise WorkloadError(
            f"entry {entry}: coordinate {_tuple(coordinates[entry])}: dimension {dimension} has "
            f"size {shape[dimension]}"
        )


def _require_ascending(coordinates: np.ndarray) -> None:
    steps = max(len(coordinates) - 1, 0)
    ascends = np.zeros(steps, bool)
    equal = np.ones(steps, bool)
    for column in coordinates.T:
        ascends |= equal & (column[1:] > column[:-1])
        equal &= column[1:] == column[:-1]
    if not ascends.all():
        at = int(np.argmin(ascends))
        here, before = _tuple(coordinates[at + 1]), _tuple(coordinates[at])
        fault = "is a duplicate" if equal[at] else f"comes after {before}: must ascend"
        raise WorkloadError(f"entry {at + 1}: coordinate {here} {fault}")


def _from_dense(source: Any) -> Tensor:
    array = _array(source, "tensor")
    if array.dtype.kind not in "biuf":
        what = f"an array of {array.dtype}" if isinstance(source, np.ndarray) else _short(source)
        raise WorkloadError(f"{what} is not a tensor: must be an array of real numbers")
    if array.ndim == 0:
        return Tensor((), np.zeros((1, 0), np.int64), array.reshape(1))
    places = np.nonzero(array)
    return Tensor(array.shape, np.stack(places, axis=1), array[places])


def _from_sparse(source: Any) -> Tensor:
    match source.format:
        case "lil":  # whose lists SciPy's compiled code trusts, too
            rows = np.arange(len(source.rows))
            columns = {
                "row": np.repeat(rows, [len(line) for line in source.rows]),
                "col": np.array([*chain.from_iterable(source.rows)], np.int64),
            }
            data = np.array([*chain.from_iterable(source.data)], source.dtype)
            return Tensor.from_sparse("coo", source.shape, {"data": data, **columns})
        case "coo" | "dok":
            stored = source.tocoo()
            columns = {f"coords[{mode}]": column for mode, column in enumerate(stored.coords)}
            return Tensor.from_sparse("coo", source.shape, {"data": stored.data, **columns})
        case format:
            parts = {name: getattr(source, name) for name in PARTS[format]}
            return Tensor.from_sparse(format, source.shape, parts)


def _tuple(coordinate: np.ndarray) -> tuple[int, ...]:
    return tuple(coordinate.tolist())


def _short(value: Any) -> str:
    """What error texts say of any object: one short line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."

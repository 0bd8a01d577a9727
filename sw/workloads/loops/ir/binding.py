"""Gives a nest its arrays, scalars and sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.loops.ir.nest import (
    Array,
    Binary,
    Constant,
    Expression,
    Nest,
    Scalar,
    Variable,
)
from gnarl.sw.workloads.loops.ir.printer import print_expression
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32, ScalarType


@dataclass(frozen=True, eq=False)
class Binding:
    """What one run of a nest works on.

    sizes
        by name.
    scalars
        by name, 0-dimensional arrays of the scalars' types.
    arrays
        by name, C-contiguous and of the arrays' types; they may be the caller's own.
    """

    sizes: dict[str, int]
    scalars: dict[str, np.ndarray]
    arrays: dict[str, np.ndarray]


def bind(nest: Nest, values: Mapping[str, Any], sizes: Mapping[str, int] | None = None) -> Binding:
    """Values of parameters by name: arrays, or what ``numpy.asarray`` makes arrays of.

    Whole numbers of any type are taken where the parameter's type holds them. Sizes follow from
    the shapes of arrays, in the order of parameters, or are given. An array that the nest writes
    and that is not given starts as zeros. Raises ``WorkloadError`` naming the parameter.
    """
    for name in values:
        known = [each.name for each in nest.parameters if each.name not in nest.temporaries]
        if name not in known:
            raise WorkloadError(
                f"{name}: is no parameter of {nest.name}: must be one of {', '.join(known)}"
            )
    given = {
        each.name: _typed(each, values[each.name])
        for each in nest.parameters
        if each.name in values
    }
    for parameter in nest.parameters:
        is_zero = parameter.name in nest.results or parameter.name in nest.temporaries
        if parameter.name not in given and not is_zero:
            raise WorkloadError(f"{parameter.name}: missing: must be given")
    inferred = _Sizes(nest, sizes or {})
    inferred.infer(given)
    arrays = {
        name: given[name] if name in given else inferred.zeros(array)
        for name, array in nest.arrays.items()
    }
    return Binding(inferred.sizes, {name: given[name] for name in nest.scalars}, arrays)


def sizes_of(
    nest: Nest,
    arrays: Mapping[str, np.ndarray],
    otherwise: int,
    given: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Sizes that are given, or follow from some of a nest's arrays; the others are ``otherwise``.
    Raises ``WorkloadError`` where these disagree."""
    return _all_sizes(nest, arrays, otherwise, given).sizes


def open_sizes(
    nest: Nest,
    arrays: Mapping[str, np.ndarray],
    otherwise: int,
    given: Mapping[str, int] | None = None,
) -> tuple[str, ...]:
    """Names of those others, see ``sizes_of``."""
    return _all_sizes(nest, arrays, otherwise, given).by_default


def _all_sizes(
    nest: Nest,
    arrays: Mapping[str, np.ndarray],
    otherwise: int,
    given: Mapping[str, int] | None,
) -> _Sizes:
    inferred = _Sizes(nest, given or {})
    inferred.infer(
        {name: array for name, array in arrays.items() if name in nest.arrays}, otherwise
    )
    return inferred


def require_sizes(nest: Nest, names: Iterable[str]) -> None:
    """Raises ``WorkloadError`` for a name that is no size of the nest."""
    known = [size.name for size in nest.sizes]
    for name in names:
        if name not in known:
            wanted = f"must be one of {', '.join(known)}" if known else "it has none"
            raise WorkloadError(f"{name}: is no size of {nest.name}: {wanted}")


def dimension(size: Expression, sizes: Mapping[str, int]) -> int:
    """A size in an array's shape, as a whole number of any magnitude."""
    match size:
        case Constant(value):
            return int(value)
        case Variable(name):
            return sizes[name]
        case Binary(operator, left, right):
            first, second = dimension(left, sizes), dimension(right, sizes)
            if operator == "+":
                return first + second
            return first - second if operator == "-" else first * second
    raise TypeError(size)


_DEFAULT = "by default"


class _Sizes:
    def __init__(self, nest: Nest, given: Mapping[str, int]) -> None:
        self._nest = nest
        self.sizes: dict[str, int] = {}
        self._origins: dict[str, str] = {}
        require_sizes(nest, given)
        for name, size in given.items():
            self._set(name, _whole(name, size), "given")

    def infer(self, given: Mapping[str, np.ndarray], otherwise: int | None = None) -> None:
        """Sizes from shapes of arrays, else ``otherwise``, and whether all shapes agree."""
        arrays = [array for name, array in self._nest.arrays.items() if name in given]
        for array in arrays:
            if given[array.name].ndim != len(array.shape):
                raise WorkloadError(
                    f"{array.name}: is {list(given[array.name].shape)}: must be {_shape(array)}"
                )
        pairs = [
            (array, size, length)
            for array in arrays
            for size, length in zip(array.shape, given[array.name].shape, strict=True)
        ]
        # A pass may make sizes known with which the next can solve others.
        for _ in self._nest.sizes:
            for array, size, length in pairs:
                self._solve(array, size, length)
        for name in (size.name for size in self._nest.sizes):
            if name not in self.sizes and otherwise is not None:
                self._set(name, otherwise, _DEFAULT)
            if name not in self.sizes:
                raise WorkloadError(f"{name}: does not follow from the arrays: must be given")
        for array in arrays:
            self._require_shape(array, given[array.name].shape)

    @property
    def by_default(self) -> tuple[str, ...]:
        return tuple(name for name, origin in self._origins.items() if origin == _DEFAULT)

    def zeros(self, array: Array) -> np.ndarray:
        shape = tuple(dimension(size, self.sizes) for size in array.shape)
        if min(shape) < 0:
            raise WorkloadError(
                f"{array.name}: {_shape(array)} is {list(shape)}: must be at least 0"
                f"{self._given_sizes(array)}"
            )
        return np.zeros(shape, array.type.dtype)

    def _set(self, name: str, size: int, origin: str) -> None:
        if not 0 <= size <= INT32.most:
            raise WorkloadError(f"{name} = {size}, {origin}: must be from 0 to {INT32.most}")
        self.sizes[name], self._origins[name] = size, origin

    def _solve(self, array: Array, size: Expression, length: int) -> None:
        """Solves ``size`` = ``length`` if it has one unknown in it, linearly."""
        unknown = sorted(_names(size) - self.sizes.keys())
        if len(unknown) != 1:
            return
        at = [dimension(size, {**self.sizes, unknown[0]: value}) for value in range(3)]
        slope = at[1] - at[0]
        if slope and at[2] - at[1] == slope:
            value, rest = divmod(length - at[0], slope)
            if rest == 0:
                self._set(unknown[0], value, f"as {array.name} has it")
                return
            raise WorkloadError(
                f"{array.name}: {print_expression(size)} is {length}: no whole number {unknown[0]} "
                f"makes it so{self._given_sizes(array)}"
            )

    def _require_shape(self, array: Array, given: tuple[int, ...]) -> None:
        shape = [dimension(size, self.sizes) for size in array.shape]
        if shape != list(given):
            raise WorkloadError(
                f"{array.name}: is {list(given)}: must be {_shape(array)} = {shape}"
                f"{self._given_sizes(array)}"
            )

    def _given_sizes(self, array: Array) -> str:
        names = [size.name for size in self._nest.sizes if size.name in self.sizes]
        used = [name for name in names if any(name in _names(size) for size in array.shape)]
        if not used:
            return ""
        return ", with " + ", ".join(
            f"{name} = {self.sizes[name]} ({self._origins[name]})" for name in used
        )


def _whole(name: str, size: Any) -> int:
    try:
        return index(size)
    except TypeError:
        raise WorkloadError(f"{name} = {size}, given: must be a whole number") from None


def _names(size: Expression) -> set[str]:
    match size:
        case Variable(name):
            return {name}
        case Binary(_, left, right):
            return _names(left) | _names(right)
    return set()


def _shape(array: Array) -> str:
    return f"[{', '.join(map(print_expression, array.shape))}]"


def _typed(parameter: Array | Scalar, value: Any) -> np.ndarray:
    name, type = parameter.name, parameter.type
    try:
        array = np.asarray(value)
    except ValueError:
        raise WorkloadError(f"{name}: is ragged: rows must be of one length") from None
    if isinstance(parameter, Scalar) and array.ndim:
        raise WorkloadError(f"{name}: is {list(array.shape)}: must be one {type}")
    own = not isinstance(value, np.ndarray | np.generic)
    if own and type == FLOAT32 and array.dtype in (np.float64, np.int64):
        with np.errstate(over="ignore"):
            array = array.astype(np.float32)  # Python's own numbers
    if array.dtype.kind in "iu" and type.is_integer:
        _require_held(name, array, type)
    elif not np.can_cast(array.dtype, type.dtype, "safe"):
        raise WorkloadError(f"{name}: is {array.dtype}: must be {type}")
    return np.ascontiguousarray(array, type.dtype).reshape(array.shape)


def _require_held(name: str, array: np.ndarray, type: ScalarType) -> None:
    if np.can_cast(array.dtype, type.dtype, "safe"):
        return
    outside = (array < type.least) | (array > type.most)
    if outside.any():
        at = np.unravel_index(int(np.argmax(outside)), array.shape)
        place = f"[{', '.join(map(str, at))}]" if at else ""
        raise WorkloadError(
            f"{name}{place} = {array[at]}: must be in {type}, from {type.least} to {type.most}"
        )

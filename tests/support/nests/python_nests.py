"""Runs texts of nests as the Python that they are, on NumPy's scalars: an opinion of what they mean
that no reader of nests has a part in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gnarl.sw.workloads.loops.ir.binding import Binding
from gnarl.sw.workloads.loops.notation import sizes


class _Type:
    """``float32[n]`` in a signature, ``float32(x)`` in a body."""

    def __init__(self, name: str) -> None:
        self._type = np.dtype(name)

    def __getitem__(self, shape: object) -> str:
        return str(self._type)

    def __call__(self, value: Any) -> Any:
        if self._type.kind != "f" and isinstance(value, np.floating):
            return self._type.type(math.trunc(float(value)))
        return np.asarray(value).astype(self._type)[()]


class _Array:
    """Refuses indices outside, those below 0 among them."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def _place(self, index: Any) -> tuple[int, ...]:
        place = tuple(map(int, index if isinstance(index, tuple) else (index,)))
        inside = (0 <= at < extent for at, extent in zip(place, self.values.shape, strict=True))
        if not all(inside):
            raise IndexError(f"{place} of {self.values.shape}")
        return place

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start = int(index.start or 0)
            stop = len(self.values) if index.stop is None else int(index.stop)
            return start, [int(each) for each in self.values[start : max(start, stop)]]
        return self.values[self._place(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.values[self._place(index)] = np.asarray(value).astype(self.values.dtype)


def _range(*bounds: Any) -> Iterator[np.int32]:
    return map(np.int32, range(*map(int, bounds)))


def _same_type(left: Any, right: Any) -> tuple[Any, Any]:
    type = np.result_type(left, right)
    return np.asarray(left).astype(type)[()], np.asarray(right).astype(type)[()]


def _rank(number: Any) -> tuple[float, float]:
    return float(number), math.copysign(1.0, number)


def _extreme(best: Any) -> Any:
    def choose(left: Any, right: Any) -> Any:
        left, right = _same_type(left, right)
        for each in (left, right):
            if np.isnan(each):
                return each
        return best((left, right), key=_rank)

    return choose


def _fiber(given: Any) -> tuple[int, list[int]]:
    return given[:] if isinstance(given, _Array) else given


def _position(start: int, fiber: list[int], coordinate: int) -> np.int32:
    return np.int32(start + sum(each < coordinate for each in fiber))


def _union(left: Any, right: Any) -> Iterator[Any]:
    (first, left), (second, right) = _fiber(left), _fiber(right)
    for each in sorted({*left, *right}):
        positions = _position(first, left, each), _position(second, right, each)
        yield np.int32(each), positions, (each in left, each in right)


def _intersect(left: Any, right: Any) -> Iterator[Any]:
    return ((each, at) for each, at, has in _union(left, right) if all(has))


_WORDS: dict[str, Any] = {
    **{name: _Type(name) for name in "float32 int8 int16 int32 uint8 uint16 uint32".split()},
    "nest": lambda function: function,
    "sizes": sizes,
    "range": _range,
    "min": _extreme(min),
    "max": _extreme(max),
    "sqrt": np.sqrt,
    "inf": math.inf,
    "union": _union,
    "intersect": _intersect,
}


def run_as_python(text: str, name: str, binding: Binding) -> dict[str, np.ndarray]:
    """What the function ``name`` leaves in all arrays. Of NaNs, those that operations give have
    whatever bits the host gives them."""
    arrays = {each: _Array(array.copy()) for each, array in binding.arrays.items()}
    scalars = {each: value[()] for each, value in binding.scalars.items()}
    words = dict(_WORDS)
    exec(compile(text, "<nest>", "exec"), words)
    words |= {size: np.int32(value) for size, value in binding.sizes.items()}
    function = words[name]
    given: Mapping[str, Any] = scalars | arrays
    with np.errstate(all="ignore"):
        function(**given)
    return {each: array.values for each, array in arrays.items()}

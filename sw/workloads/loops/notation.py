"""What Python files of loop nests import: the notation's words.

    from gnarl.sw.workloads.loops.notation import float32, int32, nest, sizes

    bags, lookups, rows, dim = sizes("bags", "lookups", "rows", "dim")

    @nest
    def embedding_bag(
        table: float32[rows, dim],
        indices: int32[lookups],
        offsets: int32[bags + 1],
        out: float32[bags, dim],
    ):
        for b in range(bags):
            for p in range(offsets[b], offsets[b + 1]):
                for e in range(dim):
                    out[b, e] += table[indices[p], e]

``python_source`` reads such functions; nothing runs them as Python. Loops over merged fibers are

    for k, (p, q) in intersect(a_index[0:a_count], b_index[0:b_count]):
    for k, (p, q), (in_a, in_b) in union(a_index, b_index):
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnarl.sw.workloads.loops.ir.nest import Nest


class Size:
    """A name in a shape."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def __add__(self, other: Size | int) -> Size:
        return Size(f"({self} + {other})")

    def __radd__(self, other: int) -> Size:
        return Size(f"({other} + {self})")

    def __sub__(self, other: Size | int) -> Size:
        return Size(f"({self} - {other})")

    def __rsub__(self, other: int) -> Size:
        return Size(f"({other} - {self})")

    def __mul__(self, other: Size | int) -> Size:
        return Size(f"({self} * {other})")

    def __rmul__(self, other: int) -> Size:
        return Size(f"({other} * {self})")


def sizes(*names: str) -> list[Size]:
    """Declares sizes, so that editors and linters know them in shapes and in loops."""
    return [Size(name) for name in names]


class _Type:
    """``float32`` for a scalar, ``float32[rows, dim]`` for an array, ``float32(n)`` to convert."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __getitem__(self, shape: Any) -> str:
        return f"{self}{list(shape) if isinstance(shape, tuple) else [shape]}"

    def __call__(self, value: Any) -> Any:
        raise _never_run(self._name)


float32 = _Type("float32")
int8 = _Type("int8")
int16 = _Type("int16")
int32 = _Type("int32")
uint8 = _Type("uint8")
uint16 = _Type("uint16")
uint32 = _Type("uint32")

inf = float("inf")


def sqrt(value: Any) -> Any:
    """Square root of float32."""
    raise _never_run("sqrt")


def intersect(left: Any, right: Any) -> Any:
    """Coordinates that both fibers have, with their positions."""
    raise _never_run("intersect")


def union(left: Any, right: Any) -> Any:
    """Coordinates that either fiber has, with their positions and who has them."""
    raise _never_run("union")


def nest(function: Callable[..., Any]) -> Nest:
    """The loop nest that a function writes down."""
    from gnarl.sw.workloads.loops.python.source import read_function  # which needs the words above

    return read_function(function)


def _never_run(name: str) -> TypeError:
    return TypeError(f"{name} has a meaning in functions of @nest only, which are read, not run")

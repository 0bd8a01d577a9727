"""What loop nests mean: the IR run on arrays, one operation after the other, as the source says.

``gnarl.sw.workloads.loops.ir.nest`` defines the meaning. The nest becomes one function that numba
compiles (``loop_code``), without any freedom for floating point: nothing is fused or reordered.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.golden.loop_code import LoopCode, MemoryLayout
from gnarl.sw.golden.words import as_float64
from gnarl.sw.workloads.loops.ir.binding import Binding
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.ir.verify import verify

_RECURSION = 20_000


@dataclass(frozen=True)
class Work:
    """``operations`` on float32, of which some are ``products``; ``lines`` int64 [n]: as
    ``LoopCode`` notes them, in order."""

    operations: int
    products: int
    lines: np.ndarray


@dataclass(frozen=True)
class Counted:
    """A counted run. ``results``: the arrays that a nest writes, by name. ``iterations`` of all its
    loops, and one for each loop that was begun."""

    results: dict[str, np.ndarray]
    iterations: int


class GoldenLoops:
    """The golden model of one nest; raises ``WorkloadError`` if it means nothing.

    It is compiled when it runs for the first time, in about a second.
    """

    def __init__(self, nest: Nest) -> None:
        verify(nest)
        self._nest = nest

    def run(self, binding: Binding) -> dict[str, np.ndarray]:
        """The arrays that the nest writes, by name; those given are left as they are.

        Raises ``WorkloadError``, "file:line:column: …", for the first access outside an array,
        division by zero or other error of the IR.
        """
        return self.counted(binding).results

    def counted(self, binding: Binding) -> Counted:
        """Results as those of ``run``, and how much there was to do."""
        return self._counted(self._exact, binding)

    def reference(self, binding: Binding) -> dict[str, np.ndarray]:
        """Results as those of ``run``, with float64 in place of float32."""
        return self._counted(self._wide, binding).results

    @cached_property
    def _exact(self) -> _Function:
        return _Function(LoopCode(self._nest), np.dtype(np.float32))

    @cached_property
    def _wide(self) -> _Function:
        return _Function(LoopCode(self._nest, np.float64), np.dtype(np.float64))

    def work(self, binding: Binding, layout: MemoryLayout) -> Work:
        """What the nest does, whoever does it. Raises as ``run`` does."""
        function = _Function(LoopCode(self._nest, layout=layout), np.dtype(np.float32))
        lines = np.zeros(0, np.int64)
        while True:
            arguments = self._arguments(function, binding)
            _, operations, products, count, *_ = function.run(*arguments, more=(lines,))
            if count == len(lines):
                return Work(operations, products, lines)
            lines = np.zeros(count, np.int64)

    def _counted(self, function: _Function, binding: Binding) -> Counted:
        arguments = self._arguments(function, binding)
        notes = function.run(*arguments)
        arrays = dict(zip(binding.arrays, arguments[-len(binding.arrays) :], strict=True))
        return Counted({name: arrays[name] for name in self._nest.results}, notes[0])

    def _arguments(self, function: _Function, binding: Binding) -> list[Any]:
        """Sizes, scalars and arrays; those that the nest writes are copies."""
        sizes = [binding.sizes[size.name] for size in self._nest.sizes]
        scalars = [function.scalar(value) for value in binding.scalars.values()]
        arrays = [
            function.real(array).copy() if name in self._nest.results else function.real(array)
            for name, array in binding.arrays.items()
        ]
        return [*sizes, *scalars, *arrays]


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """While numba compiles, which walks through a function's blocks by recursion: a nest with 32
    sums by lanes has about a thousand."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


class _Function:
    """A nest's code, compiled, with ``type`` for float32."""

    def __init__(self, code: LoopCode, type: np.dtype) -> None:
        names = dict(code.names)
        exec(compile(code.source, "<nest>", "exec"), names)
        self._function: Callable[..., int] = njit(error_model="numpy", nogil=True)(names["run"])
        self._traps = code.traps
        self._notes = code.notes
        self._type = type

    def real(self, array: np.ndarray) -> np.ndarray:
        if array.dtype != np.float32 or self._type == np.float32:
            return array
        return as_float64(array)

    def scalar(self, value: np.ndarray) -> object:
        """A scalar as the function takes it: a float, or any integer as int64."""
        return self.real(value)[()] if value.dtype == np.float32 else np.int64(value)

    def run(self, *arguments: object, more: tuple[object, ...] = ()) -> list[int]:
        """Gives the notes. Raises ``WorkloadError`` for the first trap."""
        notes = np.zeros(self._notes, np.int64)
        with np.errstate(all="ignore"), _deep_recursion():
            trap = self._function(*arguments, notes, *more)
        if trap >= 0:
            trap_found = self._traps[trap]
            raise WorkloadError(f"{trap_found.place}: {trap_found.text.format(*notes)}")
        return notes.tolist()

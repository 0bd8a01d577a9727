"""What loop nests mean: the IR run on arrays, one operation after the other, as the source says.

``gnarl.sw.workloads.loops.ir.nest`` defines the meaning. The nest becomes one function
(``loop_code``). Python runs it; what takes long is compiled by numba, without any freedom for
floating point: nothing is fused or reordered.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.golden.loop_code import UNFINISHED, LoopCode, MemoryLayout
from gnarl.sw.golden.words import as_float64
from gnarl.sw.program.jit import compiled_text
from gnarl.sw.workloads.loops.ir.binding import Binding
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.ir.verify import verify

_RECURSION = 20_000

INTERPRETED_LINES = 5_000_000
"""Python runs a nest's function where its iterations times its lines are at most as many, which
takes a tenth of a second, and numba's compiler half a second."""

_ANY = 1 << 62

_LINES = 1 << 16
"""Of memory, that there is room for at first."""


@dataclass(frozen=True)
class Work:
    """``operations`` on float32, of which some are ``products``, and on ``integers`` that are no
    indices or bounds; ``lines`` int64 [n]: as ``LoopCode`` notes them, in order."""

    operations: int
    products: int
    integers: int
    lines: np.ndarray


@dataclass(frozen=True)
class Counted:
    """A counted run. ``results``: the arrays that a nest writes, by name. ``iterations`` of all its
    loops, and one for each loop that was begun."""

    results: dict[str, np.ndarray]
    iterations: int


class GoldenLoops:
    """The golden model of one nest; raises ``WorkloadError`` if it means nothing.

    Where there is much to do, it is compiled, in about a second, and kept for later processes.
    """

    def __init__(self, nest: Nest) -> None:
        verify(nest)
        self._nest = nest
        self._is_compiled = False

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
        lines = np.zeros(_LINES, np.int64)
        while True:
            (_, operations, products, integers, count, *_), _ = self._run(function, binding, lines)
            if count <= len(lines):
                return Work(operations, products, integers, lines[:count])
            lines = np.zeros(count, np.int64)

    def _counted(self, function: _Function, binding: Binding) -> Counted:
        notes, arrays = self._run(function, binding)
        return Counted({name: arrays[name] for name in self._nest.results}, notes[0])

    def _run(
        self, function: _Function, binding: Binding, *more: np.ndarray
    ) -> tuple[list[int], dict[str, np.ndarray]]:
        """The notes, and all arrays by name."""
        notes = None
        while notes is None:
            arguments = self._arguments(function, binding)
            run = function.compiled if self._is_compiled else function.interpreted
            notes = run(arguments, more)
            self._is_compiled |= notes is None
        arrays = arguments[len(arguments) - len(binding.arrays) :]
        return notes, dict(zip(binding.arrays, arrays, strict=True))

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
    """A nest's code, with ``type`` for float32. Its runs give the notes, and raise
    ``WorkloadError`` for the first trap."""

    def __init__(self, code: LoopCode, type: np.dtype) -> None:
        self._code = code
        self._type = type

    def real(self, array: np.ndarray) -> np.ndarray:
        if array.dtype != np.float32 or self._type == np.float32:
            return array
        return as_float64(array)

    def scalar(self, value: np.ndarray) -> object:
        """A scalar as the function takes it: a float, or any integer as int64."""
        return self.real(value)[()] if value.dtype == np.float32 else np.int64(value)

    def interpreted(self, arguments: Sequence[Any], more: Sequence[Any]) -> list[int] | None:
        """``None`` where that takes long; results are in part there then."""
        names: dict[str, Any] = {}
        exec(compile(self._code.source, "<nest>", "exec"), names)
        return self._run(names["run"], arguments, INTERPRETED_LINES // self._code.lines, more)

    def compiled(self, arguments: Sequence[Any], more: Sequence[Any]) -> list[int] | None:
        with _deep_recursion():
            return self._run(self._machine_code, arguments, _ANY, more)

    @cached_property
    def _machine_code(self) -> Callable[..., int]:
        return compiled_text(self._code.source, "run")

    def _run(
        self,
        function: Callable[..., int],
        arguments: Sequence[Any],
        most: int,
        more: Sequence[Any],
    ) -> list[int] | None:
        notes = np.zeros(self._code.notes, np.int64)
        with np.errstate(all="ignore"):
            status = function(*arguments, notes, most, *more)
        if status == UNFINISHED:
            return None
        if status >= 0:
            trap = self._code.traps[status]
            raise WorkloadError(f"{trap.place}: {trap.text.format(*notes)}")
        return notes.tolist()

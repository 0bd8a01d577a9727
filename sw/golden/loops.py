"""What loop nests mean: the IR run on arrays, one operation after the other, as the source says.

``sw.workloads.loops.nest`` defines the meaning. The nest becomes one function that numba compiles
(``loop_code``), without any freedom for floating point: nothing is fused or reordered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numba import njit

from hw.lib.errors import WorkloadError
from sw.golden.loop_code import NOTES, LoopCode
from sw.workloads.loops.binding import Binding
from sw.workloads.loops.nest import Nest
from sw.workloads.loops.verify import verify


class GoldenLoops:
    """The golden model of one nest; raises ``WorkloadError`` if it means nothing.

    It is compiled when it runs for the first time, in about a second.
    """

    def __init__(self, nest: Nest) -> None:
        verify(nest)
        self._nest = nest
        self._code = LoopCode(nest)

    def run(self, binding: Binding) -> dict[str, np.ndarray]:
        """The arrays that the nest writes, by name; those given are left as they are.

        Raises ``WorkloadError``, "file:line:column: …", for the first access outside an array,
        division by zero or other error of the IR.
        """
        nest = self._nest
        arrays = dict(binding.arrays)
        for name in nest.results:
            arrays[name] = arrays[name].copy()
        scalars = [_scalar(value) for value in binding.scalars.values()]
        sizes = [binding.sizes[size.name] for size in nest.sizes]
        notes = np.zeros(NOTES, np.int64)
        with np.errstate(all="ignore"):
            trap = self._function(*sizes, *scalars, *arrays.values(), notes)
        if trap >= 0:
            found = self._code.traps[trap]
            raise WorkloadError(f"{found.place}: {found.text.format(*notes)}")
        return {name: arrays[name] for name in nest.results}

    @cached_property
    def _function(self) -> Callable[..., int]:
        return njit(error_model="numpy", nogil=True)(self._python)

    @cached_property
    def _python(self) -> Callable[..., int]:
        names = dict(self._code.names)
        exec(compile(self._code.source, f"<{self._nest.name}>", "exec"), names)
        return names["run"]


def _scalar(value: np.ndarray) -> object:
    """As the function takes it: float32, or any integer as int64."""
    return value[()] if value.dtype == np.float32 else np.int64(value)

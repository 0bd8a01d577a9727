"""PolyBench's kernels with values: what gcc makes of them, and workloads."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.machine.tools import run_tool
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.nest import Expression
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.nests.polybench.nests import c_name, kernel

_SIZES = (7, 9, 11, 13, 5)
"""In the order in which a kernel has them."""

_STEPS = 3
_DOMINANT = ("cholesky", "lu", "trisolv")


def workload(name: str) -> LoopWorkload:
    """A kernel with all of its arrays: numbers about 1, so that sums are much larger than what
    rounding costs; matrices to be solved have large diagonals."""
    nest = kernel(name)
    rng = np.random.default_rng(sum(name.encode()))
    sizes = {size.name: each for size, each in zip(nest.sizes, _SIZES, strict=False)}
    sizes |= {"steps": _STEPS} if "steps" in sizes else {}

    def extent(size: Expression) -> int:
        return sizes[str(size.name)]  # type: ignore[union-attr]

    values: dict[str, np.ndarray] = {}
    for array in nest.arrays.values():
        shape = [extent(each) for each in array.shape]
        values[array.name] = rng.uniform(0.5, 1.5, shape).astype(np.float32)
    if name in _DOMINANT:
        values["a"] = values["a"] @ values["a"].T + np.diag(np.float32([sizes["n"]] * sizes["n"]))
    if name == "durbin":
        values["r"] *= np.float32(0.1)
    for scalar in nest.scalars:
        values[scalar] = np.int32(_STEPS) if scalar == "steps" else np.float32(rng.uniform(0.5, 1))
    return LoopWorkload(name, nest, values)


def compiled(folder: Path) -> ctypes.CDLL:
    """All kernels, in C's order of operations: nothing is fused."""
    library = folder / "kernels.so"
    source = Path(__file__).with_name("kernels.c")
    flags = ("-O0", "-ffp-contract=off", "-shared", "-fPIC")
    command = ["gcc", *flags, str(source), "-o", str(library), "-lm"]
    made = run_tool(command, folder, "kernels to compare with", WorkloadError)
    assert made.returncode == 0, made.stdout
    return ctypes.CDLL(str(library))


def results(library: ctypes.CDLL, given: LoopWorkload) -> dict[str, np.ndarray]:
    """What gcc's kernel leaves in the arrays that the nest writes."""
    binding = bind(given.nest, given.inputs)
    arrays = {name: array.copy() for name, array in binding.arrays.items()}
    arguments: list[object] = [ctypes.c_int(binding.sizes[each.name]) for each in given.nest.sizes]
    for parameter in given.nest.parameters:
        if parameter.name in arrays:
            arguments.append(ctypes.c_void_p(arrays[parameter.name].ctypes.data))
        else:
            value = binding.scalars[parameter.name]
            kind = ctypes.c_int if value.dtype == np.int32 else ctypes.c_float
            arguments.append(kind(value.item()))
    getattr(library, c_name(given.name))(*arguments)
    return {name: arrays[name] for name in given.nest.results}

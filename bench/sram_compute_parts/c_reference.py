"""Functions of C as gcc compiles them: results with all bits, to compare nests with."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
from pycparser import c_ast

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.machine.tools import run_tool
from gnarl.sw.workloads.loops.c.signature import declared_parameters
from gnarl.sw.workloads.loops.c.text import CText
from gnarl.sw.workloads.loops.ir.binding import Binding
from gnarl.sw.workloads.loops.ir.nest import Nest

FLAGS = ("-O0", "-ffp-contract=off", "-fsingle-precision-constant", "-fwrapv")
"""What C is taken to mean."""


def compiled(folder: Path, text: str) -> ctypes.CDLL:
    """Functions, which must not be static, of a file in a folder that may have its headers."""
    path, library = folder / "kernels.c", folder / f"kernels{abs(hash(text))}.so"
    path.write_text(text)
    command = ["gcc", *FLAGS, "-w", "-shared", "-fPIC", str(path), "-o", str(library), "-lm"]
    made = run_tool(command, folder, "kernels to compare with", WorkloadError)
    assert made.returncode == 0, made.stdout
    return ctypes.CDLL(str(library))


def results(
    library: ctypes.CDLL, text: str, nest: Nest, binding: Binding, folder: Path | None = None
) -> dict[str, np.ndarray]:
    """What gcc's function leaves in the arrays that the nest gives back."""
    arrays = {name: array.copy() for name, array in binding.arrays.items()}
    functions = [each for each in CText(text, "k.c", folder).tree.ext if _is(each, nest.name)]
    arguments: list[object] = []
    for parameter in declared_parameters(functions[0]):
        name = parameter.name
        if name in arrays:
            arguments.append(ctypes.c_void_p(arrays[name].ctypes.data))
        elif name in binding.sizes:
            arguments.append(ctypes.c_long(binding.sizes[name]))
        else:
            value = binding.scalars[name]
            kind = ctypes.c_float if value.dtype == np.float32 else ctypes.c_long
            arguments.append(kind(value.item()))
    getattr(library, nest.name)(*arguments)
    return {name: arrays[name] for name in nest.outputs}


def _is(node: c_ast.Node, name: str) -> bool:
    return isinstance(node, c_ast.FuncDef) and node.decl.name == name


def one_nan(values: np.ndarray) -> bytes:
    """The bits of elements, with one NaN for all: C does not say which one arithmetic makes."""
    found = np.array(values)
    if found.dtype.kind == "f":
        found[np.isnan(found)] = np.nan
    return found.tobytes()

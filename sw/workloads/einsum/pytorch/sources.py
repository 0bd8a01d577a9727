"""Einsum programs of what people have: PyTorch modules, and files of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.program.python_files import split_name
from gnarl.sw.workloads.einsum.pytorch.constants import CONSTANTS
from gnarl.sw.workloads.einsum.pytorch.lowering import WITH_MASKS, lower
from gnarl.sw.workloads.einsum.pytorch.model import Model
from gnarl.sw.workloads.executed_file import executed_value
from gnarl.sw.workloads.pytorch.export import export, is_module, load
from gnarl.sw.workloads.tensor.storage import TensorFormat

Formats = Mapping[str, str | TensorFormat]
"""Texts such as ``ds`` or ``dd:1,0``, by users' names of tensors: ``conv1.weight``."""


def module_program(module: Any, inputs: Any, formats: Formats | None = None) -> Model:
    """The program of a ``torch.nn.Module``, with the arguments of its ``forward``: a tuple, or a
    dictionary.

    Layouts of tensors give their formats, and ``formats`` others. Raises ``WorkloadError`` naming
    the operator and its line.
    """
    return lower(export(module, inputs, (*WITH_MASKS, *CONSTANTS)), formats or {})


def file_program(path: str | Path, formats: Formats | None = None) -> Model:
    """The program of a file of ``torch.export.save``, whose inputs are those of its export. Raises
    ``WorkloadError``."""
    return lower(load(path), formats or {})


def function_program(source: str, formats: Formats | None = None) -> Model:
    """The program of ``FILE.py:NAME``: a function without parameters that returns a module and the
    arguments of its ``forward``, or such a pair. The file is executed. Raises ``WorkloadError``."""
    file, name = split_name(source)
    if not name:
        raise WorkloadError(f"{source}: must be FILE.py:NAME, of a function that gives a module")
    value = executed_value(Path(file), name)
    if value is None:
        raise WorkloadError(f"{file}: defines no {name}: must define a function of that name")
    if not (isinstance(value, tuple) and len(value) == 2 and is_module(value[0])):
        raise WorkloadError(
            f"{file}: {name} gives {type(value).__name__}: must give a tuple of a module and the "
            "arguments of its forward"
        )
    return module_program(*value, formats)

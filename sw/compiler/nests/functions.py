"""A module's function, whose arguments are the arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue

ModulePass = Callable[[ModuleOp], ModuleOp]

NAMES = "names"
"""The attribute of a function that has the names of its arguments, with commas between them."""


def function_of(module: ModuleOp) -> func.FuncOp:
    (found,) = (each for each in module.body.block.ops if isinstance(each, func.FuncOp))
    return found


def arrays_of(function: func.FuncOp) -> dict[SSAValue, str]:
    """Names of the arguments, in their order."""
    names = function.attributes[NAMES]
    assert isinstance(names, StringAttr)
    return dict(zip(function.body.block.args, names.data.split(","), strict=True))


def set_names(function: func.FuncOp, names: Iterable[str]) -> None:
    function.attributes[NAMES] = StringAttr(",".join(names))

"""Passes on MLIR text of any level."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr

from hw.lib.errors import WorkloadError
from hw.tmu.config import TmuConfig
from sw.compiler.tmu.dialects.dlc import AccessOp
from sw.compiler.tmu.dialects.slc import LOOPS
from sw.compiler.tmu.pipeline import LEVELS, pipeline
from sw.compiler.tmu.text import from_text, to_text

_TAKES_SCF = ("select", "hoist", "decouple")


def optimise(
    text: str, file: str, passes: Sequence[str], config: TmuConfig, zeros: Collection[str] = ()
) -> str:
    """The text of a module, called ``file`` in messages, behind ``passes`` in their order.

    ``zeros``: arrays that are 0 before the run. Raises ``WorkloadError`` for text that is no module
    of one function with the attribute ``names``, for an unknown pass, and where a pass takes
    another level.
    """
    known = pipeline(config, zeros, max(LEVELS))
    for name in passes:
        if name not in known:
            raise WorkloadError(f"pass {name}: must be one of {', '.join(known)}")
    module = from_text(text, file)
    _check(module, file)
    for name in passes:
        level, taken = _level(module), "SCF" if name in _TAKES_SCF else "SLC"
        if level != taken:
            raise WorkloadError(f"{file}: pass {name} takes {taken}: the module is {level}")
        module = known[name](module)
    return to_text(module)


def _check(module: ModuleOp, file: str) -> None:
    functions = [each for each in module.body.block.ops if isinstance(each, func.FuncOp)]
    names = functions[0].attributes.get("names") if functions else None
    if len(functions) != 1 or not isinstance(names, StringAttr):
        raise WorkloadError(
            f'{file}: must have one func.func, whose attribute names = "a,b" has the names of its '
            "arguments"
        )
    arguments = functions[0].body.block.args
    if len(names.data.split(",")) != len(arguments):
        raise WorkloadError(f"{file}: names = {names.data!r}: must be {len(arguments)} names")


def _level(module: ModuleOp) -> str:
    """SCF, SLC (SLCV with it), or DLC."""
    if any(isinstance(each, AccessOp) for each in module.body.block.ops):
        return "DLC"
    return "SLC" if any(isinstance(each, LOOPS) for each in module.walk()) else "SCF"

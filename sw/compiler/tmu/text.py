"""Modules of any level as MLIR's text, and back."""

from __future__ import annotations

from xdsl.dialects import arith, builtin, func, math, memref, scf, vector
from xdsl.dialects.builtin import DictionaryAttr, IntAttr, ModuleOp
from xdsl.ir import Operation

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.nests.dialects.fiber import FIBER
from gnarl.sw.compiler.nests.dialects.flat import FLAT
from gnarl.sw.compiler.nests.dialects.slc import LOOPS, SLC, ForOp
from gnarl.sw.compiler.nests.values import constant_of
from gnarl.sw.compiler.tmu.dialects.dlc import DLC, AccessOp, LayerOp
from gnarl.sw.workloads.mlir_text import parse_module, to_text

__all__ = ["from_text", "level_of", "to_text"]

DIALECTS = (
    builtin.Builtin,
    arith.Arith,
    func.Func,
    math.Math,
    memref.MemRef,
    scf.Scf,
    vector.Vector,
    FIBER,
    SLC,
    DLC,
    FLAT,
)


def from_text(text: str, file: str = "<text>") -> ModuleOp:
    """The module, verified. O(size of the text).

    ``file``: the name for messages. Raises ``WorkloadError`` for what is no module of these levels,
    and for a loop whose step is not known to be above 0, or whose iterations hand on values.
    """
    module, places = parse_module(text, file, DIALECTS)
    for operation in module.walk():
        wrong = _wrong_loop(operation)
        if wrong:
            raise WorkloadError(f"{places[operation]}: {operation.name}: {wrong}")
    return module


def _wrong_loop(operation: Operation) -> str:
    """What is wrong with a loop: iterations that hand on values, which no pass makes, or a step
    with which they would have no end or go down."""
    steps: list[int | None] = []
    match operation:
        case scf.ForOp() if operation.iter_args:
            return "its iterations hand on values: must be none"
        case scf.ForOp():
            steps = [constant_of(operation.step)]
        case ForOp():
            steps = [operation.step.value.data]
            steps += [operation.vector.value.data] if operation.vector is not None else []
        case LayerOp():
            units = [each.data for each in operation.units if isinstance(each, DictionaryAttr)]
            strides = [each["stride"] for each in units if "stride" in each]
            steps = [each.data for each in strides if isinstance(each, IntAttr)]
    for step in steps:
        if step is None:
            return "its step is no constant: must be one above 0"
        if step <= 0:
            return f"a step of {step}: must be above 0"
    return ""


def level_of(module: ModuleOp) -> str:
    """SCF, SLC (SLCV with it), or DLC."""
    if any(isinstance(each, AccessOp) for each in module.body.block.ops):
        return "DLC"
    return "SLC" if any(isinstance(each, LOOPS) for each in module.walk()) else "SCF"

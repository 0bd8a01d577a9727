"""Modules of any level as MLIR's text, and back."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, memref, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from hw.lib.errors import WorkloadError, damaged_as, one_line
from sw.compiler.tmu.dialects.dlc import DLC, AccessOp
from sw.compiler.tmu.dialects.fiber import FIBER
from sw.compiler.tmu.dialects.flat import FLAT
from sw.compiler.tmu.dialects.slc import LOOPS, SLC

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


def to_text(module: ModuleOp) -> str:
    """Ends in a newline; ``from_text`` reads it back. O(operations)."""
    return f"{module!s}\n"


def from_text(text: str, file: str = "<text>") -> ModuleOp:
    """The module, verified. O(size of the text).

    ``file``: the name for messages. Raises ``WorkloadError`` for what is no module of these levels.
    """
    context = Context()
    for dialect in DIALECTS:
        context.load_dialect(dialect)
    with damaged_as(WorkloadError, file):
        try:
            module = Parser(context, text, file).parse_module()
            module.verify()
        except ParseError as error:
            raise WorkloadError(f"{error.span.get_location()}: {error.msg}") from error
        except VerifyException as error:
            raise WorkloadError(f"{file}: {one_line(error)}") from error
    _check_order(module, file)
    return module


def level_of(module: ModuleOp) -> str:
    """SCF, SLC (SLCV with it), or DLC."""
    if any(isinstance(each, AccessOp) for each in module.body.block.ops):
        return "DLC"
    return "SLC" if any(isinstance(each, LOOPS) for each in module.walk()) else "SCF"


def _check_order(module: ModuleOp, file: str) -> None:
    """What xDSL's verifier leaves out: that values are there before they are used."""
    known: set[SSAValue] = set()
    for operation in module.walk():
        for number, operand in enumerate(operation.operands):
            if isinstance(operand.owner, Operation) and operand not in known:
                raise WorkloadError(
                    f"{file}: {operation.name}: operand {number} is defined behind its use"
                )
        known.update(operation.results)

"""Modules of any level as MLIR's text, and back."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, memref, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from hw.lib.errors import WorkloadError
from sw.compiler.tmu.dialects.dlc import DLC
from sw.compiler.tmu.dialects.flat import FLAT
from sw.compiler.tmu.dialects.slc import SLC

DIALECTS = (
    builtin.Builtin,
    arith.Arith,
    func.Func,
    math.Math,
    memref.MemRef,
    scf.Scf,
    vector.Vector,
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
    try:
        module = Parser(context, text, file).parse_module()
        module.verify()
    except ParseError as error:
        raise WorkloadError(f"{error.span.get_location()}: {error.msg}") from error
    except VerifyException as error:
        raise WorkloadError(f"{file}: {error}") from error
    return module

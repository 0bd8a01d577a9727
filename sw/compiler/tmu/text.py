"""Modules of any level as MLIR's text, and back."""

from __future__ import annotations

import re

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, memref, scf, vector
from xdsl.dialects.builtin import DictionaryAttr, IntAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Location

from gnarl.hw.lib.errors import WorkloadError, damaged_as, one_line
from gnarl.sw.compiler.nests.dialects.fiber import FIBER
from gnarl.sw.compiler.nests.dialects.flat import FLAT
from gnarl.sw.compiler.nests.dialects.slc import LOOPS, SLC, ForOp
from gnarl.sw.compiler.nests.values import constant_of
from gnarl.sw.compiler.tmu.dialects.dlc import DLC, AccessOp, LayerOp

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

_STRING = re.compile(r'//[^\n]*|"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"?')
"""A comment or string: one without its second quote has something that no string may have."""


def to_text(module: ModuleOp) -> str:
    """Ends in a newline; ``from_text`` reads it back. O(operations)."""
    return f"{module!s}\n"


def from_text(text: str, file: str = "<text>") -> ModuleOp:
    """The module, verified. O(size of the text).

    ``file``: the name for messages. Raises ``WorkloadError`` for what is no module of these levels,
    and for a loop whose step is not known to be above 0, or whose iterations hand on values.
    """
    _check_strings(text, file)
    context = Context()
    for dialect in DIALECTS:
        context.load_dialect(dialect)
    parser = _Parser(context, text, file)
    with damaged_as(WorkloadError, file):
        try:
            module = parser.parse_module()
            module.verify()
        except ParseError as error:
            raise WorkloadError(f"{error.span.get_location()}: {error.msg}") from error
        except VerifyException as error:
            raise WorkloadError(f"{file}: {one_line(error)}") from error
    _check_order(module, file)
    for operation in module.walk():
        wrong = _wrong_loop(operation)
        if wrong:
            raise WorkloadError(f"{parser.places[operation]}: {operation.name}: {wrong}")
    return module


class _Parser(Parser):
    """A parser that knows locations. ``places``: where in the text operations begin."""

    def __init__(self, context: Context, text: str, file: str) -> None:
        super().__init__(context, text, file)
        self.places: dict[Operation, Location] = {}

    def parse_operation(self) -> Operation:
        span = self._current_token.span
        operation = super().parse_operation()
        self.places[operation] = span.get_location()
        return operation


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


def _check_strings(text: str, file: str) -> None:
    """xDSL's lexer takes exponential time for a string that does not end. O(size of the text)."""
    for matched in _STRING.finditer(text):
        if matched[0] == '"' or not matched[0].endswith('"') and not matched[0].startswith("//"):
            line = text.count("\n", 0, matched.end()) + 1
            column = matched.end() - text.rfind("\n", 0, matched.end())
            raise WorkloadError(
                f"{file}:{line}:{column}: a string must end in its line, and have no escapes but "
                '\\n, \\t, \\", \\\\ and two hexadecimal digits'
            )


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

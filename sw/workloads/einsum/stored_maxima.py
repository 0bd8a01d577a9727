"""What maxima of what is stored alone may be of.

Such a maximum depends on where its part is, and not on numbers alone; but graphs visit coordinates
where nothing is, and tensors that are computed are stored with zeros where they are dense. So its
part must be a product whose factors say where they are: tensors that are not computed, and what is
at every coordinate, as ``x(i,j)+0``.
"""

from __future__ import annotations

from gnarl.sw.workloads.einsum.program import (
    Einsum,
    EinsumExpression,
    EinsumProgram,
    reductions,
)
from gnarl.sw.workloads.tensor.columns import fail
from gnarl.sw.workloads.tensor.expression import (
    GREATEST,
    ZERO_AT_ZERO,
    Access,
    Call,
    Constant,
    Reduction,
)


def check_stored_maxima(program: EinsumProgram, statement: Einsum) -> None:
    """Raises ``NotationError`` naming the column of a maximum of what is stored alone, unless it is
    known where its part is."""
    for each in reductions(statement.expression):
        if each.op == GREATEST and not _is_known(program, each.part):
            fail(
                each.column,
                f"{GREATEST} is of what may be stored with zeros elsewhere: must be of a product "
                f"of inputs and of what is everywhere, as {GREATEST}[j](B(i,j)*(x(i,j)+0))",
            )


def _is_known(program: EinsumProgram, part: EinsumExpression) -> bool:
    match part:
        case Access(tensor):
            return program.einsum(tensor) is None
        case Call("mul", arguments):
            return all(_is_known(program, each) for each in arguments)
    return is_everywhere(part)


def is_everywhere(part: EinsumExpression) -> bool:
    """Whether a part is at every coordinate, wherever tensors are."""
    match part:
        case Constant():
            return True
        case Call("mul", arguments):
            return all(map(is_everywhere, arguments))
        case Call("div", (dividend, _)):
            return is_everywhere(dividend)
        case Call(function, (argument,)):
            return function not in ZERO_AT_ZERO or is_everywhere(argument)
        case Call(_, arguments):
            return any(map(is_everywhere, arguments))
        case Reduction(part=inner):
            return is_everywhere(inner)
    return False

"""What maxima of what is stored alone may be of.

Such a maximum depends on where its part is, and not on numbers alone; but graphs visit coordinates
where nothing is, and tensors are stored with zeros where they are dense. So its part must be a
product whose factors say where they are: tensors that are not computed and whose innermost level is
not dense, and what is at every coordinate, as ``x(i,j)+0``.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnarl.hw.sam.block_types import DENSE
from gnarl.sw.workloads.einsum.places import located
from gnarl.sw.workloads.einsum.program import (
    Einsum,
    EinsumExpression,
    EinsumProgram,
    reductions,
)
from gnarl.sw.workloads.einsum.rearrangement import Concat, Rearrangement, Reshape, Slice
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


def check_where_stored(program: EinsumProgram) -> None:
    """Raises ``WorkloadError`` naming the first tensor of which such a maximum is taken and that is
    stored with zeros where it has no entry."""
    for statement in program.einsums:
        taken = [
            access
            for each in reductions(statement.expression)
            if each.op == GREATEST
            for access in _known_factors(each.part)
        ]
        with located(statement.name, statement.place):
            for access in taken:
                _require_entries_alone(program, access, access.tensor)


def _known_factors(part: EinsumExpression) -> Iterator[Access]:
    """Tensors that say where a part is."""
    match part:
        case Access():
            yield part
        case Call("mul", arguments):
            for each in arguments:
                yield from _known_factors(each)


def _require_entries_alone(program: EinsumProgram, access: Access, tensor: str) -> None:
    """Requires of a tensor that it has entries alone, and that so have those of whose elements the
    host makes it."""
    made = program[tensor] if tensor in program else None
    how = made.how if isinstance(made, Rearrangement) else None
    is_moved = isinstance(how, Reshape | Concat | Slice)
    format = program.formats.get(tensor)
    if format is None:
        is_exact = made is not None and not is_moved
    else:
        is_exact = format.levels[-1:] != (DENSE,)
    if not is_exact:
        fail(
            access.column,
            f"{GREATEST} is of {access}, and {tensor} may be stored with zeros where it has no "
            f"entry: must have a format whose last level is not dense, or be ({access}+0), which "
            "is everywhere",
        )
    if made is not None and is_moved:
        for operand in made.operands:
            _require_entries_alone(program, access, operand.tensor)


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

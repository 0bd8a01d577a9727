"""What must be true of Einsum programs, wherever they come from."""

from __future__ import annotations

from collections.abc import Collection

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.explicit import refuse_unreduced
from gnarl.sw.workloads.einsum.places import located
from gnarl.sw.workloads.einsum.program import (
    AnyStatement,
    Einsum,
    EinsumExpression,
    EinsumProgram,
    free_indices,
)
from gnarl.sw.workloads.einsum.rearranged_check import check_inputs_of_hosts, check_rearrangement
from gnarl.sw.workloads.einsum.rearrangement import Rearrangement
from gnarl.sw.workloads.einsum.stored_maxima import check_stored_maxima, check_where_stored
from gnarl.sw.workloads.tensor.columns import counted, fail
from gnarl.sw.workloads.tensor.expression import Access, Call, Reduction
from gnarl.sw.workloads.tensor.names import check_names


def check(program: EinsumProgram) -> EinsumProgram:
    """The program, whose statements can be computed one after the other.

    Raises ``WorkloadError`` naming the statement and the column or place: a tensor that is computed
    twice, or used before; names that contradict each other; an index that is neither the result's
    nor reduced, or reduced where it is not; a maximum of what is stored alone, of what may be
    stored elsewhere; a loop order without one of them; elements that are moved without saying where
    to; a result that is not computed; a format that is missing or of another order; a shape of what
    is not computed, or of another order.
    """
    orders = check_statements(program)
    _check_results(program)
    _check_formats(program, orders)
    check_where_stored(program)
    _check_shapes(program, orders)
    return program


def check_statements(program: EinsumProgram) -> dict[str, int]:
    """Checks what ``check`` does, without results and formats; the number of every tensor's
    indices."""
    first: dict[str, tuple[Access, str]] = {}
    computed = set[str]()
    for statement in program.statements:
        with located(statement.name, statement.place):
            if statement.name in computed:
                fail(statement.result.column, f"tensor {statement.name} is computed already")
            _check_statement(program, statement)
            for access in statement.operands:
                if access.tensor in program and access.tensor not in computed:
                    fail(access.column, f"tensor {access.tensor} is used before it is computed")
            for access in (statement.result, *statement.operands):
                _check_order(access, *first.setdefault(access.tensor, (access, statement.name)))
        computed.add(statement.name)
    check_inputs_of_hosts(program.statements)
    return {name: len(access.indices) for name, (access, _) in first.items()}


def _check_statement(program: EinsumProgram, statement: AnyStatement) -> None:
    if isinstance(statement, Rearrangement):
        check_rearrangement(statement)
    else:
        _check_einsum(statement)
        check_stored_maxima(program, statement)


def _check_einsum(statement: Einsum) -> None:
    result = statement.result
    check_names(result, statement.operands)
    _check_reductions(statement.expression, result, ())
    refuse_unreduced(result, statement.expression)
    if statement.order and sorted(statement.order) != sorted(statement.indices):
        fail(
            result.column,
            f"loop order {', '.join(statement.order)} must name each of "
            f"{', '.join(statement.indices)} once",
        )


def _check_reductions(
    expression: EinsumExpression, result: Access, around: Collection[str]
) -> None:
    match expression:
        case Call(_, arguments):
            for part in arguments:
                _check_reductions(part, result, around)
        case Reduction(_, indices, part, column):
            inside = free_indices(part)
            for place, index in enumerate(indices):
                if index in result.indices:
                    fail(column, f"index {index} is one of {result}; a reduction is over another")
                if index in around or index in indices[:place]:
                    fail(column, f"index {index} is reduced already")
                if index not in inside:
                    fail(column, f"index {index} is not in what is reduced")
            _check_reductions(part, result, (*around, *indices))


def _check_order(access: Access, known: Access, statement: str) -> None:
    if len(access.indices) != len(known.indices):
        fail(
            access.column,
            f"tensor {access.tensor} has {counted(len(access.indices), 'index', 'indices')} here "
            f"and {len(known.indices)} in statement {statement}; a tensor has one order",
        )


def _check_results(program: EinsumProgram) -> None:
    if not program.results:
        raise WorkloadError("program: must have a result")
    for place, name in enumerate(program.results):
        if name not in program:
            raise WorkloadError(f"program: result {name} is not computed")
        if name in program.results[:place]:
            raise WorkloadError(f"program: result {name} is there twice")


def _check_formats(program: EinsumProgram, orders: dict[str, int]) -> None:
    for name, format in program.formats.items():
        if name not in orders:
            raise WorkloadError(f"program: format of {name}: there is no such tensor")
        if format.order != orders[name]:
            raise WorkloadError(
                f"program: format of {name}: has {counted(format.order, 'level')} and must have "
                f"{orders[name]}"
            )
    for name in (*program.inputs, *program.results):
        if name not in program.formats:
            raise WorkloadError(f"program: tensor {name} must have a format")


def _check_shapes(program: EinsumProgram, orders: dict[str, int]) -> None:
    for name, shape in program.shapes.items():
        if program.einsum(name) is None:
            raise WorkloadError(f"program: shape of {name}: no statement computes it")
        if len(shape) != orders[name]:
            raise WorkloadError(
                f"program: shape of {name}: has {counted(len(shape), 'size')} and must have "
                f"{orders[name]}"
            )

"""Recognises expressions that the templates compute: sums of rows of tables, and sampled products.

``X(i,j)=B(i,k)*C(k,j)`` looks up the rows k of the table C that row i of B names, weighted by its
entries, and pools them: an embedding bag for each i. A sum of such products is one bag, of rows of
all its tables. ``X(i,j)=B(i,j)*C(i,k)*D(j,k)`` is a product of rows of two tables for each entry
of B. What a tensor's indices are called, and in which order it has them, does not matter: how it is
stored does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.tensor.expression import (
    Access,
    Call,
    Constant,
    Expression,
    Statement,
    stored_indices,
    terms,
)
from gnarl.sw.workloads.tensor.storage import LEVEL_FORMATS, TensorFormat

_FORMS = "must be a sum of products B(i,k)*C(k,j) or B(i,k)*c(k), or one B(i,j)*C(i,k)*D(j,k)"
_SIGNS = {"sub": "-", "neg": "-"}

_SPARSE = ("ds", "ss")


@dataclass(frozen=True)
class PooledTerm:
    """``B(i,k)*C(k,j)``: rows k of ``table``, weighted by the entries of ``matrix``."""

    matrix: Access
    table: Access


@dataclass(frozen=True)
class PooledSum:
    """The sum of all terms, for each row of the matrices."""

    terms: tuple[PooledTerm, ...]

    @property
    def tables(self) -> tuple[Access, ...]:
        """Each table once, in order of appearance."""
        found: dict[str, Access] = {}
        for term in self.terms:
            found.setdefault(term.table.tensor, term.table)
        return tuple(found.values())

    @property
    def sized(self) -> tuple[str, ...]:
        """Indices whose sizes a kernel is made for: all of the tables'."""
        indices = (index for term in self.terms for index in term.table.indices)
        return tuple(dict.fromkeys(indices))


@dataclass(frozen=True)
class SampledProduct:
    """``samples(i,j) * left(i,k) * right(j,k)``, summed over k."""

    samples: Access
    left: Access
    right: Access

    @property
    def sized(self) -> tuple[str, ...]:
        """Indices whose sizes a kernel is made for: the one that is summed over."""
        return tuple(index for index in self.left.indices if index in self.right.indices)


Pattern = PooledSum | SampledProduct


def match(statement: Statement) -> Pattern:
    """What computes the statement. Raises ``WorkloadError`` naming what no template has."""
    for index, lanes in statement.lanes:
        raise WorkloadError(
            f"expression: parallelize({index},{lanes}): not supported by "
            "target cuda, whose grids deal rows to blocks: must be left out"
        )
    products = [list(_factors(term)) for term in terms(statement.expression)]
    if len(products) == 1 and len(products[0]) == 3:
        return _sampled_product(statement, products[0])
    return PooledSum(tuple(_pooled_term(statement, factors) for factors in products))


def _pooled_term(statement: Statement, factors: Sequence[Access]) -> PooledTerm:
    result = statement.result
    if len(factors) != 2:
        _refuse(factors[0], f"term {'*'.join(map(str, factors))}", _FORMS)
    if len(result.indices) not in (1, 2):
        _refuse(result, f"a result of {len(result.indices)} dimensions", _FORMS)
    row, *columns = stored_indices(result, statement.formats[result.tensor])
    with_row = [factor for factor in factors if row in factor.indices]
    if len(with_row) != 1:
        _refuse(factors[0], f"{factors[0]}*{factors[1]} for {result}", _FORMS)
    (matrix,) = with_row
    table = factors[0] if matrix is factors[1] else factors[1]
    inner = [index for index in matrix.indices if index != row]
    if len(inner) != 1 or set(table.indices) != {*inner, *columns} or inner[0] in columns:
        _refuse(factors[0], f"{matrix}*{table} for {result}", _FORMS)
    _require_format(statement, result, (row, *columns), None, "dense rows")
    _require_format(statement, matrix, (row, *inner), _SPARSE, "rows of entries")
    _require_format(statement, table, (*inner, *columns), None, "dense rows")
    if statement.order[0] != row:
        _refuse_order(statement, f"begin with {row}")
    return PooledTerm(matrix, table)


def _sampled_product(statement: Statement, factors: Sequence[Access]) -> SampledProduct:
    result = statement.result
    sampling = [factor for factor in factors if set(factor.indices) == set(result.indices)]
    if len(result.indices) != 2 or len(sampling) != 1:
        _refuse(factors[0], f"{'*'.join(map(str, factors))} for {result}", _FORMS)
    (samples,) = sampling
    row, column = stored_indices(result, statement.formats[result.tensor])
    left, right = (factor for factor in factors if factor is not samples)
    if row not in left.indices:
        left, right = right, left
    inner = [index for index in left.indices if index != row]
    if len(inner) != 1 or column in inner or set(right.indices) != {column, *inner}:
        _refuse(left, f"{left}*{right} sampled by {samples}", _FORMS)
    _require_format(statement, samples, (row, column), _SPARSE, "rows of entries")
    levels = statement.formats[samples.tensor].letters
    _require_format(statement, result, (row, column), (levels,), f"the entries of {samples.tensor}")
    for access, outer in ((left, row), (right, column)):
        _require_format(statement, access, (outer, *inner), None, "dense rows")
    if statement.order != (row, column, *inner):
        _refuse_order(statement, f"be {','.join((row, column, *inner))}")
    return SampledProduct(samples, left, right)


def _require_format(
    statement: Statement,
    access: Access,
    indices: tuple[str, ...],
    levels: tuple[str, ...] | None,
    what: str,
) -> None:
    """Raises where a tensor is not stored by ``indices``, outermost first, in one of ``levels``;
    ``None``: densely."""
    levels = levels or ("d" * len(indices),)
    format = statement.formats[access.tensor]
    modes = tuple(access.indices.index(index) for index in indices)
    if format.modes == modes and format.letters in levels:
        return
    wanted = " or ".join(
        TensorFormat(tuple(LEVEL_FORMATS[letter] for letter in letters), modes).option(
            access.tensor
        )
        for letters in levels
    )
    _refuse(
        access,
        f"{access} in format {format}",
        f"must be {what}, {indices[0]} outermost: {wanted}",
    )


def _factors(expression: Expression) -> Iterator[Access]:
    """The parts of nested products."""
    match expression:
        case Access():
            yield expression
        case Constant():
            _refuse_part(f"the number {expression.tensor}")
        case Call("mul", arguments):
            for part in arguments:
                yield from _factors(part)
        case Call("add"):
            _refuse_part("a product of a sum")
        case Call(function):
            _refuse_part(f"operator {_SIGNS.get(function, function)}")


def _refuse_part(what: str) -> NoReturn:
    raise WorkloadError(f"expression: {what}: not supported by target cuda: {_FORMS}")


def _refuse_order(statement: Statement, right: str) -> NoReturn:
    order = ",".join(statement.order)
    raise WorkloadError(
        f"expression: loop order {order}: not supported by target cuda: must {right}"
    )


def _refuse(access: Access, what: str, right: str) -> NoReturn:
    raise WorkloadError(
        f"expression, column {access.column}: {what}: not supported by target cuda: {right}"
    )

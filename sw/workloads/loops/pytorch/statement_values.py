"""Pure Einsum statements as values of a nest: expressions, and loops that store reductions."""

from __future__ import annotations

from collections.abc import Mapping

from gnarl.sw.workloads.einsum.program import Einsum, EinsumExpression
from gnarl.sw.workloads.einsum.pure import is_elementwise, read_accesses
from gnarl.sw.workloads.einsum.pytorch.inputs import dense
from gnarl.sw.workloads.loops.element_functions import element, number
from gnarl.sw.workloads.loops.expressions.destination import Destination, Indices
from gnarl.sw.workloads.loops.expressions.program_arrays import Layout, layout
from gnarl.sw.workloads.loops.expressions.statement_loops import Sizes
from gnarl.sw.workloads.loops.expressions.statement_lowering import Inside, StatementLowering
from gnarl.sw.workloads.loops.ir.nest import Constant, Expression, Load, Statement
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, ScalarType
from gnarl.sw.workloads.loops.pytorch.parameters import Parameters
from gnarl.sw.workloads.loops.pytorch.sparse_matrix import SparseMatrix
from gnarl.sw.workloads.loops.pytorch.values import (
    Parts,
    Pooled,
    Stepwise,
    Value,
    View,
    cast,
    integer,
    refuse,
)
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.tensor.expression import Access
from gnarl.sw.workloads.tensor.storage import TensorFormat


class StatementValues:
    """``by_name``: what tensors of statements are. ``type``: of what is computed."""

    def __init__(self, parameters: Parameters, place: Location, type: ScalarType) -> None:
        self._parameters, self.place, self._type = parameters, place, type
        self.by_name: dict[str, Value | SparseMatrix] = {}

    def format_of(self, name: str) -> TensorFormat:
        value = self.by_name[name]
        return value.format if isinstance(value, SparseMatrix) else dense(len(value.shape))

    def add(self, statement: Einsum, sizes: Sizes, is_taken_again: bool) -> None:
        """Adds what a statement computes, stored where several take it. ``sizes``: of its
        indices."""
        value = self._value(statement, sizes)
        if is_taken_again and isinstance(value, Stepwise):
            value = self._parameters.plain(value, self.place)
        self.by_name[statement.name] = value

    def _value(self, statement: Einsum, sizes: Sizes) -> Value:
        self._require_functions(statement.expression)
        shape = tuple(sizes[index] for index in statement.result.indices)
        is_dense = all(self.layouts[each.tensor].is_dense for each in statement.operands)
        if is_dense and is_elementwise(statement, sizes):
            return self._elementwise(statement, shape)
        self._store_operands(statement, sizes)
        own = StatementLowering(statement, sizes, self, self._parameters.variable, self.place)
        if is_elementwise(statement, sizes):
            return Pooled(shape, 0, lambda to, outer: tuple(own.stored(to)), self.place)

        def body(to: Destination, outer: Indices) -> tuple[Statement, ...]:
            known = dict(zip(statement.result.indices, outer, strict=False))
            return tuple(own.reduced(to, Inside({**own.outside.indices, **known}, {})))

        return Pooled(shape, own.outer_dimensions, body, self.place)

    def _require_functions(self, expression: EinsumExpression) -> None:
        zero = number(0, self._type, self.place)
        element(expression, lambda access: zero, self.place, self._type)

    def _elementwise(self, statement: Einsum, shape: tuple[int, ...]) -> Value:
        """An expression of its operands' elements, or what becomes of those of one of them that is
        not stored yet: the last one that is taken once, as it is."""
        expression, place, type = statement.expression, self.place, self._type
        names = statement.result.indices
        chosen = self._chosen(statement)
        views = {
            each.tensor: self._plain(each.tensor)
            for each in statement.operands
            if each.tensor != chosen
        }

        def value(indices: Indices, own: Expression | None = None) -> Expression:
            at = dict(zip(names, indices, strict=True))

            def leaf(access: Access) -> Expression:
                if own is not None and access.tensor == chosen:
                    return cast(own, type, place)
                zero = integer(0, place)
                of = [at.get(index, zero) for index in access.indices]
                return cast(views[access.tensor].at(of), type, place)

            return element(expression, leaf, place, type)

        if not chosen:
            return View(shape, type, value)
        stepwise = self.by_name[chosen]
        if isinstance(stepwise, Pooled):
            return stepwise.then(value)
        assert isinstance(stepwise, Parts)
        return stepwise.then(value, type)

    def _chosen(self, statement: Einsum) -> str:
        accesses = [*read_accesses(statement.expression)]
        for each in reversed(accesses):
            is_once = [other.tensor for other in accesses].count(each.tensor) == 1
            is_whole = each.indices == statement.result.indices
            if isinstance(self.by_name[each.tensor], Stepwise) and is_once and is_whole:
                return each.tensor
        return ""

    def _store_operands(self, statement: Einsum, sizes: Sizes) -> None:
        """Stores operands that loops would compute more than once."""
        indices = {index for index in statement.indices if sizes[index] != 1}
        for each in statement.operands:
            value = self.by_name[each.tensor]
            if isinstance(value, SparseMatrix):
                continue
            if value.type != FLOAT32:
                refuse(self.place, f"of {value.type}: must be of float32")
            view = self._plain(each.tensor)
            if not indices <= {*each.indices} and self._is_computed(view):
                view = self._parameters.in_array(view, self.place)
            self.by_name[each.tensor] = view

    def _is_computed(self, view: View) -> bool:
        """Whether elements are more than loads."""
        first = view.at([integer(0, self.place) for _ in view.shape])
        return not isinstance(first, Load | Constant)

    def _plain(self, name: str) -> View:
        return self._parameters.plain(self.by_name[name], self.place)

    # Operands, as ``StatementLowering`` takes them.

    @property
    def layouts(self) -> Mapping[str, Layout]:
        return {
            name: value.layout if isinstance(value, SparseMatrix) else layout(name, None)
            for name, value in self.by_name.items()
        }

    def element(self, tensor: str, indices: Indices, place: Location) -> Expression:
        return self._plain(tensor).at(indices)

    def stored(self, array: str, position: Expression, place: Location) -> Expression:
        for value in self.by_name.values():
            if isinstance(value, SparseMatrix) and array in value.arrays:
                return value.arrays[array].at([position])
        raise AssertionError(f"{array}: no array of an operand")

    def entries(self, tensor: str) -> int:
        value = self.by_name[tensor]
        assert isinstance(value, SparseMatrix)
        return value.arrays[value.layout.values].shape[0]

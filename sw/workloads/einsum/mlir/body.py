"""Bodies of structured operations as expressions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, StringAttr
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from gnarl.sw.workloads.einsum.mlir.functions import OPERATIONS, meanings
from gnarl.sw.workloads.einsum.program import EinsumExpression
from gnarl.sw.workloads.einsum.rearrangement import How
from gnarl.sw.workloads.tensor.expression import GREATEST, Access, Call, Constant, Reduction
from gnarl.sw.workloads.tensor.expression_parser import MAX_OPERANDS


class Unsupported(Exception):
    """What is wrong with an operation that the reader is at."""


@dataclass(frozen=True)
class Named:
    """A tensor with a name, or a scalar."""

    name: str


@dataclass(frozen=True)
class Part:
    """A part of a statement, at the indices of its dimensions."""

    expression: EinsumExpression
    indices: tuple[str, ...]


@dataclass(frozen=True)
class Filled:
    """A tensor full of a number; ``None``: of anything."""

    number: float | None


@dataclass(frozen=True)
class Moved:
    """Elements of tensors that are moved, with an index for each dimension."""

    how: How
    operands: tuple[Access, ...]
    dims: tuple[str, ...]


Value: TypeAlias = "Named | Part | Filled | Moved | Constant"
"""What a value outside of bodies stands for."""

_Loop = TypeVar("_Loop")

_STARTS = {"sum": 0.0, "max": -math.inf, GREATEST: -math.inf}
"""What reductions begin with."""
_TOO_LONG = f"its expression has more than {MAX_OPERANDS} operands"
_REDUCES = "a reduction must yield arith.addf or arith.maximumf of its output"


def statement_expression(
    operation: LinalgStructuredOperation, loops: Sequence[str], known: Mapping[SSAValue, Value]
) -> tuple[EinsumExpression, tuple[str, ...]]:
    """What an operation of one output computes, and the indices of its dimensions.

    Raises ``Unsupported``.
    """
    maps = [loops_of(each.data, loops) for each in operation.get_indexing_maps()]
    kept = maps[-1]
    reduced = tuple(index for index in loops if index not in kept)
    kinds = dict(zip(loops, operation.get_iterator_types(), strict=True))
    for index, kind in kinds.items():
        wanted = IteratorType.REDUCTION if index in reduced else IteratorType.PARALLEL
        if kind.data != wanted:
            raise Unsupported(f"loop {index} must be {wanted}, as the output's map has it")
    body = _Body(operation, known)
    for argument, value, indices in zip(
        operation.body.block.args, operation.operands, maps, strict=True
    ):
        body.define(argument, known.get(value), indices)
    return body.reduction(reduced) if reduced else body.result(), kept


def number_of(constant: arith.ConstantOp) -> float | None:
    """The number of a constant; ``None`` for those that are no real number."""
    match constant.value:
        case FloatAttr(value=value):
            return float(value.data)
    return None


def loops_of(map: AffineMap, loops: Sequence[_Loop]) -> tuple[_Loop, ...]:
    """The loop of each dimension. Raises ``Unsupported`` where one is computed."""
    found = []
    for each in map.results:
        if not isinstance(each, AffineDimExpr):
            raise Unsupported(f"affine_map<{map}> must have loops, not what is computed of them")
        found.append(loops[each.position])
    return tuple(found)


class _Body:
    def __init__(
        self, operation: LinalgStructuredOperation, known: Mapping[SSAValue, Value]
    ) -> None:
        block = operation.body.block
        self._operations = list(block.ops)
        self._output = block.args[-1]
        meant = operation.attributes.get("reduction")
        self._meant = meant.data if isinstance(meant, StringAttr) else None
        self._outside = known
        self._trees: dict[SSAValue, EinsumExpression] = {}
        self._sizes: dict[SSAValue, int] = {}

    def define(self, argument: SSAValue, value: Value | None, indices: tuple[str, ...]) -> None:
        """An argument of the body is an element of such a tensor; a value from outside is it."""
        match value:
            case Named(name):
                self._keep(argument, Access(name, indices))
            case Part(expression, own):
                if own != indices:
                    raise Unsupported("parts of a statement must have indices of the same names")
                self._keep(argument, expression)
            case Constant():
                self._keep(argument, value)
            case Filled(number) if number is not None:
                self._keep(argument, Constant(number))
            case _ if argument is not self._output:
                raise Unsupported("an operand must be a tensor or a number that is known")

    def result(self) -> EinsumExpression:
        """What the body yields, without a reduction."""
        (value,) = self._evaluated().operands
        return self._whole(value)

    def reduction(self, indices: tuple[str, ...]) -> EinsumExpression:
        """The reduction of what the body adds to the output, or takes the maximum with."""
        start = self._trees.pop(self._output, None)
        (value,) = self._evaluated(without_last=True).operands
        last = value.owner
        if isinstance(last, Block) or self._output not in last.operands:
            raise Unsupported(_REDUCES)
        function = OPERATIONS.get(last.name, "")
        op = {"add": "sum", "max": "max"}.get(function)
        if op is None:
            raise Unsupported(_REDUCES)
        if self._meant is not None:
            if (op, self._meant) != ("max", GREATEST):
                raise Unsupported(f"reduction {self._meant}: must be {GREATEST}, of a maximum")
            op = GREATEST
        left, right = last.operands
        part = self._whole(right if left is self._output else left)
        total = Reduction(op, indices, part)
        if start == Constant(_STARTS[op]):
            return total
        if start is None:
            raise Unsupported("a reduction must begin with a number or tensor that is known")
        return Call(function, (_checked(start), total))

    def _evaluated(self, without_last: bool = False) -> YieldOp:
        """Evaluates all operations, but perhaps the one that is yielded; the last one."""
        *operations, end = self._operations
        if not isinstance(end, YieldOp) or len(end.operands) != 1:
            raise Unsupported("its body must yield one number")
        for operation in operations:
            if not (without_last and operation is end.operands[0].owner):
                self._evaluate(operation)
        return end

    def _evaluate(self, operation: Operation) -> None:
        if isinstance(operation, arith.ConstantOp):
            number = number_of(operation)
            if number is not None:
                self._keep(operation.result, Constant(number))
            return
        function = OPERATIONS.get(operation.name)
        if function is None:
            raise Unsupported(f"{operation.name} is not supported in its body")
        (result,) = operation.results
        tree = Call(function, tuple(map(self._tree, operation.operands)))
        size = _own_size(tree) + sum(self._sizes[each] for each in operation.operands)
        if size > 2 * MAX_OPERANDS + 2:  # GELU of one operand less than that has it twice
            raise Unsupported(_TOO_LONG)
        self._keep(result, self._meaning(operation, tree))

    def _keep(self, value: SSAValue, tree: EinsumExpression) -> None:
        self._trees[value], self._sizes[value] = tree, _size(tree)

    def _meaning(self, operation: Operation, tree: Call[EinsumExpression]) -> EinsumExpression:
        meant = operation.attributes.get("function")
        found = list(meanings(tree))
        if not isinstance(meant, StringAttr):
            return found[0]
        for each in found:
            if each.function == meant.data:
                return each
        raise Unsupported(f"{operation.name} is not {meant.data}, as its attribute has it")

    def _tree(self, value: SSAValue) -> EinsumExpression:
        if value not in self._trees:
            if value is self._output:
                raise Unsupported("what its output holds must be known, and only be reduced with")
            self.define(value, self._outside.get(value), ())
        return self._trees[value]

    def _whole(self, value: SSAValue) -> EinsumExpression:
        """The tree of a value that is yielded or reduced."""
        tree = self._tree(value)
        if self._sizes[value] > MAX_OPERANDS:
            raise Unsupported(_TOO_LONG)
        return _checked(tree)


def _checked(tree: EinsumExpression) -> EinsumExpression:
    """Refuses what no program has."""
    match tree:
        case Constant(number) if not math.isfinite(number):
            raise Unsupported(f"{number} must be finite")
        case Call("erf"):
            raise Unsupported("math.erf is only supported in x * 0.5 * (1 + erf(x / sqrt(2)))")
        case Call(_, arguments):
            for each in arguments:
                _checked(each)
    return tree


def _size(tree: EinsumExpression) -> int:
    """The number of operands, as texts of expressions count them; no smaller than its depth."""
    match tree:
        case Call(_, arguments):
            return _own_size(tree) + sum(map(_size, arguments))
        case Reduction(part=part):
            return 1 + _size(part)
    return 1


def _own_size(call: Call[EinsumExpression]) -> int:
    """What a call adds to the operands of its arguments: functions are operands themselves."""
    return 0 if call.function in ("add", "sub", "mul", "div") else 1

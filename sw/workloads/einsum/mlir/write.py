"""Einsum programs written as MLIR.

A reduction is a ``linalg.generic`` of its own, and so is what a statement makes of them; all have
the attributes ``statement``, the tensor that they compute or are a part of, and ``indices``, the
names of their loops. The last one of a statement may have ``order``, the order of the statement's
loops, and ``layer``; a maximum of what is stored alone has ``reduction``. What moves elements is
written by ``rearranged_write``. The function's arguments are the inputs, and tensors to write to
for results of whose indices some are in no operand, with their sizes where the program has them;
its attribute ``inputs`` names them. Tensors whose format is not dense in the order of their modes,
and intermediate ones for which it is chosen, have an encoding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AnyFloat,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    TensorType,
    f32,
    f64,
)
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from gnarl.sw.workloads.einsum.mlir.encoding import EncodingAttr
from gnarl.sw.workloads.einsum.mlir.functions import BINARY, UNARY, expanded, meanings
from gnarl.sw.workloads.einsum.mlir.rearranged_write import strings, write_rearrangement
from gnarl.sw.workloads.einsum.program import (
    AnyStatement,
    Einsum,
    EinsumExpression,
    EinsumProgram,
    free_indices,
)
from gnarl.sw.workloads.einsum.rearrangement import Pattern, Rearrangement
from gnarl.sw.workloads.mlir_text import to_text
from gnarl.sw.workloads.tensor.expression import GREATEST, Access, Call, Constant, Reduction
from gnarl.sw.workloads.tensor.storage import TensorFormat

_Operand = Access | Reduction[EinsumExpression]
"""What a body takes from outside: a tensor, or a reduction computed before."""


def program_mlir(program: EinsumProgram) -> str:
    """The text of a module that ``read_mlir`` reads as the same program."""
    return to_text(_Writer(program).module())


class _Writer:
    def __init__(self, program: EinsumProgram) -> None:
        self._program = program
        self._number = _number_type(program)
        accesses = [a for each in program.statements for a in (each.result, *each.operands)]
        self._types = {each.tensor: self._stored_type(each) for each in accesses}
        self._block = Block()
        self._builder = Builder(InsertPoint.at_end(self._block))
        self._values: dict[str, SSAValue] = {}
        self._destinations: dict[str, SSAValue] = {}
        self._modes: dict[int, SSAValue] = {}

    def module(self) -> ModuleOp:
        program = self._program
        for name in program.inputs:
            self._values[name] = self._argument(name)
        destinations = [each.name for each in program.einsums if _lacks_size(each)]
        for name in destinations:
            self._destinations[name] = self._destination(name)
        for statement in program.statements:
            self._statement(statement)
        results = [self._values[name] for name in program.results]
        self._builder.insert(func.ReturnOp(*results))
        type = FunctionType.from_lists(self._block.arg_types, [each.type for each in results])
        function = func.FuncOp(program.name, type, Region(self._block))
        function.attributes["inputs"] = strings((*program.inputs, *destinations))
        return ModuleOp([function])

    def _destination(self, name: str) -> SSAValue:
        """What a result is written to, whose argument says its sizes where they are known."""
        type, shape = self._types[name], self._program.shapes.get(name)
        if shape is None:
            return self._argument(name)
        known = TensorType(type.element_type, shape, type.encoding)
        return self._builder.insert(tensor.CastOp(self._argument(name, known), type)).dest

    def _argument(self, name: str, type: TensorType | None = None) -> SSAValue:
        argument = self._block.insert_arg(type or self._types[name], len(self._block.args))
        argument.name_hint = name
        return argument

    def _stored_type(self, access: Access) -> TensorType:
        name, order = access.tensor, len(access.indices)
        format = self._program.formats.get(name)
        dense = TensorFormat(("dense",) * order, tuple(range(order)))
        is_known = name in (*self._program.inputs, *self._program.results)
        plain = format is None or (is_known and format == dense)
        return self._type(order, None if plain else format)

    def _type(self, order: int, format: TensorFormat | None = None) -> TensorType:
        encoding = NoneAttr() if format is None else EncodingAttr(format)
        return TensorType(self._number, [DYNAMIC_INDEX] * order, encoding)

    def _statement(self, statement: AnyStatement) -> None:
        result = statement.result
        if isinstance(statement, Rearrangement):
            type = self._types[result.tensor]
            value = write_rearrangement(self._builder, statement, self._values, type)
        else:
            value = self._computed(statement)
        value.name_hint = result.tensor
        if statement.layer:
            value.owner.attributes["layer"] = StringAttr(statement.layer)  # type: ignore
        self._values[result.tensor] = value

    def _computed(self, statement: Einsum) -> SSAValue:
        result = statement.result
        operation = self._generic(
            statement,
            statement.expression,
            result.indices,
            self._types[result.tensor],
            self._destinations.get(result.tensor),
        )
        if statement.order:
            operation.attributes["order"] = strings(statement.order)
        (value,) = operation.results
        return value

    def _generic(
        self,
        statement: Einsum,
        expression: EinsumExpression,
        kept: Sequence[str],
        type: TensorType,
        destination: SSAValue | None = None,
    ) -> GenericOp:
        reduction = expression if isinstance(expression, Reduction) else None
        reduced = reduction.indices if reduction is not None else ()
        part = reduction.part if reduction is not None else expression
        operands = dict[_Operand, SSAValue]()
        self._collect(statement, part, operands)
        used = [(value, _indices(each)) for each, value in operands.items()]
        out = destination
        if out is None:
            sizes = [self._size(index, used) for index in kept]
            out = self._builder.insert(tensor.EmptyOp(sizes, type)).tensor
        if reduction is not None:
            start = 0.0 if reduction.op == "sum" else -math.inf
            zero = self._builder.insert(self._constant(start)).result
            out = self._builder.insert(FillOp([zero], [out])).results[0]
        loops = (*kept, *reduced)
        operation = GenericOp(
            [value for value, _ in used],
            [out],
            Region(self._body(reduction, part, list(operands))),
            [_map(loops, indices) for indices in (*(each for _, each in used), kept)],
            [IteratorTypeAttr.parallel()] * len(kept)
            + [IteratorTypeAttr.reduction()] * len(reduced),
            [type],
        )
        operation.attributes["statement"] = StringAttr(statement.name)
        operation.attributes["indices"] = strings(loops)
        if reduction is not None and reduction.op == GREATEST:
            operation.attributes["reduction"] = StringAttr(GREATEST)
        return self._builder.insert(operation)

    def _collect(
        self, statement: Einsum, part: EinsumExpression, operands: dict[_Operand, SSAValue]
    ) -> None:
        """Adds the operands of a part, left to right, computing the reductions in it."""
        match part:
            case Access(tensor):
                operands[part] = self._values[tensor]
            case Reduction() if part not in operands:
                kept = free_indices(part)
                operation = self._generic(statement, part, kept, self._type(len(kept)))
                operands[part] = operation.results[0]
            case Call(_, arguments):
                for argument in arguments:
                    self._collect(statement, argument, operands)

    def _size(self, index: str, used: Sequence[tuple[SSAValue, Sequence[str]]]) -> SSAValue:
        """The size of an index, which some operand has."""
        value, mode = next(
            (value, indices.index(index)) for value, indices in used if index in indices
        )
        if mode not in self._modes:
            number = arith.ConstantOp(IntegerAttr(mode, IndexType()))
            first = self._block.first_op
            at = InsertPoint.at_end(self._block) if first is None else InsertPoint.before(first)
            self._modes[mode] = Builder(at).insert(number).result
        return self._builder.insert(tensor.DimOp(value, self._modes[mode])).result

    def _constant(self, value: float) -> arith.ConstantOp:
        return arith.ConstantOp(FloatAttr(value, self._number))

    def _body(
        self,
        reduction: Reduction[EinsumExpression] | None,
        part: EinsumExpression,
        operands: Sequence[_Operand],
    ) -> Block:
        block = Block(arg_types=[self._number] * (len(operands) + 1))
        builder = Builder(InsertPoint.at_end(block))
        arguments: dict[_Operand, SSAValue] = dict(zip(operands, block.args[:-1], strict=True))
        value = self._value(builder, part, arguments)
        if reduction is not None:
            function = "add" if reduction.op == "sum" else "max"
            value = builder.insert(BINARY[function](block.args[-1], value)).results[0]
        builder.insert(YieldOp(value))
        return block

    def _value(
        self, builder: Builder, part: EinsumExpression, known: dict[_Operand, SSAValue]
    ) -> SSAValue:
        match part:
            case Access() | Reduction():
                return known[part]
            case Constant(number):
                return builder.insert(self._constant(number)).result
            case Call():
                values = [(each, self._value(builder, each, known)) for each in part.arguments]
                tree = expanded(part)
                value = self._operation(builder, tree, values)
                if next(meanings(tree)) != part:
                    value.owner.attributes["function"] = StringAttr(part.function)  # type: ignore
                return value

    def _operation(
        self,
        builder: Builder,
        tree: EinsumExpression,
        known: Sequence[tuple[EinsumExpression, SSAValue]],
    ) -> SSAValue:
        """The operations of a tree, down to those of its parts whose values are known."""
        for part, value in known:
            if tree is part:
                return value
        match tree:
            case Constant(number):
                return builder.insert(self._constant(number)).result
            case Call(function, (argument,)):
                value = self._operation(builder, argument, known)
                return builder.insert(UNARY[function](value)).results[0]
            case Call(function, (left, right)):
                one, other = (self._operation(builder, each, known) for each in (left, right))
                return builder.insert(BINARY[function](one, other)).results[0]
        raise TypeError(tree)


def _number_type(program: EinsumProgram) -> AnyFloat:
    """f32 where it has all constants, else f64."""

    def constants(expression: EinsumExpression) -> list[float]:
        match expression:
            case Constant(value):
                return [value]
            case Call(_, arguments):
                return [value for each in arguments for value in constants(each)]
            case Reduction(part=part):
                return constants(part)
        return []

    values = np.array(
        [v for each in program.einsums for v in constants(each.expression)]
        + [each.how.number for each in program.rearrangements if isinstance(each.how, Pattern)]
    )
    with np.errstate(over="ignore"):
        return f32 if (values == values.astype(np.float32)).all() else f64


def _lacks_size(statement: Einsum) -> bool:
    return not {*statement.result.indices} <= {*free_indices(statement.expression)}


def _indices(operand: _Operand) -> tuple[str, ...]:
    return operand.indices if isinstance(operand, Access) else free_indices(operand)


def _map(loops: Sequence[str], indices: Sequence[str]) -> AffineMapAttr:
    places = tuple(AffineExpr.dimension(loops.index(index)) for index in indices)
    return AffineMapAttr(AffineMap(len(loops), 0, places))

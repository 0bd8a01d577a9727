"""MLIR of structured operations on tensors, read as Einsum programs.

Every operation of ``linalg`` is a statement, and of ``tensor`` every one that moves elements, but
for those that the attributes of ``write`` say to be parts of one. Other statements have the names
of their values, where these can be names, and indices i, j, k, …; sizes in types say nothing, and
numbers are numbers, whatever their type. A reduction begins with what its output holds: that is a
part of the sum or the maximum, unless it is 0 or -∞, which these have anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from xdsl.dialects import arith, builtin, func, linalg, math, tensor
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import Attribute, Operation, SSAValue

from gnarl.hw.lib.errors import WorkloadError, damaged_as, short
from gnarl.sw.workloads.einsum.check import check
from gnarl.sw.workloads.einsum.mlir.body import (
    Filled,
    Moved,
    Named,
    Part,
    Unsupported,
    Value,
    number_of,
    statement_expression,
)
from gnarl.sw.workloads.einsum.mlir.encoding import SPARSE_TENSOR, EncodingAttr
from gnarl.sw.workloads.einsum.mlir.rearranged_read import OPERATIONS as MOVING
from gnarl.sw.workloads.einsum.mlir.rearranged_read import (
    compares,
    moved,
    pattern,
    reordered,
    strings,
)
from gnarl.sw.workloads.einsum.program import AnyStatement, Einsum, EinsumProgram
from gnarl.sw.workloads.einsum.rearrangement import KINDS, Rearrangement
from gnarl.sw.workloads.mlir_text import parse_module
from gnarl.sw.workloads.tensor.expression import FUNCTIONS, REDUCTIONS, Access, Constant
from gnarl.sw.workloads.tensor.storage import TensorFormat

_DIALECTS = (
    builtin.Builtin,
    arith.Arith,
    func.Func,
    linalg.Linalg,
    math.Math,
    tensor.Tensor,
    SPARSE_TENSOR,
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_NAMES = (*FUNCTIONS, *REDUCTIONS, *KINDS)


def read_mlir(text: str, file: str = "<text>") -> EinsumProgram:
    """The program of a module of one function.

    Raises ``WorkloadError`` naming the line and column.
    """
    module, places = parse_module(text, file, _DIALECTS)
    functions = [each for each in module.body.block.ops if isinstance(each, func.FuncOp)]
    if len(functions) != 1 or functions[0].is_declaration:
        raise WorkloadError(f"{file}: must have one function, which has a body")
    (function,) = functions
    if len(function.body.blocks) != 1:
        raise WorkloadError(f"{places[function]}: func.func: must have one block")
    reader = _Reader(function)
    for operation in function.body.block.ops:
        place = str(places[operation])
        try:
            with damaged_as(WorkloadError, place):
                reader.take(operation, place)
        except Unsupported as error:
            raise WorkloadError(f"{place}: {operation.name}: {error}") from None
    return reader.program()


class _Reader:
    """Takes the operations of a function in their order."""

    def __init__(self, function: func.FuncOp) -> None:
        block = function.body.block
        self._name = function.sym_name.data
        self._statements: list[AnyStatement] = []
        self._formats: dict[str, TensorFormat] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}  # of arguments
        self._results: tuple[str, ...] = ()
        last = {_string(each, "statement"): each for each in block.ops}
        self._parts = {
            each
            for each in block.ops
            if "statement" in each.attributes and last[_string(each, "statement")] is not each
        }
        self._taken = {name for name in last if name is not None}
        self._known: dict[SSAValue, Value] = {}
        names = strings(function, "inputs") or ()
        for place, argument in enumerate(block.args):
            name = names[place] if place < len(names) else self._free_name(argument)
            self._taken.add(name)
            self._known[argument] = Named(name)
            self._formats[name] = _format(argument.type)
            if isinstance(argument.type, TensorType) and argument.type.has_static_shape():
                self._shapes[name] = argument.type.get_shape()

    def program(self) -> EinsumProgram:
        draft = EinsumProgram(self._name, tuple(self._statements), {}, self._results)
        stored = {*draft.inputs, *self._results}
        for statement in self._statements:
            name = statement.name
            if name in stored:
                order = len(statement.result.indices)
                self._formats.setdefault(name, _dense(order))
        formats = {
            name: format
            for name, format in self._formats.items()
            if name in stored or name in draft
        }
        shapes = {
            name: shape
            for name, shape in self._shapes.items()
            if shape and draft.einsum(name) is not None
        }
        return check(EinsumProgram(self._name, draft.statements, formats, self._results, shapes))

    def take(self, operation: Operation, place: str) -> None:
        """Takes an operation; ``Unsupported`` says what is wrong with it."""
        match operation:
            case FillOp():
                filling = self._known.get(operation.inputs[0])
                if not isinstance(filling, Constant):
                    raise Unsupported("must fill with a constant")
                self._known[operation.results[0]] = Filled(filling.value)
            case LinalgStructuredOperation():
                self._take_structured(operation, place)
            case _ if isinstance(operation, MOVING):
                found = moved(operation, self._known, self._index_names())
                self._take_moved(operation, found, place)
            case arith.ConstantOp():
                number = number_of(operation)
                if number is not None:
                    self._known[operation.result] = Constant(number)
            case tensor.EmptyOp():
                self._known[operation.tensor] = Filled(None)
            case tensor.CastOp():
                self._known[operation.dest] = self._known[operation.source]
            case tensor.ExtractOp() if not operation.indices:
                self._known[operation.result] = self._known[operation.tensor]
            case tensor.DimOp() | arith.DivUIOp():
                pass
            case func.ReturnOp():
                self._results = tuple(map(self._result, operation.operands))
            case _:
                raise Unsupported("is not supported in an Einsum program")

    def _result(self, value: SSAValue) -> str:
        match self._known.get(value):
            case Named(name):
                return name
        raise Unsupported("must return what linalg operations compute")

    def _take_structured(self, operation: LinalgStructuredOperation, place: str) -> None:
        if len(operation.outputs) != 1 or len(operation.results) != 1:
            raise Unsupported("must have one output, a tensor")
        (result,) = operation.results
        taken = [self._known.get(each) for each in operation.inputs]
        if taken and isinstance(taken[0], Moved):
            self._take_moved(operation, reordered(operation, taken[0]), place)
            return
        if compares(operation):
            found = pattern(operation, self._known, self._index_names())
            self._take_moved(operation, found, place)
            return
        loops = strings(operation, "indices") or self._loops(operation)
        if len({*loops}) != len(operation.get_iterator_types()):
            raise Unsupported("indices must name each loop once")
        expression, kept = statement_expression(operation, loops, self._known)
        if operation in self._parts:
            self._known[result] = Part(expression, kept)
            return
        access = Access(self._statement_name(operation), kept)
        order = strings(operation, "order") or ()
        layer = _string(operation, "layer") or ""
        self._add(operation, Einsum(access, expression, order, place, layer))

    def _take_moved(self, operation: Operation, found: Moved, place: str) -> None:
        if operation in self._parts:
            self._known[operation.results[0]] = found
            return
        access = Access(self._statement_name(operation), found.dims)
        layer = _string(operation, "layer") or ""
        statement = Rearrangement(access, found.how, found.operands, place, layer)
        self._add(operation, statement)

    def _statement_name(self, operation: Operation) -> str:
        name = _string(operation, "statement") or self._free_name(operation.results[0])
        if not _is_name(name):
            raise Unsupported(f"{short(name)} cannot be a tensor's name")
        self._taken.add(name)
        return name

    def _add(self, operation: Operation, statement: AnyStatement) -> None:
        (result,) = operation.results
        name = statement.name
        self._statements.append(statement)
        self._known[result] = Named(name)
        self._formats.pop(name, None)
        type = result.type
        if isinstance(type, TensorType) and isinstance(type.encoding, EncodingAttr):
            self._formats[name] = _format(type)

    def _loops(self, operation: LinalgStructuredOperation) -> tuple[str, ...]:
        """Names of loops that have none, which are no tensors."""
        letters = self._index_names()
        return tuple(next(letters) for _ in operation.get_iterator_types())

    def _index_names(self) -> Iterator[str]:
        """Names that no tensor has."""
        names = {value.name for value in self._known.values() if isinstance(value, Named)}
        return (name for name in _index_names() if name not in names)

    def _free_name(self, value: SSAValue) -> str:
        """The name of a value, or a new one."""
        hint = value.name_hint
        if hint is not None and _is_name(hint) and hint not in self._taken:
            return hint
        return next(name for n in count() if (name := f"t{n}") not in self._taken)


def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in _NO_NAMES


def _index_names() -> Iterator[str]:
    yield from "ijklmnopq"
    yield from (f"i{number}" for number in count())


def _dense(order: int) -> TensorFormat:
    return TensorFormat(("dense",) * order, tuple(range(order)))


def _format(type: Attribute) -> TensorFormat:
    """How a tensor of a type is stored; scalars are as numbers are."""
    if not isinstance(type, TensorType):
        return _dense(0)
    if isinstance(type.encoding, EncodingAttr):
        return type.encoding.data
    return _dense(len(type.get_shape()))


def _string(operation: Operation, name: str) -> str | None:
    attribute = operation.attributes.get(name)
    return attribute.data if isinstance(attribute, StringAttr) else None

"""Lowers loop nests to func, scf, arith, math and memref, and ``dialects.fiber``; static shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith, func, math, memref, scf
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from gnarl.sw.compiler.nests.dialects import fiber
from gnarl.sw.compiler.nests.execute.words import refuse
from gnarl.sw.compiler.nests.functions import set_names
from gnarl.sw.workloads.loops.ir.binding import dimension
from gnarl.sw.workloads.loops.ir.nest import (
    Assign,
    AugmentedStore,
    Binary,
    Cast,
    Constant,
    Expression,
    For,
    If,
    Load,
    Merge,
    Nest,
    Select,
    Statement,
    Store,
    Unary,
    Variable,
    statements,
)
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, FLOAT32, INT32, ScalarType
from gnarl.sw.workloads.place import Location

PLACE = "place"
"""The attribute of an operation that says where in the source it comes from."""

STATEMENT = "statement"
"""The attribute of a loop that has its number among the nest's statements."""

MAY_BE_LEFT_OUT = "may_be_left_out"
"""The attribute of a load that the nest does not do in all cases in which the module does: of one
side of ``a if c else b``, or the right one of ``and`` and ``or``."""

_TYPES: dict[ScalarType, Attribute] = {FLOAT32: f32, INT32: i32, BOOL: i1}

_FLOATS = {
    "+": arith.AddfOp,
    "-": arith.SubfOp,
    "*": arith.MulfOp,
    "/": arith.DivfOp,
    "min": arith.MinimumfOp,
    "max": arith.MaximumfOp,
}
_INTEGERS = {
    "+": arith.AddiOp,
    "-": arith.SubiOp,
    "*": arith.MuliOp,
    "//": arith.FloorDivSIOp,
    "%": arith.RemSIOp,
    "&": arith.AndIOp,
    "|": arith.OrIOp,
    "^": arith.XOrIOp,
    "<<": arith.ShLIOp,
    ">>": arith.ShRSIOp,
    "min": arith.MinSIOp,
    "max": arith.MaxSIOp,
}
_BOOLS = {"and": arith.AndIOp, "or": arith.OrIOp}
_INTEGER_ORDERS = {"<": "slt", "<=": "sle", ">": "sgt", ">=": "sge", "==": "eq", "!=": "ne"}
_FLOAT_ORDERS = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}


def to_scf(
    nest: Nest,
    sizes: Mapping[str, int],
    shapes: Mapping[str, Sequence[int]] | None = None,
    scalars: Mapping[str, float] | None = None,
) -> ModuleOp:
    """A module of one function, whose arguments are the nest's arrays and then its scalars, these
    as arrays of no dimension. O(size of the nest).

    ``shapes``: what arrays have in memory, by name, where that is more than their own. ``scalars``:
    values of scalars that are then no arguments.

    Locals that are assigned in several places are arrays of no dimension, too, of
    ``memref.alloca``. Raises ``WorkloadError`` for types other than float32 and int32.
    """
    types = []
    for each in nest.parameters:
        if each.type not in (FLOAT32, INT32):
            refuse(str(each.place), f"{each.name}: {each.type}")
    known, arguments = scalars or {}, [*nest.arrays]
    for name, array in nest.arrays.items():
        shape = (shapes or {}).get(name) or [dimension(size, sizes) for size in array.shape]
        types.append(MemRefType(_TYPES[array.type], shape))
    for name, scalar in nest.scalars.items():
        if name not in known:
            arguments.append(name)
            types.append(MemRefType(_TYPES[scalar.type], []))
    body = Region(Block(arg_types=types))
    for argument, name in zip(body.block.args, arguments, strict=True):
        argument.name_hint = name
    _Lowering(nest, sizes, known, body.block, arguments).run()
    function = func.FuncOp(nest.name, (types, []), body)
    set_names(function, arguments)
    return ModuleOp([function])


class _Lowering:
    def __init__(
        self,
        nest: Nest,
        sizes: Mapping[str, int],
        scalars: Mapping[str, float],
        block: Block,
        arguments: Sequence[str],
    ) -> None:
        self._nest = nest
        self._scalars = scalars
        self._builder = Builder(InsertPoint.at_end(block))
        self._arrays = dict(zip(arguments, block.args, strict=True))
        self._sizes = sizes
        self._numbers = {id(each): number for number, each in enumerate(statements(nest.body))}
        self._values: dict[str, SSAValue] = {}
        self._locals: dict[str, SSAValue] = {}
        # Whether the expression may be left out.
        self._is_side = False

    def run(self) -> None:
        assigned = [each for each in statements(self._nest.body) if isinstance(each, Assign)]
        for each in assigned:
            again = sum(other.name == each.name for other in assigned) > 1
            if again and each.name not in self._locals:
                local = memref.AllocaOp.get(_TYPES[each.value.type], shape=[])
                local.memref.name_hint = each.name
                self._locals[each.name] = self._add(local, each.place)
        self._statements(self._nest.body)
        self._builder.insert(func.ReturnOp())

    def _append(self, operation: Operation, place: Location) -> None:
        operation.attributes[PLACE] = StringAttr(str(place))
        self._builder.insert(operation)

    def _add(self, operation: Operation, place: Location) -> SSAValue:
        """Gives the operation's one result."""
        self._append(operation, place)
        return operation.results[0]

    def _integer(self, value: int, place: Location) -> SSAValue:
        return self._add(arith.ConstantOp(IntegerAttr(value, i32)), place)

    def _statements(self, body: Iterable[Statement]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, statement: Statement) -> None:
        match statement:
            case For(variable, lower, upper, step, body, place):
                first, last = self._expression(lower), self._expression(upper)
                by = self._integer(step, place)
                block = Block(arg_types=[i32])
                block.args[0].name_hint = variable
                self._inside(block, {variable: block.args[0]}, body, place)
                loop = scf.ForOp(first, last, by, [], Region(block))
                loop.attributes[STATEMENT] = IntegerAttr(self._numbers[id(statement)], i64)
                self._append(loop, place)
            case Store(array, indices, value, place):
                stored = self._expression(value)
                at = self._indices(indices)
                self._append(memref.StoreOp.get(stored, self._arrays[array], at), place)
            case AugmentedStore(operator, array, indices, value, place):
                at = self._indices(indices)
                element = self._add(memref.LoadOp.get(self._arrays[array], at), place)
                type = self._nest.arrays[array].type
                result = self._binary(operator, element, self._expression(value), type, place)
                self._append(memref.StoreOp.get(result, self._arrays[array], at), place)
            case Assign(name, value, place):
                computed = self._expression(value)
                if name in self._locals:
                    self._append(memref.StoreOp.get(computed, self._locals[name], []), place)
                else:
                    self._values[name] = computed
            case If(condition, then, otherwise, place):
                chosen = self._expression(condition)
                blocks = Block(), Block()
                for block, each in zip(blocks, (then, otherwise), strict=True):
                    self._inside(block, {}, each, place)
                self._append(scf.IfOp(chosen, [], [blocks[0]], [blocks[1]]), place)
            case Merge():
                self._merge(statement)

    def _merge(self, loop: Merge) -> None:
        bounds = [
            (self._expression(each.lower), self._expression(each.upper)) for each in loop.fibers
        ]
        names = (loop.coordinate, *loop.positions, *loop.present)
        block = Block(arg_types=fiber.arguments(loop.kind, len(loop.fibers)))
        for argument, name in zip(block.args, names, strict=True):
            argument.name_hint = name
        known = dict(zip(names, block.args, strict=True))
        self._inside(block, known, loop.body, None)
        lowers, uppers = zip(*bounds, strict=True)
        arrays = [self._arrays[each.array] for each in loop.fibers]
        merge = fiber.MergeOp(loop.kind, arrays, lowers, uppers, Region(block))
        self._append(merge, loop.place)

    def _inside(
        self,
        block: Block,
        values: Mapping[str, SSAValue],
        body: Iterable[Statement],
        place: Location | None,
    ) -> None:
        """Lowers statements into a block. ``place``: of the block's terminator, if it has one."""
        builder, known = self._builder, self._values
        self._builder = Builder(InsertPoint.at_end(block))
        self._values = {**known, **values}
        self._statements(body)
        if place is not None:
            self._append(scf.YieldOp(), place)
        self._builder, self._values = builder, known

    def _indices(self, indices: Iterable[Expression]) -> list[SSAValue]:
        as_indices = []
        for index in indices:
            value = self._expression(index)
            as_indices.append(self._add(arith.IndexCastOp(value, IndexType()), index.place))
        return as_indices

    def _expression(self, expression: Expression) -> SSAValue:
        match expression:
            case Constant(value, type, place):
                if type == FLOAT32:
                    return self._add(arith.ConstantOp(FloatAttr(value, f32)), place)
                width = i1 if type == BOOL else i32
                return self._add(arith.ConstantOp(IntegerAttr(int(value), width)), place)
            case Variable(name, place=place) if name in self._scalars:
                value = self._scalars[name]
                return self._expression(Constant(value, expression.type, place))
            case Variable(name, place=place):
                if name in self._values:
                    return self._values[name]
                if name in self._locals:
                    return self._add(memref.LoadOp.get(self._locals[name], []), place)
                if name in self._nest.scalars:
                    return self._add(memref.LoadOp.get(self._arrays[name], []), place)
                return self._integer(self._sizes[name], place)
            case Load(array, indices, place=place):
                load = memref.LoadOp.get(self._arrays[array], self._indices(indices))
                if self._is_side:
                    load.attributes[MAY_BE_LEFT_OUT] = UnitAttr()
                return self._add(load, place)
            case Unary(operator, operand, place):
                return self._unary(operator, self._expression(operand), operand.type, place)
            case Binary(operator, left, right, place):
                first = self._expression(left)
                second = (self._side if operator in _BOOLS else self._expression)(right)
                return self._binary(operator, first, second, left.type, place)
            case Select(condition, chosen, other, place):
                values = [self._expression(condition), *map(self._side, (chosen, other))]
                return self._add(arith.SelectOp(*values), place)
            case Cast(type, operand, place):
                return self._cast(self._expression(operand), operand.type, type, place)
        raise TypeError(expression)

    def _side(self, expression: Expression) -> SSAValue:
        """The value of an expression that the nest may leave out."""
        before, self._is_side = self._is_side, True
        side = self._expression(expression)
        self._is_side = before
        return side

    def _unary(self, operator: str, value: SSAValue, type: ScalarType, place: Location) -> SSAValue:
        if operator == "-" and type == FLOAT32:
            return self._add(arith.NegfOp(value), place)
        if operator == "-":
            return self._add(arith.SubiOp(self._integer(0, place), value), place)
        if operator == "abs" and type == FLOAT32:
            return self._add(math.AbsFOp(value), place)
        if operator == "sqrt":
            return self._add(math.SqrtOp(value), place)
        if operator == "not":
            one = self._add(arith.ConstantOp(IntegerAttr(1, i1)), place)
            return self._add(arith.XOrIOp(value, one), place)
        refuse(str(place), f"{operator} of {type}")

    def _binary(
        self, operator: str, left: SSAValue, right: SSAValue, type: ScalarType, place: Location
    ) -> SSAValue:
        if operator in _INTEGER_ORDERS:
            if type == FLOAT32:
                return self._add(arith.CmpfOp(left, right, _FLOAT_ORDERS[operator]), place)
            return self._add(arith.CmpiOp(left, right, _INTEGER_ORDERS[operator]), place)
        known = _FLOATS if type == FLOAT32 else _BOOLS if type == BOOL else _INTEGERS
        if operator not in known:
            refuse(str(place), f"{operator} of {type}")
        return self._add(known[operator](left, right), place)

    def _cast(
        self, value: SSAValue, given: ScalarType, wanted: ScalarType, place: Location
    ) -> SSAValue:
        if given == wanted:
            return value
        if given == INT32 and wanted == FLOAT32:
            return self._add(arith.SIToFPOp(value, f32), place)
        refuse(str(place), f"{given} as {wanted}")


def place_of(operation: Operation) -> str:
    """The location in the source that an operation comes from; empty if unknown."""
    place = operation.attributes.get(PLACE)
    return place.data if isinstance(place, StringAttr) else ""

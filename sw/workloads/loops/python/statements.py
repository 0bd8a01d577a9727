"""Reads statements of the Python notation."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence

from gnarl.sw.workloads.loops.ir.descending import Descent, ascending
from gnarl.sw.workloads.loops.ir.inline import Argument, Inliner, size_arguments
from gnarl.sw.workloads.loops.ir.nest import (
    SHIFTS,
    Array,
    Assign,
    AugmentedStore,
    Binary,
    BinaryOperator,
    Constant,
    Expression,
    Fiber,
    For,
    If,
    Merge,
    MergeKind,
    Nest,
    Statement,
    Store,
)
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, BY_NAME, INT32, ScalarType
from gnarl.sw.workloads.loops.python.expressions import OPERATORS, ExpressionReader
from gnarl.sw.workloads.loops.python.text import PythonText

_STATEMENTS = "for loops, assignments, calls, if and pass"
_ONE_TARGET = "must assign to one local or one array element"
_LOOPS = "range(...), intersect(...) or union(...)"


class StatementReader:
    """Reads the statements of one function, whose parameters ``expressions`` knows.

    functions
        reads another function of the file, for the node that calls it.
    inliner
        of the function.
    """

    def __init__(
        self,
        text: PythonText,
        expressions: ExpressionReader,
        functions: Callable[[ast.Call], Nest],
        inliner: Inliner,
    ) -> None:
        self._text = text
        self._expressions = expressions
        self._functions = functions
        self._inliner = inliner
        self.own_arrays: list[Array] = []

    def block(self, nodes: Iterable[ast.stmt]) -> tuple[Statement, ...]:
        """Raises ``WorkloadError`` for what the notation lacks."""
        statements: list[Statement] = []
        for node in nodes:
            match node:
                case ast.Pass():
                    pass
                case ast.Expr(ast.Call(ast.Name()) as call):
                    statements += self._call(call)
                case ast.For():
                    if node.orelse:
                        self._text.refuse(node.orelse[0], "a loop has no else: must be left out")
                    statements += self._loop(node)
                case _:
                    statements.append(self._statement(node))
        return tuple(statements)

    def _call(self, node: ast.Call) -> tuple[Statement, ...]:
        nest, place = self._functions(node), self._text.place(node)
        parameters = [each for each in nest.parameters if each.name not in nest.temporaries]
        if len(node.args) != len(parameters) or node.keywords:
            wanted = f"takes {len(parameters)} values, by their places"
            self._text.refuse(node, f"{self._text.spelled(node)}: {nest.name} {wanted}")
        arguments: dict[str, Argument] = {}
        arrays: dict[str, Array] = {}
        for parameter, value in zip(parameters, node.args, strict=True):
            name = parameter.name
            if isinstance(parameter, Array):
                arrays[name] = self._expressions.array(value)
            else:
                what = f"{name} of {nest.name}"
                arguments[name] = self._expressions.read_as(value, parameter.type, what)
        sizes = size_arguments(nest, arrays, place)
        for own in self._inliner.own_arrays(nest, sizes, place):
            self.own_arrays.append(own.given)
            arrays[own.name] = own.given
        return self._inliner.statements(nest, {**sizes, **arguments, **arrays}, place)

    def _statement(self, node: ast.stmt) -> Statement:
        match node:
            case ast.If(test, body, orelse):
                condition = self._expressions.read_as(test, BOOL, "a condition")
                place = self._text.place(node)
                return If(condition, self.block(body), self.block(orelse), place)
            case ast.Assign([target], value):
                return self._assign(node, target, value)
            case ast.Assign():
                self._text.refuse(node, f"{self._text.spelled(node)}: {_ONE_TARGET}")
            case ast.AnnAssign(ast.Name() as target, annotation, value) if value is not None:
                return self._local(node, target, value, self._type(annotation))
            case ast.AugAssign(target, op, value):
                return self._augmented(node, target, op, value)
            case ast.Return():
                self._text.refuse(node, "return: results must be written to arrays")
        self._text.refuse(node, f"{self._text.spelled(node)}: statements must be {_STATEMENTS}")

    def _type(self, annotation: ast.expr) -> ScalarType:
        name = annotation.id if isinstance(annotation, ast.Name) else ""
        if name not in BY_NAME:
            self._text.refuse(
                annotation,
                f"{self._text.spelled(annotation)}: a local must be of {', '.join(BY_NAME)}",
            )
        return BY_NAME[name]

    def _assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> Statement:
        match target:
            case ast.Name():
                return self._local(node, target, value, None)
            case ast.Subscript():
                array, indices = self._expressions.element(target)
                stored = self._expressions.read_as(value, array.type, f"what {array.name} stores")
                return Store(array.name, indices, stored, self._text.place(node))
        self._text.refuse(target, f"{self._text.spelled(target)}: {_ONE_TARGET}")

    def _local(
        self, node: ast.stmt, target: ast.Name, value: ast.expr, type: ScalarType | None
    ) -> Assign:
        name, types = target.id, self._expressions.types
        if name in self._expressions.arrays:
            self._text.refuse(target, f"{name} is an array: must have indices")
        wanted = type or types.get(name)
        if wanted is None:
            read = self._expressions.read(value)
        else:
            read = self._expressions.read_as(value, wanted, name)
        types[name] = read.type
        return Assign(name, read, self._text.place(node))

    def _augmented(
        self, node: ast.stmt, target: ast.expr, op: ast.operator, value: ast.expr
    ) -> Statement:
        if type(op) not in OPERATORS:
            words = " ".join(f"{operator}=" for operator in OPERATORS.values())
            self._text.refuse(node, f"{self._text.spelled(node)}: must be one of {words}")
        operator, place = OPERATORS[type(op)], self._text.place(node)
        match target:
            case ast.Name():
                local = self._expressions.read(target)
                operand = self._operand(operator, local.type, value, target.id)
                return Assign(target.id, Binary(operator, local, operand, place), place)
            case ast.Subscript():
                array, indices = self._expressions.element(target)
                what = f"what {array.name} stores"
                operand = self._operand(operator, array.type, value, what)
                return AugmentedStore(operator, array.name, indices, operand, place)
        self._text.refuse(target, f"{self._text.spelled(target)}: {_ONE_TARGET}")

    def _operand(
        self, operator: BinaryOperator, type: ScalarType, value: ast.expr, what: str
    ) -> Expression:
        if operator in SHIFTS:
            return self._expressions.count(value, type)
        return self._expressions.read_as(value, type, what)

    def _loop(self, node: ast.For) -> tuple[Statement, ...]:
        match node.iter:
            case ast.Call(ast.Name("range"), arguments, []) if 1 <= len(arguments) <= 3:
                return self._range(node, arguments)
            case ast.Call(ast.Name("intersect" | "union" as kind), [left, right], []):
                return (self._merge(node, MergeKind(kind), (left, right)),)
            case ast.Call(ast.Name("intersect" | "union" as kind)):
                self._text.refuse(
                    node.iter, f"{self._text.spelled(node.iter)}: {kind} takes two fibers"
                )
        self._text.refuse(
            node.iter, f"{self._text.spelled(node.iter)}: a loop must be over {_LOOPS}"
        )

    def _range(self, node: ast.For, arguments: Sequence[ast.expr]) -> tuple[Statement, ...]:
        place, variable = self._text.place(node), self._name(node.target)
        bounds = [self._expressions.read_as(bound, INT32, "a bound") for bound in arguments[:2]]
        if len(bounds) == 1:
            bounds = [Constant(0, INT32, bounds[0].place), *bounds]
        step = self._expressions.literal(arguments[2]) if len(arguments) == 3 else 1
        if not isinstance(step, int) or step == 0:
            self._text.refuse(
                arguments[2],
                f"step {self._text.spelled(arguments[2])}: must be a whole number other than 0",
            )
        self._expressions.types[variable] = INT32
        body = self.block(node.body)
        if step > 0:
            return (For(variable, bounds[0], bounds[1], step, body, place),)
        descent = Descent(variable, bounds[0], bounds[1], False, -step, body, place)
        return ascending(descent, self._inliner.fresh)

    def _name(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return node.id
        self._text.refuse(node, f"{self._text.spelled(node)}: must be one loop variable")

    def _merge(self, node: ast.For, kind: MergeKind, operands: tuple[ast.expr, ast.expr]) -> Merge:
        place = self._text.place(node)
        fibers = (self._fiber(operands[0]), self._fiber(operands[1]))
        match kind, node.target:
            case (
                MergeKind.INTERSECT,
                ast.Tuple([ast.Name(coordinate), ast.Tuple([ast.Name(first), ast.Name(second)])]),
            ):
                present: tuple[str, ...] = ()
            case (
                MergeKind.UNION,
                ast.Tuple(
                    [
                        ast.Name(coordinate),
                        ast.Tuple([ast.Name(first), ast.Name(second)]),
                        ast.Tuple([ast.Name(has_first), ast.Name(has_second)]),
                    ]
                ),
            ):
                present = (has_first, has_second)
            case _:
                form = "k, (p, q)" if kind == MergeKind.INTERSECT else "k, (p, q), (has_p, has_q)"
                self._text.refuse(
                    node.target, f"{self._text.spelled(node.target)}: must be as {form} for {kind}"
                )
        types = self._expressions.types
        types.update(dict.fromkeys((coordinate, first, second), INT32))
        types.update(dict.fromkeys(present, BOOL))
        body = self.block(node.body)
        return Merge(kind, coordinate, (first, second), present, fibers, body, place)

    def _fiber(self, node: ast.expr) -> Fiber:
        """``array``, or ``array[lower:upper]`` with either bound left out."""
        place = self._text.place(node)
        lower: ast.expr | None = None
        upper: ast.expr | None = None
        match node:
            case ast.Subscript(base, ast.Slice(lower, upper, None)):
                array = self._expressions.array(base)
            case ast.Name():
                array = self._expressions.array(node)
            case _:
                self._text.refuse(
                    node, f"{self._text.spelled(node)}: a fiber must be as index[lower:upper]"
                )
        start: Expression = Constant(0, INT32, place)
        end = array.shape[0]
        if lower is not None:
            start = self._expressions.read_as(lower, INT32, "a bound")
        if upper is not None:
            end = self._expressions.read_as(upper, INT32, "a bound")
        return Fiber(array.name, start, end, place)

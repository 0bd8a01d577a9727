"""Reads statements of C."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, NamedTuple

from pycparser import c_ast

from gnarl.sw.workloads.loops.c.constants import Table, listed
from gnarl.sw.workloads.loops.c.elementary import TEXTS, declarations, placed
from gnarl.sw.workloads.loops.c.evaluate import evaluated
from gnarl.sw.workloads.loops.c.expressions import ARITHMETIC, CExpressionReader
from gnarl.sw.workloads.loops.c.loop_header import LOOP, read_header
from gnarl.sw.workloads.loops.c.signature import element, shape_of
from gnarl.sw.workloads.loops.c.text import CText
from gnarl.sw.workloads.loops.c.types import SIZE, convert
from gnarl.sw.workloads.loops.ir.descending import Descent, ascending
from gnarl.sw.workloads.loops.ir.inline import Argument, Inliner
from gnarl.sw.workloads.loops.ir.nest import (
    Array,
    Assign,
    AugmentedStore,
    Binary,
    Constant,
    Expression,
    For,
    If,
    Load,
    Nest,
    Statement,
    Store,
    Variable,
)
from gnarl.sw.workloads.loops.ir.parts import nodes
from gnarl.sw.workloads.loops.ir.scalar_type import FLOAT32, INT32, ScalarType
from gnarl.sw.workloads.place import Location

_STATEMENTS = "statements must be for loops, if, declarations, assignments and calls"
_WRAPPING = ("+", "-", "*", "&", "|", "^")
"""Whose low bits do not depend on the operands' higher ones."""


class Called(NamedTuple):
    """A function as a nest; ``parameters``: their names, in order, sizes among them; ``pointers``:
    those that are arrays of any length."""

    nest: Nest
    parameters: tuple[str, ...]
    pointers: frozenset[str]


class CStatementReader:
    """Reads the statements of one function, whose parameters ``expressions`` knows.

    functions
        reads another function of the file, for the node that calls it.
    inliner
        of the function.
    """

    def __init__(
        self,
        text: CText,
        expressions: CExpressionReader,
        functions: Callable[[c_ast.FuncCall], Called],
        inliner: Inliner,
    ) -> None:
        self._text = text
        self._expressions = expressions
        self._functions = functions
        self._inliner = inliner
        self._declared: dict[str, Location] = {}
        self._kinds: dict[str, tuple[bool, ScalarType]] = {}
        self.own_arrays: list[Array] = []
        expressions.elementary = self._elementary

    def block(self, nodes: Iterable[Any]) -> tuple[Statement, ...]:
        """A scope. Raises ``WorkloadError`` for what nests lack."""
        with self._scope():
            return tuple(each for node in nodes for each in self._statement(node))

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """What is declared in it is gone behind it."""
        expressions = self._expressions
        declared, types = dict(self._declared), dict(expressions.types)
        arrays, values = dict(expressions.arrays), dict(expressions.values)
        yield
        self._declared, expressions.types = declared, types
        expressions.arrays, expressions.values = arrays, values

    def _statement(self, node: Any) -> tuple[Statement, ...]:
        expressions = self._expressions
        outer, expressions.before = expressions.before, []
        statements = self._plain(node)
        before, expressions.before = expressions.before, outer
        return (*before, *statements)

    def _elementary(self, call: c_ast.FuncCall, values: list[Expression]) -> Expression:
        """Locals that make the result of ``expf`` or ``powf``, before the statement."""
        name, expressions = call.name.name, self._expressions
        place, own = self._text.place(call), CExpressionReader(self._text)
        names: dict[str, str] = {}

        def assign(local: str, value: Expression) -> None:
            names[local] = self._inliner.fresh(f"{name}_{local}")
            own.types[names[local]] = FLOAT32
            expressions.before.append(Assign(names[local], value, place))

        for parameter, value in zip(TEXTS[name][0], values, strict=True):
            assign(parameter, value)
        for each in declarations(name):
            assign(each.name, own.read_as(placed(each.init, call.coord, names), FLOAT32))
        return Variable(names["result"], FLOAT32, place)

    def _plain(self, node: Any) -> tuple[Statement, ...]:
        if node is None or isinstance(node, c_ast.EmptyStatement):
            return ()
        place = self._text.place(node)
        match node:
            case c_ast.Compound():
                return self.block(node.block_items or ())
            case c_ast.DeclList():
                return tuple(each for decl in node.decls for each in self._statement(decl))
            case c_ast.Decl():
                return self._declaration(node, place)
            case c_ast.Assignment(op="=", rvalue=c_ast.Assignment(op="=")):
                return self._chain(node)
            case c_ast.Assignment():
                return (self._assignment(node.op, node.lvalue, node.rvalue, place, node),)
            case c_ast.ExprList():
                return tuple(each for part in node.exprs for each in self._statement(part))
            case c_ast.UnaryOp(op="p++" | "++" | "p--" | "--"):
                one = c_ast.Constant("int", "1", node.coord)
                return (self._assignment(f"{node.op[-1]}=", node.expr, one, place, node),)
            case c_ast.If():
                condition = self._expressions.condition(node.cond)
                then, other = self.block([node.iftrue]), self.block([node.iffalse])
                return (If(condition, then, other, place),)
            case c_ast.For():
                return self._loop(node, place)
            case c_ast.FuncCall():
                return self._call(node, place)
            case c_ast.Return():
                self._text.refuse(node, "return: results must be written to arrays")
        self._text.refuse(node, f"{type(node).__name__}: {_STATEMENTS}")

    def _call(self, node: c_ast.FuncCall, place: Location) -> tuple[Statement, ...]:
        nest, parameters, pointers = self._functions(node)
        given = node.args.exprs if node.args else []
        if len(given) != len(parameters):
            self._text.refuse(node, f"{nest.name} takes {len(parameters)} values, not {len(given)}")
        pairs = zip(parameters, given, strict=True)
        arguments = {name: self._argument(nest, name, value) for name, value in pairs}
        for array in self._inliner.own_arrays(nest, arguments, place):
            self.own_arrays.append(array.given)
            arguments[array.name] = array.given
        return self._inliner.statements(nest, arguments, place, pointers)

    def _argument(self, nest: Nest, name: str, value: Any) -> Argument:
        expressions = self._expressions
        if name not in nest.arrays:
            scalar = nest.scalars.get(name)
            return expressions.read_as(value, INT32 if scalar is None else scalar.type)
        if isinstance(value, c_ast.ID) and value.name in expressions.arrays:
            return expressions.arrays[value.name]
        self._text.refuse(value, f"{name} of {nest.name} must be given an array of the function")

    def _declare(self, node: c_ast.Decl, *, is_loop: bool = False) -> None:
        """``is_loop``: whether it is a loop's variable."""
        name = node.name
        expressions = self._expressions
        array = expressions.arrays.get(name)
        if array is not None and array.name in expressions.tables:
            array = None
        if name in self._declared or array is not None:
            at = self._declared.get(name) or (array and array.place)
            self._text.refuse(node, f"{name} is declared at {at} already: must be another name")
        if not isinstance(node.type, c_ast.TypeDecl | c_ast.ArrayDecl):
            self._text.refuse(node, f"{name}: a local must be a number or an array")
        if "static" in node.storage and not (node.init and "const" in node.quals):
            self._text.refuse(node, f"{name} is static: must live as long as its block")
        self._declared[name] = self._text.place(node)
        if isinstance(node.type, c_ast.TypeDecl):
            type = expressions.types[name] = expressions.type_of(node)
            expressions.arrays.pop(name, None)  # a table of the file that it hides
            is_array = name in {each.name for each in self.own_arrays}
            if is_array or self._kinds.setdefault(name, (is_loop, type)) != (is_loop, type):
                # Scopes apart may give a name other types; a nest does not.
                own = self._inliner.fresh(name)
                expressions.values[name] = Variable(own, type, self._text.place(node))

    def declare_parameter(self, name: str, place: Location) -> None:
        self._declared[name] = place

    def _own_array(self, node: c_ast.Decl, place: Location) -> tuple[Statement, ...]:
        """An array of the function itself, which is filled where it is declared."""
        text, expressions = self._text, self._expressions
        values = None
        if node.init is not None:
            values = listed(text, expressions, node, expressions.type_of(element(node)))
        self._declare(node)
        type = expressions.type_of(element(node))
        if type == SIZE:
            text.refuse(node, f"{node.name} is of size_t: must be of int")
        shape = shape_of(text, node, expressions.sizes, expressions.numbers)
        taken = (
            {each.name for each in self.own_arrays} | expressions.tables.keys() | self._kinds.keys()
        )
        name = self._inliner.fresh(node.name) if node.name in taken else node.name
        array = Array(name, type, shape, place)
        is_table = values is not None and "const" in element(node).quals
        if values is not None and is_table:
            constants = [each for each in map(evaluated, values.values()) if each is not None]
            if len(constants) == len(values):
                expressions.add_table(node.name, array, Table(array, tuple(constants)))
                return ()
        expressions.arrays[node.name] = array
        self.own_arrays.append(array)
        return tuple(
            Store(name, tuple(Constant(each, INT32, place) for each in at), value, place)
            for at, value in (values or {}).items()
        )

    def _declaration(self, node: c_ast.Decl, place: Location) -> tuple[Statement, ...]:
        if isinstance(node.type, c_ast.ArrayDecl):
            return self._own_array(node, place)
        if isinstance(node.init, c_ast.Assignment):
            return self._initialised(node, place)
        value = None
        if node.init is not None:
            value = self._expressions.read_as(node.init, self._expressions.type_of(node))
        self._declare(node)
        if self._expressions.types[node.name] == SIZE:
            self._text.refuse(node, f"{node.name} is size_t: a local must be int but in its loop")
        return () if value is None else (Assign(self._name(node.name), value, place),)

    def _initialised(self, node: c_ast.Decl, place: Location) -> tuple[Statement, ...]:
        """``int a = b = value``: it gets what ``b`` has then."""
        before = self._statement(node.init)
        stored, target = before[-1], node.init.lvalue
        if isinstance(stored, Store | AugmentedStore):
            loaded = {each.array for each in nodes(stored.indices) if isinstance(each, Load)}
            if stored.array in loaded:
                self._text.refuse(target, f"{stored.array} is in its own index: must be assigned")
        declared = copy(node)
        declared.init = target
        return (*before, *self._declaration(declared, place))

    def _name(self, name: str) -> str:
        """What a local is called in the nest."""
        own = self._expressions.values.get(name)
        return own.name if isinstance(own, Variable) else name

    def _assignment(
        self, operator: str, target: Any, value: Any, place: Location, node: Any
    ) -> Statement:
        expressions = self._expressions
        if operator != "=" and operator[:-1] not in ARITHMETIC:
            words = " ".join(f"{each}=" for each in ARITHMETIC)
            self._text.refuse(node, f"{operator}: must be one of = {words}")
        if not isinstance(target, c_ast.ArrayRef):
            local = self._local(target)
            if operator == "=":
                return Assign(
                    self._name(target.name), expressions.read_as(value, local.type), place
                )
            augmented = self._augmented(operator, local, value, place, node)
            return Assign(self._name(target.name), convert(augmented, local.type), place)
        array, indices = expressions.element(target)
        if operator == "=":
            stored = expressions.read_as(value, array.type)
            return Store(array.name, indices, stored, place)
        element = Load(array.name, indices, array.type, place)
        augmented = self._augmented(operator, element, value, place, node)
        is_same = array.type in (FLOAT32, augmented.type) and operator != "%="
        wraps = operator[:-1] in _WRAPPING and augmented.type.is_integer and array.type.is_integer
        if isinstance(augmented, Binary) and (wraps or is_same and augmented.left == element):
            operand = augmented.right
            if operator[:-1] not in ("<<", ">>"):
                operand = convert(operand, array.type)
            return AugmentedStore(augmented.operator, array.name, indices, operand, place)
        return Store(array.name, indices, convert(augmented, array.type), place)

    def _chain(self, node: Any) -> tuple[Statement, ...]:
        """``a = b = value``: each gets what the one behind it has then."""
        targets = []
        while isinstance(node, c_ast.Assignment) and node.op == "=":
            targets.append((node, self._text.place(node)))
            node = node.rvalue
        if isinstance(node, c_ast.Assignment):
            self._text.refuse(node, f"{node.op}: assignments in one statement must all be =")
        statements: list[Statement] = []
        value: Expression | None = None
        for each, place in reversed(targets):
            type = self._target_type(each.lvalue)
            if value is None:
                value = self._expressions.read_as(node, type)
            value = convert(value, type)
            if not isinstance(value, Constant | Variable) or value.type != type:
                local = self._inliner.fresh("value")
                statements.append(Assign(local, value, place))
                value = Variable(local, type, place)
            statements.append(self._stored(each.lvalue, value, place))
        return tuple(statements)

    def _target_type(self, target: Any) -> ScalarType:
        if isinstance(target, c_ast.ArrayRef):
            return self._expressions.element(target)[0].type
        return self._local(target).type

    def _stored(self, target: Any, value: Expression, place: Location) -> Statement:
        if isinstance(target, c_ast.ArrayRef):
            array, indices = self._expressions.element(target)
            return Store(array.name, indices, value, place)
        return Assign(self._name(target.name), value, place)

    def _local(self, target: Any) -> Expression:
        if not isinstance(target, c_ast.ID):
            self._text.refuse(target, "must assign to one local or one array element")
        local = self._expressions.read(target)
        if local.type == SIZE:
            self._text.refuse(target, f"{target.name} is size_t: must not change but in its loop")
        return local

    def _augmented(
        self, operator: str, left: Expression, value: Any, place: Location, node: Any
    ) -> Expression:
        if left.type == FLOAT32:
            right = self._expressions.read_as(value, FLOAT32)
        else:
            right = self._expressions.read(value)
        return self._expressions.operation(operator[:-1], left, right, place, node)

    def _loop(self, node: c_ast.For, place: Location) -> tuple[Statement, ...]:
        with self._scope():
            spelled, first = self._start(node)
            end, is_included, step = read_header(self._text, self._expressions, node, spelled)
            name = self._name(spelled)
            body = self.block([node.stmt])
        changed = {each.name for each in nodes(body) if isinstance(each, Assign)} | {
            each.array for each in nodes(body) if isinstance(each, Store | AugmentedStore)
        }
        if name in changed:
            self._text.refuse(node, f"{name} is assigned within its loop: must change by its step")
        for each in nodes(end):
            used = each.name if isinstance(each, Variable) else getattr(each, "array", None)
            if used in changed:
                self._text.refuse(
                    node.cond, f"{used} changes within the loop that it bounds: must stay the same"
                )
        if step > 0:
            return (For(name, first, end, step, body, place),)
        descent = Descent(name, first, end, is_included, -step, body, place)
        return ascending(descent, self._inliner.fresh)

    def _start(self, node: c_ast.For) -> tuple[str, Expression]:
        expressions = self._expressions
        match node.init:
            case c_ast.DeclList(decls=[c_ast.Decl(name=name, init=init) as decl]) if init:
                type = expressions.type_of(decl)
                first = expressions.read_as(init, type)
                self._declare(decl, is_loop=True)
            case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=init):
                type = expressions.read(node.init.lvalue).type
                first = expressions.read_as(init, type)
            case _:
                self._text.refuse(node, LOOP)
        if type not in (INT32, SIZE):
            self._text.refuse(node.init, f"{name} is {type}: a loop's variable must be int")
        return name, convert(first, INT32)

"""Reads loop nests from functions of C.

    #include <stdint.h>
    #define C0 0.25f

    void blur(int n, int m, const float a[n][m], float b[n][m]) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 0; j < m; j++)
                b[i][j] = C0 * (a[i - 1][j] + a[i + 1][j]);
    }

A parameter is an array with all of its sizes, a pointer to one of one dimension, or a number; an
``int`` that is in an array's sizes is a size of the nest. Arithmetic has C's conversions, and means
what the abstract machine does: no product is fused with a sum. A function may call others of the
file: their statements, or what they return, are in place of the call. A file may hold other
declarations, which are not looked at.
"""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path
from typing import Any

from pycparser import c_ast

from gnarl.hw.lib.errors import WorkloadError, damaged_as
from gnarl.sw.workloads.loops.c.constants import Table, read_constants
from gnarl.sw.workloads.loops.c.expressions import CExpressionReader
from gnarl.sw.workloads.loops.c.extents import extent
from gnarl.sw.workloads.loops.c.results import ResultReader
from gnarl.sw.workloads.loops.c.signature import (
    PARAMETER,
    all_names,
    declared_parameters,
    element,
    names_in_sizes,
    shape_of,
)
from gnarl.sw.workloads.loops.c.statements import Called, CStatementReader
from gnarl.sw.workloads.loops.c.tables import filled, with_numbers
from gnarl.sw.workloads.loops.c.text import CText
from gnarl.sw.workloads.loops.c.types import SIZE
from gnarl.sw.workloads.loops.ir.inline import Inliner
from gnarl.sw.workloads.loops.ir.nest import (
    Array,
    AugmentedStore,
    Load,
    Nest,
    Scalar,
    Size,
    Statement,
    Store,
    Variable,
)
from gnarl.sw.workloads.loops.ir.nest import statements as all_statements
from gnarl.sw.workloads.loops.ir.parts import nodes
from gnarl.sw.workloads.loops.ir.scalar_type import INT32
from gnarl.sw.workloads.loops.ir.verify import verify
from gnarl.sw.workloads.text_file import read_text


def read_file(path: str | Path, name: str | None = None) -> Nest:
    """The nest of a file: the function ``name``, or its only one. Raises ``WorkloadError`` naming
    file, line and column for anything that nests lack."""
    return read_source(read_text(path), str(path), name, Path(path).parent)


def read_source(
    source: str, file: str, name: str | None = None, folder: Path | None = None
) -> Nest:
    """Reads text as ``read_file`` does; ``file`` is its name in places, and ``folder`` has the
    headers that it may include: none if there is none."""
    text = CText(source, file, folder)
    functions = _Functions(text)
    nest = functions.nest(functions.only(file, name), ())
    text.warn()
    return nest


class _Functions:
    """The functions of one file."""

    def __init__(self, text: CText) -> None:
        self._text = text
        self._all = [node for node in text.tree.ext if isinstance(node, c_ast.FuncDef)]
        self._results = ResultReader(
            text,
            {node.decl.name: node for node in self._all if not _is_void(node)},
            self._expressions,
        )

    def only(self, file: str, name: str | None) -> c_ast.FuncDef:
        """The function ``name``, else the only one, or the only one that gives no value."""
        candidates = self._all
        if len(candidates) > 1:
            candidates = [node for node in self._all if _is_void(node)] or candidates
        if name is not None:
            candidates = [node for node in self._all if node.decl.name == name]
            if not candidates:
                raise WorkloadError(f"{file}: has no function {name}")
        if not candidates:
            raise WorkloadError(f"{file}: has no function: must have one")
        if len(candidates) > 1:
            names = ", ".join(node.decl.name for node in candidates)
            raise WorkloadError(
                f"{file}: has {len(candidates)} functions, {names}: one must be named"
            )
        return candidates[0]

    def nest(self, function: c_ast.FuncDef, callers: tuple[str, ...]) -> Nest:
        """The nest of a function. ``callers``: names of functions that call it, one another."""
        with damaged_as(WorkloadError, self._text.place(function)):
            nest = _Function(self._text, function, self._expressions(), self._called, callers).nest
        verify(nest)
        return nest

    @cached_property
    def _constants(self) -> tuple[dict[str, Any], dict[str, Table]]:
        expressions = CExpressionReader(self._text)
        return read_constants(self._text, expressions)

    def _expressions(self) -> CExpressionReader:
        """One that knows constants and functions of the file."""
        expressions = CExpressionReader(self._text, self._results.read)
        numbers, tables = self._constants
        expressions.numbers |= numbers
        for name, table in tables.items():
            expressions.add_table(name, table.array, table)
        return expressions

    def _called(self, call: c_ast.FuncCall, callers: tuple[str, ...]) -> Called:
        name = call.name.name if isinstance(call.name, c_ast.ID) else "an expression"
        functions = [each for each in self._all if each.decl.name == name]
        if not functions:
            self._text.refuse(call, f"call of {name}: must be of a function of this file")
        if name in callers:
            self._text.refuse(call, f"call of {name}, which calls this function: must not")
        parameters = declared_parameters(functions[0])
        pointers = [each.name for each in parameters if isinstance(each.type, c_ast.PtrDecl)]
        names = tuple(each.name for each in parameters)
        return Called(self.nest(functions[0], callers), names, frozenset(pointers))


class _Function:
    """Reads one function."""

    def __init__(
        self,
        text: CText,
        function: c_ast.FuncDef,
        expressions: CExpressionReader,
        called: Any,
        callers: tuple[str, ...],
    ) -> None:
        if not _is_void(function):
            text.refuse(function, f"{function.decl.name} gives a value: must be void")
        self._text = text
        self._function = function
        self._expressions = expressions
        self._parameters = declared_parameters(function)
        self._pointers: dict[str, str] = {}
        self._integers: dict[str, Size] = {}
        self._inliner = Inliner(all_names(function))
        called = partial(called, callers=(*callers, function.decl.name))
        self._statements = CStatementReader(text, expressions, called, self._inliner)

    @cached_property
    def nest(self) -> Nest:
        used = names_in_sizes(self._function)
        found = [each for each in map(partial(self._parameter, used), self._parameters) if each]
        body = self._statements.block(self._function.body.block_items or ())
        own, body = self._own_arrays(body)
        self._require_const(body)
        place = self._text.place(self._function)
        found = [self._of_known_length(each, body) for each in found]
        shapes = {
            each.name
            for array in (*found, *own)
            if isinstance(array, Array)
            for each in nodes(array.shape)
            if isinstance(each, Variable)
        }
        sizes = [*self._integers.values()]
        sizes += [Size(each, place) for each in self._pointers.values()]
        is_size = {each.name for each in sizes if each.name in shapes | self._expressions.sizes}
        parameters = (
            *(each for each in found if not (isinstance(each, Scalar) and each.name in is_size)),
            *own,
        )
        return Nest(
            self._function.decl.name,
            tuple(each for each in sizes if each.name in is_size),
            parameters,
            body,
            place,
            tuple(each.name for each in own),
        )

    def _parameter(self, used: set[str], each: Any) -> Array | Scalar | None:
        """``used``: names in sizes of arrays. ``None`` for a size."""
        text, expressions = self._text, self._expressions
        if not isinstance(each, c_ast.Decl):
            text.refuse(each, f"a parameter must be {PARAMETER}")
        place = text.place(each)
        if isinstance(each.type, c_ast.PtrDecl):
            type = expressions.type_of(each.type.type)
            length = self._pointers[each.name] = self._inliner.fresh(f"{each.name}_length")
            array = Array(each.name, type, (Variable(length, INT32, place),), place)
            expressions.arrays[each.name] = array
            return array
        if isinstance(each.type, c_ast.ArrayDecl):
            type = expressions.type_of(element(each))
            shape = shape_of(text, each, expressions.sizes, expressions.numbers)
            array = expressions.arrays[each.name] = Array(each.name, type, shape, place)
            return array
        type = expressions.types[each.name] = expressions.type_of(each)
        self._statements.declare_parameter(each.name, place)
        if type in (INT32, SIZE):
            self._integers[each.name] = Size(each.name, place)
        if each.name not in used and type != SIZE:
            return Scalar(each.name, type, place)
        if type not in (INT32, SIZE):
            text.refuse(each, f"{each.name} is {type}: an array's size must be int")
        expressions.sizes.add(each.name)
        return None

    def _own_arrays(self, body: tuple[Statement, ...]) -> tuple[list[Array], tuple[Statement, ...]]:
        """Arrays that the function has for itself, tables among them that do not become numbers;
        and its body, which fills these first."""
        tables = {each.array.name: each for each in self._expressions.tables.values()}
        body = with_numbers(body, tables)
        loaded = {each.array for each in nodes(body) if isinstance(each, Load)}
        kept = [table for name, table in tables.items() if name in loaded]
        first = tuple(each for table in kept for each in filled(table))
        body = (*first, *body)
        mentioned = {getattr(each, "array", None) for each in nodes(body)}
        own = (*self._statements.own_arrays, *(table.array for table in kept))
        return [each for each in own if each.name in mentioned], body

    def _of_known_length(
        self, parameter: Array | Scalar, body: tuple[Statement, ...]
    ) -> Array | Scalar:
        """An array that a pointer names, as long as loops say, if they do."""
        if parameter.name not in self._pointers or isinstance(parameter, Scalar):
            return parameter
        length = extent(body, parameter.name, self._integers, parameter.place)
        if length is None:
            return parameter
        return Array(parameter.name, parameter.type, (length,), parameter.place)

    def _require_const(self, body: tuple[Statement, ...]) -> None:
        """Raises ``WorkloadError`` where an array that is declared const is written."""
        const = {each.name for each in self._parameters if _is_const(each)}
        for each in all_statements(body):
            if isinstance(each, Store | AugmentedStore) and each.array in const:
                raise WorkloadError(f"{each.place}: {each.array} is const: must not be written")


def _is_const(parameter: c_ast.Decl) -> bool:
    node = element(parameter)
    if isinstance(node, c_ast.PtrDecl):
        node = node.type
    return "const" in node.quals


def _is_void(function: c_ast.FuncDef) -> bool:
    returned = function.decl.type.type
    return (
        isinstance(returned, c_ast.TypeDecl)
        and isinstance(returned.type, c_ast.IdentifierType)
        and returned.type.names == ["void"]
    )

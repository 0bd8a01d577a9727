"""Constants of a file: enumerators, and ``const`` numbers and tables outside of functions."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any, NamedTuple

from pycparser import c_ast

from gnarl.sw.workloads.loops.c.evaluate import evaluated
from gnarl.sw.workloads.loops.c.expressions import CExpressionReader
from gnarl.sw.workloads.loops.c.signature import dimensions, element, shape_of
from gnarl.sw.workloads.loops.c.text import CText
from gnarl.sw.workloads.loops.ir.nest import Array, Constant
from gnarl.sw.workloads.loops.ir.scalar_type import INT32, ScalarType

MOST_ELEMENTS = 4096
"""Of a table, or of an array whose elements are listed."""


class Table(NamedTuple):
    """An array of constants. ``values``: in the order of its elements."""

    array: Array
    values: tuple[Constant, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(int(each.value) for each in self.array.shape if isinstance(each, Constant))

    def value(self, indices: tuple[int, ...]) -> Constant | None:
        """``None`` outside of the table."""
        at = 0
        for index, extent in zip(indices, self.extents, strict=True):
            if not 0 <= index < extent:
                return None
            at = at * extent + index
        return self.values[at]


def read_constants(
    text: CText, expressions: CExpressionReader
) -> tuple[dict[str, Constant], dict[str, Table]]:
    """Numbers and tables by name; what is no constant is left out."""
    numbers: dict[str, Constant] = {}
    tables: dict[str, Table] = {}
    for node in text.tree.ext:
        expressions.numbers.update(numbers)
        if not isinstance(node, c_ast.Decl):
            continue
        if isinstance(node.type, c_ast.Enum) and node.type.values is not None:
            _read_enumerators(text, expressions, node.type.values.enumerators)
            numbers.update(expressions.numbers)
        elif node.init is not None and "const" in (element(node).quals or node.quals):
            if isinstance(node.type, c_ast.ArrayDecl):
                tables[node.name] = read_table(text, expressions, node)
            elif isinstance(node.type, c_ast.TypeDecl):
                value = evaluated(expressions.read_as(node.init, expressions.type_of(node)))
                if value is not None:
                    numbers[node.name] = value
    expressions.numbers.update(numbers)
    return numbers, tables


def _read_enumerators(text: CText, expressions: CExpressionReader, enumerators: Any) -> None:
    following = 0
    for each in enumerators:
        value = Constant(following, INT32, text.place(each))
        if each.value is not None:
            given = evaluated(expressions.read_as(each.value, INT32))
            if given is None:
                text.refuse(each, f"{each.name}: an enumerator must be a number")
            value = given
        expressions.numbers[each.name] = value
        following = int(value.value) + 1


def read_table(text: CText, expressions: CExpressionReader, node: c_ast.Decl) -> Table:
    """A table that a declaration with an initializer makes. Raises ``WorkloadError``."""
    type = expressions.type_of(element(node))
    values = listed(text, expressions, node, type)
    extents = [len({at[axis] for at in values}) for axis in range(len(dimensions(node)))]
    place = text.place(node)
    constants = []
    for at in sorted(values):
        value = evaluated(values[at])
        if value is None:
            text.refuse(node, f"{node.name}: elements of a table must be numbers")
        constants.append(value)
    shape = tuple(Constant(each, INT32, place) for each in extents)
    return Table(Array(node.name, type, shape, place), tuple(constants))


def listed(
    text: CText, expressions: CExpressionReader, node: c_ast.Decl, type: ScalarType
) -> dict[tuple[int, ...], Any]:
    """The elements of an initializer, by their indices, the others as 0. Raises
    ``WorkloadError``."""
    sizes = dimensions(node)
    if not isinstance(node.init, c_ast.InitList):
        text.refuse(node, f"{node.name}: an array's value must be a list in {{}}")
    if sizes[0] is None:  # as many as there are
        many = c_ast.Constant("int", str(len(node.init.exprs)), node.coord)
        node.type.dim = many
    shape = shape_of(text, node, (), expressions.numbers)
    extents = [int(each.value) for each in shape if isinstance(each, Constant)]
    if len(extents) < len(shape) or not 0 < prod(extents) <= MOST_ELEMENTS:
        text.refuse(
            node, f"{node.name}: a list must have from 1 to {MOST_ELEMENTS:,} elements of numbers"
        )
    zero = expressions.read_as(c_ast.Constant("int", "0", node.coord), type)
    found: dict[tuple[int, ...], Any] = dict.fromkeys(product(*map(range, extents)), zero)

    def fill(values: Any, at: tuple[int, ...]) -> None:
        if len(values.exprs) > extents[len(at)]:
            text.refuse(values, f"{node.name}: has {extents[len(at)]} elements here: must be fewer")
        for number, each in enumerate(values.exprs):
            place = (*at, number)
            is_list = isinstance(each, c_ast.InitList)
            if isinstance(each, c_ast.NamedInitializer) or is_list == (len(place) == len(extents)):
                zeros = len(values.exprs) == 1 and not is_list and _is_zero(each)
                if zeros:
                    continue  # as {0} for all that there is
                text.refuse(each, f"{node.name}: must be a list of {len(extents)} levels of {{}}")
            if is_list:
                fill(each, place)
            else:
                found[place] = expressions.read_as(each, type)

    fill(node.init, ())
    return found


def _is_zero(node: Any) -> bool:
    return isinstance(node, c_ast.Constant) and node.value in ("0", "0.0", "0.0f")

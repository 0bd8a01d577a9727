"""Blocks of values: neighbours along an index, or several, that are one value of so many words.

A loop over an index with blocks runs over these, and a tensor that has the index is stored so: a
coordinate of its level is that of a block, and a row of its values is one. A value without the
index meets each word along it; a sum over the index sums each word by itself, and folds these
sums. Source: FuseFlow, section 7, sparsity blocking.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from math import isfinite

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.block_types import DENSE
from gnarl.hw.sam.graph import Block, Edge, Graph, shape_violations
from gnarl.hw.sam.value_shape import ValueShape
from gnarl.sw.compiler.sam.streams import trace
from gnarl.sw.workloads.einsum.kernel import Kernel
from gnarl.sw.workloads.einsum.program import (
    Einsum,
    EinsumExpression,
    EinsumProgram,
    accesses,
    reductions,
)
from gnarl.sw.workloads.tensor.expression import (
    GREATEST,
    ZERO_AT_ZERO,
    Access,
    Call,
    Constant,
    Reduction,
)

_SUMS = {"reduce": "val", "spaccumulator": "val"}
_QUOTIENTS = ("div", "reciprocal")
"""Functions that tell the signs of zeros apart."""

_INFINITE_AT_ZERO = (*_QUOTIENTS, "log")
_UNBOUNDED = (*_INFINITE_AT_ZERO, "exp")
"""Functions that may be infinite where what they are of is finite."""

_POSITIVE = ("exp", "sigmoid")
"""Functions whose results are the same at either zero."""


def with_blocks(graph: Graph, blocks: Mapping[str, int], kernel: Kernel) -> Graph:
    """The graph with ``blocks`` of so many words along some indices of what it computes.

    Raises ``WorkloadError`` for a tensor that has one of the indices at several of its dimensions,
    for sums over one of what does not lie along it, and for blocks of too many words.
    """
    shapes = dict(_shapes(kernel, blocks))
    loops = trace(graph).loops
    summed: dict[str, str] = {
        block.name: loops[edge.source, edge.output][-1 - block.parameters.get("order", 0)].index
        for block in graph.blocks
        if block.type in _SUMS
        for edge in (graph.drivers[block.name, _SUMS[block.type]],)
    }
    graph = replace(graph, blocks=tuple(_with_shape(each, shapes) for each in graph.blocks))
    if missing := blocks.keys() - graph.blocks_along.keys():
        raise WorkloadError(f"blocks: no value of the region lies along index {min(missing)}")
    for block in graph.topological():
        if (index := summed.get(block.name, "")) in blocks:
            graph = _with_fold(graph, block.name, index)
    for violation in shape_violations(graph):
        raise WorkloadError(f"blocks: {violation}")
    return graph


def _shapes(kernel: Kernel, blocks: Mapping[str, int]) -> Iterator[tuple[str, ValueShape]]:
    """What the values of each tensor are, by name."""
    modes: dict[str, tuple[Access, dict[int, str]]] = {}
    for access in (*kernel.operands, *kernel.results):
        own = {mode: index for mode, index in enumerate(access.indices) if index in blocks}
        first, other = modes.setdefault(access.tensor, (access, own))
        if other != own:
            raise WorkloadError(
                f"blocks: {access.tensor} is taken as {first} and as {access}: must have its "
                "blocks along the same dimensions"
            )
        text = ",".join(f"{index}:{blocks[index]}" for index in sorted(own.values()))
        try:
            yield access.tensor, ValueShape.parse(text)
        except ValueError as error:
            raise WorkloadError(f"blocks: {access}: must have {error}") from error


def _with_shape(block: Block, shapes: Mapping[str, ValueShape]) -> Block:
    shape = shapes.get(block.parameters.get("tensor", ""))
    if shape is None or block.type not in ("arrayvals", "valwrite"):
        return block
    return Block(block.name, block.type, {**block.parameters, "block": shape.text})


def _with_fold(graph: Graph, sum: str, index: str) -> Graph:
    """The graph with a fold behind what sums an index with blocks."""
    shape = graph.shape_of_stream(sum, "out_val")
    if index not in dict(shape.dims):
        raise WorkloadError(f"blocks: index {index}: what {sum} sums over it does not lie along it")
    op, name = graph[sum].parameters.get("op", "add"), f"fold_{sum}"
    fold = Block(name, "fold", {"op": op, "index": index, "block": shape.text})
    place = graph.blocks.index(graph[sum]) + 1
    edges = (
        replace(edge, source=name) if (edge.source, edge.output) == (sum, "out_val") else edge
        for edge in graph.edges
    )
    return Graph(
        (*graph.blocks[:place], fold, *graph.blocks[place:]),
        (*edges, Edge(sum, "out_val", name, "val")),
    )


def needs_whole_blocks(program: EinsumProgram, index: str, is_finite: bool = True) -> bool:
    """Whether zeros in place of what is not stored may change what a program computes that has
    blocks along an index: where a maximum is of what is stored alone, what is infinite at 0 is
    taken of it, or a product has another factor that may be infinite.

    ``is_finite``: all inputs are.
    """
    may_be_infinite = _infinite(program.einsums, is_finite)
    return any(
        index in statement.indices
        and _differs_of_zeros(
            statement.expression, lambda access: index in access.indices, may_be_infinite
        )
        for statement in program.einsums
    )


def needed_later(program: EinsumProgram, own: Collection[str], kernel: Kernel, index: str) -> bool:
    """Whether what a program computes from results of ``kernel``, its statements ``own`` with
    blocks along an index, may change by zeros in place of what these would not store, or by the
    sign of zeros where they store everything."""
    added: set[str] = set()
    signed: set[str] = set()
    for access in kernel.results:
        if index in access.indices:
            is_dense = set(kernel.formats[access.tensor].levels) <= {DENSE}
            (signed if is_dense else added).add(access.tensor)
    may_be_infinite = _infinite(program.einsums, True)
    for statement in program.statements:
        if statement.name in own:
            continue
        if not isinstance(statement, Einsum):
            taken = {access.tensor for access in statement.operands}
            for known in (added, signed):
                if taken & known:
                    known.add(statement.name)
            continue
        expression = statement.expression
        if _differs_of_zeros(expression, lambda each: each.tensor in added, may_be_infinite):
            return True
        if any(
            isinstance(part, Call)
            and part.function in _QUOTIENTS
            and any(each.tensor in added | signed for each in _signs(part.arguments[-1]))
            for part in _parts(expression)
        ):
            return True
        if any(each.tensor in added for each in accesses(expression)):
            added.add(statement.name)
        elif any(each.tensor in signed for each in _signs(expression)):
            signed.add(statement.name)
    return False


def _differs_of_zeros(
    expression: EinsumExpression,
    is_there: Callable[[Access], bool],
    may_be_infinite: Callable[[EinsumExpression], bool],
) -> bool:
    """Whether an expression may differ if zeros are stored that otherwise are not, of tensors at
    accesses of which ``is_there`` is true, or at points of these."""
    for part in _parts(expression):
        match part:
            case Reduction(op) if op == GREATEST:
                return True
            case Call(function, arguments) if function in _INFINITE_AT_ZERO:
                if any(is_there(each) for each in accesses(arguments[-1])):
                    return True
            case Call("mul", arguments):
                others = [each for each in arguments if not isinstance(each, Constant)]
                if len(others) > 1 and any(may_be_infinite(each) for each in others):
                    return True
    return False


def _infinite(statements: Iterable[Einsum], is_finite: bool) -> Callable[[EinsumExpression], bool]:
    """Whether an expression may be infinite, or no number, where no sum or product overflows."""
    known: dict[str, bool] = {}

    def may_be(expression: EinsumExpression) -> bool:
        match expression:
            case Access(tensor):
                return known.get(tensor, not is_finite)
            case Constant(value):
                return not isfinite(value)
            case Reduction(_, _, part):
                return may_be(part)
            case Call(function, arguments):
                return function in _UNBOUNDED or any(map(may_be, arguments))
        raise TypeError(expression)

    for statement in statements:
        known[statement.name] = may_be(statement.expression)
    return may_be


def may_be_padded(program: EinsumProgram, index: str, is_finite: bool = True) -> bool:
    """Whether zeros behind the last coordinate of an index change nothing that a program computes,
    as all that is reduced over the index is a sum of what is 0 there.

    ``is_finite``: all inputs are.
    """
    may_be_infinite = _infinite(program.einsums, is_finite)
    zero: dict[str, bool] = {}

    def is_zero(part: EinsumExpression) -> bool:
        """Whether it is 0 where all inputs along the index are."""
        match part:
            case Access():
                return index in part.indices and zero.get(part.tensor, True)
            case Constant():
                return False
            case Reduction():
                return index not in part.indices and is_zero(part.part)
            case Call("mul", arguments):
                return any(map(is_zero, arguments)) and not any(map(may_be_infinite, arguments))
            case Call(function, arguments):
                keeps = function in (*ZERO_AT_ZERO, "add", "sub", "neg", "max", "min")
                return keeps and all(map(is_zero, arguments))
        raise TypeError(part)

    for statement in program.einsums:
        for each in reductions(statement.expression):
            if index in each.indices and not (each.op == "sum" and is_zero(each.part)):
                return False
        has_index = index in statement.result.indices
        zero[statement.name] = has_index and is_zero(statement.expression)
    return True


def _parts(expression: EinsumExpression) -> Iterator[EinsumExpression]:
    """An expression and its parts."""
    yield expression
    match expression:
        case Call(_, arguments):
            for each in arguments:
                yield from _parts(each)
        case Reduction(_, _, part):
            yield from _parts(part)


def _signs(expression: EinsumExpression) -> Iterator[Access]:
    """What decides the sign of an expression's zeros."""
    match expression:
        case Access():
            yield expression
        case Call(function, arguments) if function not in _POSITIVE:
            for each in arguments:
                yield from _signs(each)
        case Reduction(_, _, part):
            yield from _signs(part)

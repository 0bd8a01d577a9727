"""Blocks of values: neighbours along an index, or several, that are one value of so many words.

A loop over an index with blocks runs over these, and a tensor that has the index is stored so: a
coordinate of its level is that of a block, and a row of its values is one. A value without the
index meets each word along it; a sum over the index sums each word by itself, and folds these
sums. Source: FuseFlow, section 7, sparsity blocking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.graph import Block, Edge, Graph, shape_violations
from gnarl.hw.sam.value_shape import ValueShape
from gnarl.sw.compiler.sam.streams import trace
from gnarl.sw.workloads.einsum.kernel import Kernel
from gnarl.sw.workloads.einsum.program import EinsumExpression, EinsumProgram, accesses, reductions
from gnarl.sw.workloads.tensor.expression import (
    GREATEST,
    ZERO_AT_ZERO,
    Access,
    Call,
    Constant,
    Reduction,
)

_SUMS = {"reduce": "val", "spaccumulator": "val"}
_INFINITE_AT_ZERO = ("div", "reciprocal", "log")


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


def needs_whole_blocks(program: EinsumProgram, index: str) -> bool:
    """Whether zeros in place of what is not stored would change what a program computes that has
    blocks along an index: where a maximum is of what is stored alone, or what is infinite at 0 may
    be multiplied by another 0."""
    return _may_be_infinite(program, index) or any(
        each.op == GREATEST
        for statement in program.einsums
        if index in statement.indices
        for each in reductions(statement.expression)
    )


def _may_be_infinite(program: EinsumProgram, index: str) -> bool:
    """Whether something is computed along an index that is infinite where its part is 0."""
    return any(
        isinstance(part, Call)
        and part.function in _INFINITE_AT_ZERO
        and index in _indices_of(part.arguments[-1])
        for statement in program.einsums
        for part in _parts(statement.expression)
    )


def may_be_padded(program: EinsumProgram, index: str) -> bool:
    """Whether zeros behind the last coordinate of an index change nothing that a program computes,
    as all that is reduced over the index is a sum of what is 0 there."""
    if _may_be_infinite(program, index):
        return False
    zero: dict[str, bool] = {}
    for statement in program.einsums:
        for each in reductions(statement.expression):
            if index in each.indices and not (
                each.op == "sum" and _is_zero(each.part, index, zero)
            ):
                return False
        has_index = index in statement.result.indices
        zero[statement.name] = has_index and _is_zero(statement.expression, index, zero)
    return True


def _is_zero(part: EinsumExpression, index: str, zero: Mapping[str, bool]) -> bool:
    """Whether a part is 0 where all inputs along an index are; ``zero``: whether what is computed
    is, by name."""
    match part:
        case Access():
            return index in part.indices and zero.get(part.tensor, True)
        case Constant():
            return False
        case Reduction():
            return index not in part.indices and _is_zero(part.part, index, zero)
        case Call("mul", arguments):
            return any(_is_zero(each, index, zero) for each in arguments)
        case Call("div", (dividend, _)):
            return _is_zero(dividend, index, zero)
        case Call(function, arguments):
            keeps = function in (*ZERO_AT_ZERO, "add", "sub", "neg", "max", "min")
            return keeps and all(_is_zero(each, index, zero) for each in arguments)
    raise TypeError(part)


def _parts(expression: EinsumExpression) -> Iterator[EinsumExpression]:
    """An expression and its parts."""
    yield expression
    match expression:
        case Call(_, arguments):
            for each in arguments:
                yield from _parts(each)
        case Reduction(_, _, part):
            yield from _parts(part)


def _indices_of(expression: EinsumExpression) -> set[str]:
    return {index for access in accesses(expression) for index in access.indices}

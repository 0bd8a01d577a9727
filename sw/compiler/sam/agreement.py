"""Whether a graph's blocks are those of a kernel, as far as their parameters and edges tell."""

from __future__ import annotations

from collections.abc import Iterator

from gnarl.hw.lib.errors import WorkloadError, short
from gnarl.hw.sam.block_types import BITVECTOR, DEALERS, DENSE
from gnarl.hw.sam.graph import Block, Edge, Graph, own_shape
from gnarl.hw.sam.unit import WRITERS
from gnarl.hw.sam.value_shape import ValueShape
from gnarl.sw.compiler.sam.dot_write import JOINERS
from gnarl.sw.compiler.sam.drops import writers_of
from gnarl.sw.workloads.einsum.kernel import Kernel
from gnarl.sw.workloads.tensor.expression import Access, stored_indices
from gnarl.sw.workloads.tensor.storage import TensorFormat
from gnarl.sw.workloads.text_file import is_number

_LEVELS = {"bitvectorlookup": BITVECTOR, "locate": DENSE}
"""What a block reads whose parameters do not say it."""


def require_agreement(graph: Graph, kernel: Kernel) -> None:
    """Raises ``WorkloadError`` unless blocks read, write and are set to what the kernel has, with
    tensors at its indices.

    ``graph`` is verified. What the blocks compute of that is not looked at. O(blocks · depth).
    """
    for block in graph.blocks:
        _check_tensor(block, kernel)
        for name in block.settings:
            output = block.setting(name).output
            index = graph.index_of(block.name, output) if output else block["index"]
            if index not in kernel.order:
                raise WorkloadError(
                    f"block {block.name}: index {index!r}: the statement has "
                    f"{', '.join(kernel.order)}"
                )
    _check_results(graph, kernel)
    _check_operands(graph, kernel)


def _check_tensor(block: Block, kernel: Kernel) -> None:
    """Checks the tensor that a block names."""
    place = f"block {block.name}"
    tensor = block.parameters.get("tensor", "")
    named = tensor in kernel.formats
    if not named and not is_number(tensor) and (tensor or block.arrays):
        raise WorkloadError(
            f"{place}: tensor {short(tensor)}: the statement has {', '.join(kernel.formats)}"
        )
    if not named and block.arrays and block.type != "arrayvals":
        raise WorkloadError(f"{place}: tensor {tensor}: a number has no levels")
    if named and "level" in block.parameters:
        _check_level(place, block, kernel.formats[tensor])
    results = [result.tensor for result in kernel.results]
    if block.type in WRITERS and tensor not in results:
        raise WorkloadError(f"{place}: writes {tensor}: must write {' or '.join(results)}")


def _check_level(place: str, block: Block, format: TensorFormat) -> None:
    tensor, level = block["tensor"], block["level"]
    kind = _LEVELS.get(block.type) or block["format"]
    if not 0 <= level < format.order or format.levels[level] != kind:
        raise WorkloadError(
            f"{place}: level {level} of tensor {tensor}: must be a {kind} level of "
            f"{format}, as the statement stores it"
        )


def _check_results(graph: Graph, kernel: Kernel) -> None:
    writers = writers_of(graph)
    written = {block["tensor"] for block in graph.blocks if block.type == "valwrite"}
    for result in kernel.results:
        levels = writers.get(result.tensor, [])
        if result.tensor not in written or len(levels) != len(result.indices):
            raise WorkloadError(
                f"its graph writes {len(levels)} levels of {result.tensor}: must "
                f"be {len(result.indices)}, as the statement"
            )
        indices = stored_indices(result, kernel.formats[result.tensor])
        for block, index in zip(levels, indices, strict=True):
            if block["index"] != index:
                raise WorkloadError(
                    f"block {block.name}: index {short(block['index'])}: must be {index}, as the "
                    f"statement has {result}"
                )


def _check_operands(graph: Graph, kernel: Kernel) -> None:
    """Checks at which indices operands are read."""
    formats = kernel.formats
    wanted = {(each.tensor, stored_indices(each, formats[each.tensor])) for each in kernel.operands}
    read = set()
    for block in graph.blocks:
        if block.type != "arrayvals" or block["tensor"] not in formats:
            continue
        tensor = block["tensor"]
        indices = walked_indices(graph, tensor, graph.drivers[block.name, "ref"])
        if (tensor, indices) not in wanted:
            allowed = [str(each) for each in kernel.operands if each.tensor == tensor]
            has = " and ".join(dict.fromkeys(allowed)) or "no such operand"
            raise WorkloadError(
                f"block {block.name}: reads {_access(tensor, indices, formats[tensor])}: the "
                f"statement has {has}"
            )
        read.add((tensor, indices))
    _check_blocks(graph, kernel)
    for tensor, indices in sorted(wanted - read):
        raise WorkloadError(
            f"its graph does not read {_access(tensor, indices, formats[tensor])}, which the "
            "statement has"
        )


def _check_blocks(graph: Graph, kernel: Kernel) -> None:
    """Checks that the values of each tensor are blocks along those of its indices that have
    some."""
    along = graph.blocks_along
    for block in graph.blocks:
        if block.type not in ("arrayvals", "valwrite"):
            continue
        tensor = block["tensor"]
        accesses = (*kernel.operands, *kernel.results)
        indices = {i for each in accesses if each.tensor == tensor for i in each.indices}
        shape = ValueShape(tuple(dim for dim in along.items() if dim[0] in indices))
        if own_shape(block) != shape:
            raise WorkloadError(
                f"block {block.name}: has values of {own_shape(block)}: must be of {shape}, as "
                f"{tensor} has these indices"
            )


def _access(tensor: str, indices: tuple[str, ...], format: TensorFormat) -> Access:
    modes = dict(zip(format.modes, indices, strict=False))
    return Access(tensor, tuple(modes[mode] for mode in sorted(modes)))


def walked_indices(graph: Graph, tensor: str, edge: Edge | None) -> tuple[str, ...]:
    """Index of each level whose positions lead to these references, outermost first.

    Raises ``WorkloadError`` for levels of another tensor.
    """
    indices: list[str] = []
    for block in _walked(graph, edge):
        if block["tensor"] != tensor:
            raise WorkloadError(
                f"graph: {block.type} {block.name} is of tensor {block['tensor']}, but its "
                f"references reach values of {tensor}"
            )
        indices.append(block["index"])
    return tuple(reversed(indices))


def walked_levels(graph: Graph, values: Block) -> list[Block]:
    """The blocks that read the levels of the operand whose ``values`` a block reads, outermost
    first."""
    return list(_walked(graph, graph.drivers[values.name, "ref"]))[::-1]


def _walked(graph: Graph, edge: Edge | None) -> Iterator[Block]:
    """The blocks whose positions lead to these references, innermost first."""
    while edge is not None and graph[edge.source].type != "root":
        block = graph[edge.source]
        if block.type in ("fiberlookup", "bitvectorlookup", "locate"):
            yield block
        port = "i" if block.type in DEALERS else "ref"
        if block.type in (*JOINERS, "bitvectorexpand"):
            port = edge.output.removeprefix("out_")
        edge = graph.drivers.get((block.name, port))

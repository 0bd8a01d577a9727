"""What can be wrong with a statement before anything is built: widths of indices, functions that a
format lacks, and orders of loops."""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx

from gnarl.hw.lib.errors import CapacityError, ConfigError, WorkloadError
from gnarl.hw.lib.formats import FixedFormat
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Graph, memory_violation
from gnarl.sw.workloads.tensor.expression import Access, Statement, stored_indices
from gnarl.sw.workloads.tensor.storage import TensorFormat


def require_index_bits(bits: int, index: str, size: int) -> None:
    """Raises ``CapacityError`` for a size that a machine has no coordinates for."""
    if size >> bits:
        raise CapacityError(
            f"index_bits = {bits}: index {index} of size {size} needs at least {size.bit_length()}"
        )


def require_supported(graph: Graph, config: SamConfig) -> None:
    """Raises ``ConfigError`` for a function that the number format lacks, and for blocks of values
    in a memory without rows for them, as the hardware does."""
    for block in graph.blocks:
        if violation := memory_violation(block, config.memory):
            raise ConfigError([violation])
    if not isinstance(config.number_format, FixedFormat):
        return
    for block in graph.blocks:
        if block.type == "function" and block["op"] != "relu":
            text = f"block {block.name}: format = {config.format!r}: {block['op']} is not supported"
            raise ConfigError([text])


def check_order(statement: Statement) -> None:
    """Raises ``WorkloadError`` for a tensor whose levels the loops do not walk from the outside in.

    The message names the tensor, the mode, and the format of a copy that the loops can walk.
    """
    place = {index: number for number, index in enumerate(statement.order)}
    loops = ",".join(statement.order)
    for access in (*statement.operands, statement.result):
        format = statement.formats[access.tensor]
        indices = stored_indices(access, format)
        for level in range(1, len(indices)):
            outer, inner = indices[level - 1], indices[level]
            if place[outer] < place[inner]:
                continue
            walked = "written" if access is statement.result else "walked"
            raise WorkloadError(
                f"expression, column {access.column}: {access} cannot be {walked} in loop order "
                f"{loops}: mode {format.modes[level]} (index {inner}) is stored inside mode "
                f"{format.modes[level - 1]} (index {outer}), but its loop is outside; "
                f"a transposed copy would do{_transposed(access, statement, place)}"
            )


def _transposed(access: Access, statement: Statement, place: Mapping[str, int]) -> str:
    """The option for the same kinds of levels, in the order of the loops; where that does not suit
    all accesses of the tensor, for a tensor of its own, or an order of loops, if there is one."""
    name, format = access.tensor, statement.formats[access.tensor]
    right = _walkable(access, format, place)
    same = (each for each in statement.operands if each.tensor == name)
    other = next((each for each in same if _walkable(each, format, place) != right), None)
    if other is None:
        return f": {right.option(name)}"
    while name in statement.formats or name in statement.order:
        name += "2"
    return (
        f" under a name of its own, {name}({','.join(access.indices)}) with {right.option(name)}, "
        f"as {other} needs another storage{_walkable_order(statement, place)}"
    )


def _walkable_order(statement: Statement, place: Mapping[str, int]) -> str:
    """An order of loops in which everything is walked as it is stored, as one more way out."""
    order: nx.DiGraph = nx.DiGraph()
    order.add_nodes_from(statement.order)
    for access in (*statement.operands, statement.result):
        indices = stored_indices(access, statement.formats[access.tensor])
        order.add_edges_from(zip(indices, indices[1:], strict=False))
    try:
        loops = list(nx.lexicographical_topological_sort(order, key=place.__getitem__))
    except nx.NetworkXUnfeasible:
        return ""
    return f"; or loops in another order: -s=reorder({','.join(loops)})"


def _walkable(access: Access, format: TensorFormat, place: Mapping[str, int]) -> TensorFormat:
    """The same kinds of levels, in the order of the loops."""
    indices = stored_indices(access, format)
    order = sorted(range(len(format.levels)), key=lambda level: place[indices[level]])
    levels = tuple(format.levels[level] for level in order)
    modes = tuple(format.modes[level] for level in order)
    return TensorFormat(levels, modes)

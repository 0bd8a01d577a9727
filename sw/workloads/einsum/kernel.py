"""Kernels: Einsum programs whose statements share one space of loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import networkx as nx

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.tensor.expression import Access, common_sizes
from gnarl.sw.workloads.tensor.storage import TensorFormat


@dataclass(frozen=True)
class Kernel:
    """What is computed at once: an index means the same in all statements of ``program``, whose
    orders agree."""

    program: EinsumProgram

    @property
    def formats(self) -> Mapping[str, TensorFormat]:
        """How inputs and results are stored, by name."""
        return self.program.formats

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Every index, outermost first: an order that agrees with those of all statements.

        Raises ``WorkloadError`` where there is none.
        """
        graph: nx.DiGraph = nx.DiGraph()
        for statement in self.program.statements:
            graph.add_nodes_from(statement.order)
            graph.add_edges_from(pairwise(statement.order))
        place = {index: number for number, index in enumerate(graph)}
        try:
            return tuple(nx.lexicographical_topological_sort(graph, key=place.__getitem__))
        except nx.NetworkXUnfeasible:
            loops = ", ".join(outer for outer, _ in nx.find_cycle(graph))
            raise WorkloadError(
                f"program: the loops over {loops} lie in each other: the loop orders of its "
                "statements must agree"
            ) from None

    @cached_property
    def operands(self) -> tuple[Access, ...]:
        """Every access of an input, in order; one that appears twice is listed twice."""
        used = (access for each in self.program.statements for access in each.operands)
        return tuple(access for access in used if access.tensor not in self.program)

    @cached_property
    def results(self) -> tuple[Access, ...]:
        """The accesses of what is written."""
        return tuple(self.program[name].result for name in self.program.results)

    def sizes(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
        """Sizes of indices, from the shapes of its inputs and results."""
        return {
            index: size
            for access in (*self.operands, *self.results)
            for index, size in zip(access.indices, shapes[access.tensor], strict=True)
        }

    @cached_property
    def size_names(self) -> Mapping[str, str]:
        """See ``common_sizes``."""
        return common_sizes(self.order, (*self.operands, *self.results))

"""What a launch is planned to do: its graph, and what the graph computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.sam.depths import waiting_indices
from gnarl.sw.workloads.einsum.explicit import explicit
from gnarl.sw.workloads.einsum.kernel import Kernel
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.tensor.expression import Statement
from gnarl.sw.workloads.tensor.parser import parse


@dataclass(frozen=True)
class Plan:
    """A graph, and what it computes.

    text
        the statement, or the program, that ``kernel`` was written as.
    is_program
        whether it was written as a program, as that of a model is, and not as a statement.
    longest
        coordinates of an index that a fiber may have, where queues hold no more.
    whole
        indices whose blocks must be whole, as what launches make of results may differ else.
    remarks
        what fusion did that a user may want to know, a line each.
    """

    graph: Graph
    kernel: Kernel
    text: str
    is_program: bool
    longest: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()

    def bounded(self, longest: Mapping[str, int], config: SamConfig) -> Plan:
        """The plan with those of ``longest`` that queues of the graph are made for."""
        waiting = waiting_indices(self.graph, longest, config)
        return replace(self, longest={i: n for i, n in longest.items() if i in waiting})

    @classmethod
    def of_statement(cls, graph: Graph, text: str, longest: Mapping[str, int] = {}) -> Plan:
        """Raises ``WorkloadError`` for what is no statement."""
        return cls(graph, kernel_of_statement(parse(text)), text, False, longest)

    @classmethod
    def of_program(cls, graph: Graph, text: str, longest: Mapping[str, int] = {}) -> Plan:
        """Raises ``WorkloadError`` for what is no program."""
        return cls(graph, Kernel(parse_program(text)), text, True, longest)


def kernel_of_statement(statement: Statement) -> Kernel:
    einsum = explicit(statement)
    program = EinsumProgram(einsum.name, (einsum,), statement.formats, (einsum.name,))
    return Kernel(program)

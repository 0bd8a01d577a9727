"""Lowers statements to graphs: a statement is a region of one, see ``table.lower``.

Source: Hsu et al., "The Sparse Abstract Machine", ASPLOS 2023, section 5.
"""

from __future__ import annotations

from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.passes import Trace, run_passes
from gnarl.sw.compiler.sam.check import check_order
from gnarl.sw.compiler.sam.fuse.explicit import explicit
from gnarl.sw.compiler.sam.fuse.views import formulas, views_of
from gnarl.sw.compiler.sam.graph_pass import SamOptions, SamState, graph_pass
from gnarl.sw.compiler.sam.parallelize import parallelize
from gnarl.sw.compiler.sam.passes import CLEANING
from gnarl.sw.compiler.sam.table.lower import RegionResult, fill
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.tensor.expression import Statement


def lower(statement: Statement, skip: bool = True) -> Graph:
    """The graph of a statement; with ``skip``, lookups learn what intersections do not need.

    Raises ``WorkloadError`` for loop orders that a tensor cannot be walked in, for sums that need
    an accumulator of more than two indices, and for results that no writer can store.
    """
    return run_passes(LOWERING, SamState(), SamOptions(statement, skip), Trace()).graph


def _lowered(statement: Statement) -> Graph:
    check_order(statement)
    einsum = explicit(statement)
    program = EinsumProgram(einsum.name, (einsum,), statement.formats, (einsum.name,))
    views = views_of(program, [einsum.name], [einsum.name])
    (formula,) = formulas(views, statement.formats)
    format = statement.formats[einsum.name]
    table, _ = fill([RegionResult(statement.result, format, formula)], statement.order)
    return table.emit()


def _dealt(graph: Graph, options: SamOptions) -> Graph:
    assert options.statement.lanes is not None
    return parallelize(graph, *options.statement.lanes)


LOWERING = (
    graph_pass(
        "lower",
        "from the statement to loops, joins and sums over streams",
        lambda graph, options: _lowered(options.statement),
    ),
    *CLEANING,
    graph_pass(
        "parallelize",
        "deals a loop to lanes, where the statement says so",
        _dealt,
        is_needed=lambda state, options: (
            not options.has_graph and options.statement.lanes is not None
        ),
        optional=True,
    ),
)

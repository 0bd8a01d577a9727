"""Equality saturation within bounds. Source: Infinity Stream, appendix A; egg (POPL 2021)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sram_compute.optimise.alike import as_optimised, form
from gnarl.sw.compiler.sram_compute.optimise.costs import graph_cost, node_cost
from gnarl.sw.compiler.sram_compute.optimise.encode import Encoding
from gnarl.sw.compiler.sram_compute.optimise.extract import Term, choose, read_egraph
from gnarl.sw.compiler.sram_compute.optimise.rules import LANGUAGE, RULES, Rule
from gnarl.sw.compiler.sram_compute.tdfg.graph import (
    Broadcast,
    Compute,
    Const,
    Graph,
    Move,
    Node,
    Reduce,
    Tensor,
)
from gnarl.sw.compiler.sram_compute.tdfg.plan import Region, Repeat, Step
from gnarl.sw.workloads.loops.ir.nest import COMPARISONS
from gnarl.sw.workloads.loops.ir.scalar_type import BY_NAME, FLOAT32, ScalarType

_KINDS: dict[str, type[Node]] = {
    "C1": Compute,
    "C2": Compute,
    "C3": Compute,
    "Mv": Move,
    "Bc": Broadcast,
    "Reduce": Reduce,
    "Const": Const,
}
_CHANGE_TYPES = COMPARISONS | {"cast"}
"""Functions whose result is of another type than their last operand."""


@dataclass(frozen=True)
class Limits:
    """Limits for one graph.

    seconds
        no iteration begins behind them: far more than terms and matches leave to do, so that
        programs do not depend on how fast the host is.
    terms
        with more of them no iteration begins.
    matches
        of a rule in an iteration, at first; a rule with more pauses, and may have twice as many
        later. So an iteration adds a bounded number of terms.
    """

    seconds: float = 60.0
    terms: int = 6000
    matches: int = 400


@dataclass(frozen=True)
class Optimised:
    """An optimised graph. ``is_reordered``: whether floats may be computed in another order than
    before."""

    graph: Graph
    is_reordered: bool


def optimise(graph: Graph, *, reassociate: bool, limits: Limits = Limits()) -> Optimised:
    """A graph with the same outputs that costs at most as much.

    First by rules that keep every bit of floats; then, as far as limits go, in other orders, which
    change how float32 rounds only where ``reassociate`` is set. Raises ``WorkloadError`` where
    egglog is not installed.
    """
    best, least = Optimised(graph, False), graph_cost(graph)
    saturation = Saturation(Encoding(graph), reassociate)
    start = time.monotonic()
    for ruleset in ("exact", "reorder"):
        saturation.run(ruleset, limits, start)
        candidate = saturation.cheapest()
        cost = graph_cost(candidate)
        if cost < least:
            best = Optimised(candidate, reassociate and ruleset == "reorder")
            least = cost
    return best


def optimise_plan(
    steps: tuple[Step, ...], *, reassociate: bool, limits: Limits = Limits()
) -> tuple[Step, ...]:
    """All regions of a plan, each within the limits; of those that are alike, one."""
    known: dict[Any, tuple[Graph, Optimised]] = {}

    def optimised(region: Region) -> Region:
        graph = region.graph
        key = form(graph)
        if key not in known:
            known[key] = graph, optimise(graph, reassociate=reassociate, limits=limits)
        other, better = known[key]
        is_reordered = region.is_reordered or better.is_reordered
        return Region(as_optimised(graph, other, better.graph), is_reordered)

    def all_of(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        optimised_steps: list[Step] = []
        for step in steps:
            match step:
                case Region():
                    optimised_steps.append(optimised(step))
                case Repeat(body=body):
                    optimised_steps.append(replace(step, body=all_of(body)))
                case _:
                    optimised_steps.append(step)
        return tuple(optimised_steps)

    return all_of(steps)


def egglog_bindings() -> Any:
    """Raises ``WorkloadError`` where egglog is not installed."""
    try:
        from egglog import bindings
    except ImportError:
        raise WorkloadError(
            "egglog is not installed: must be, to optimise tensor dataflow graphs: "
            "pip install gnarl[sram]"
        ) from None
    return bindings


class Saturation:
    """An e-graph that grows."""

    def __init__(
        self, encoding: Encoding, reassociate: bool, rules: Iterable[Rule] = RULES
    ) -> None:
        bindings = egglog_bindings()
        self._encoding = encoding
        self._egraph: Any = bindings.EGraph()
        terms = encoding.commands()
        self._run("\n".join((LANGUAGE, *(rule.text for rule in rules), terms)))
        self._run(_facts(encoding.functions(), reassociate))

    def _run(self, program: str) -> list[Any]:
        found: list[Any] = self._egraph.run_program(*self._egraph.parse_program(program))
        return found

    def run(self, ruleset: str, limits: Limits, start: float) -> None:
        """Iterations until nothing changes, or a limit is reached."""
        before = -1
        rules = ruleset if ruleset == "exact" else "both"
        if rules == "both":
            self._run("(unstable-combined-ruleset both exact reorder)")
        step = (
            f"(run-schedule (let-scheduler limited (back-off :match-limit {limits.matches} "
            f":ban-length 2)) (repeat 3 (run-with limited {rules})))"
        )
        while time.monotonic() - start < limits.seconds:
            self._run(step)
            size = self._size()
            if size == before or size > limits.terms:
                return
            before = size

    def _size(self) -> int:
        """Terms and facts."""
        (found,) = self._run("(print-size)")
        return sum(count for _, count in found.sizes)

    def egraph_text(self) -> str:
        """The e-graph as JSON."""
        found: str = self._egraph.serialize([]).to_json()
        return found

    def cheapest(self) -> Graph:
        egraph = read_egraph(self.egraph_text())
        chosen = choose(egraph, self._cost(self._encoding.graph))
        return self._encoding.graph_of(chosen, egraph.roots)

    def _cost(self, graph: Graph) -> Callable[[Term], int]:
        """A function that gives the cost of a term; operands of comparisons and conversions are
        taken to be of the widest type."""
        types: list[ScalarType] = [node.type for node in graph.nodes if isinstance(node, Tensor)]
        widest = max(types, key=lambda type: (type.bits, type == FLOAT32), default=FLOAT32)

        def cost(term: Term) -> int:
            kind = _KINDS.get(term.kind)
            if kind is None:
                return 0
            function, type = "", widest
            if kind is Compute or kind is Reduce:
                function, _, name = term.literals[0].rpartition("|")
                if function not in _CHANGE_TYPES:
                    type = BY_NAME[name]
            return node_cost(kind, function, type)

        return cost


def _facts(functions: Iterable[tuple[str, ScalarType]], reassociate: bool) -> str:
    """Facts that say which functions may be reordered."""
    lines = []
    known = {(function, type) for function, type in functions}
    for function, type in sorted(known, key=str):
        name = f"{function}|{type}"
        is_exact = type.is_integer or reassociate
        if function in ("+", "*", "min", "max", "and", "or"):
            lines.append(f'(commutes "{name}")')
        if function in ("min", "max", "and", "or") or (function in ("+", "*") and is_exact):
            lines.append(f'(associates "{name}")')
        if function == "+" and is_exact and ("*", type) in known:
            lines.append(f'(distributes "*|{type}" "{name}")')
    return "\n".join(lines)

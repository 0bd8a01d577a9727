"""Chooses a term for each class of an e-graph so that the whole is cheap, shared terms once.

Source: the greedy extraction of DAGs in egraphs-good/extraction-gym: each class keeps the set of
classes that its best term needs, so that what two operands share is paid for once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Term:
    """``kind`` of ``operands``, which are classes; ``literals``: texts and numbers among the
    arguments, in order, bounds as ``name offset``."""

    kind: str
    operands: tuple[str, ...]
    literals: tuple[str, ...]


@dataclass(frozen=True)
class EGraph:
    """Terms of each class, in a fixed order; ``roots``: the class of each node that is one."""

    classes: dict[str, list[Term]]
    roots: dict[int, str]


@dataclass(frozen=True)
class Chosen:
    """A term for each class that is needed."""

    terms: dict[str, Term]

    def in_order(self, roots: Iterable[str]) -> list[str]:
        """Classes that the roots need, operands first."""
        ordered: dict[str, None] = {}
        stack = [(root, False) for root in reversed(list(roots))]
        while stack:
            name, is_done = stack.pop()
            if name in ordered:
                continue
            if is_done:
                ordered[name] = None
                continue
            stack.append((name, True))
            stack += [(each, False) for each in reversed(self.terms[name].operands)]
        return list(ordered)


def read_egraph(text: str) -> EGraph:
    """Reads an e-graph from egglog's JSON."""
    nodes = json.loads(text)["nodes"]

    def literal(node: Any) -> str | None:
        """What a number, a text or a bound says."""
        if node["op"] == "At":
            base, offset = (nodes[child] for child in node["children"])
            return f"{literal(base)} {literal(offset)}"
        if node["eclass"].startswith(("String-", "i64-")):
            text_of_node: str = node["op"]
            return json.loads(text_of_node) if text_of_node.startswith('"') else text_of_node
        return None

    classes: dict[str, list[Term]] = {}
    roots: dict[int, str] = {}
    for key in sorted(nodes):
        node = nodes[key]
        if node["op"] == "Root":
            number, root = (nodes[child] for child in node["children"])
            roots[int(number["op"])] = root["eclass"]
        if not node["eclass"].startswith("T-"):
            continue
        operands, literals = [], []
        for child in node["children"]:
            found = literal(nodes[child])
            if found is None:
                operands.append(nodes[child]["eclass"])
            else:
                literals.append(found)
        term = Term(node["op"], tuple(operands), tuple(literals))
        classes.setdefault(node["eclass"], []).append(term)
    return EGraph(classes, roots)


def choose(egraph: EGraph, cost: Callable[[Term], int]) -> Chosen:
    """For every class the cheapest term that is found; of equal ones that which computes before it
    moves. O(passes x terms x classes of a term)."""
    best: dict[str, _Best] = {}
    users: dict[str, list[_Entry]] = {}
    work: list[_Entry] = []
    for name, terms in egraph.classes.items():
        for term in terms:
            entry = _Entry(name, term, cost(term) * _SCALE)
            for operand in set(term.operands):
                users.setdefault(operand, []).append(entry)
            if not term.operands:
                work.append(entry)
    while work:
        later: dict[tuple[str, Term], _Entry] = {}
        for entry in work:
            candidate = _candidate(entry, best)
            known = best.get(entry.name)
            if candidate is None or (known is not None and candidate.total >= known.total):
                continue
            best[entry.name] = candidate
            for user in users.get(entry.name, ()):
                later[user.name, user.term] = user
        work = list(later.values())
    return Chosen({name: each.term for name, each in best.items()})


class _Entry(NamedTuple):
    """A term of a class, and what it costs by itself."""

    name: str
    term: Term
    cost: int


class _Best(NamedTuple):
    """What a class costs by a term: in all, and each class that the term needs."""

    total: int
    term: Term
    needed: dict[str, int]


def _candidate(entry: _Entry, best: Mapping[str, _Best]) -> _Best | None:
    """A class by one of its terms, if classes of its operands are known, and do not need it."""
    name, term, cost = entry
    if any(each not in best for each in term.operands):
        return None
    needed: dict[str, int] = {}
    for each in term.operands:
        needed |= best[each].needed
    if name in needed:
        return None
    if term.kind in ("C1", "C2", "C3"):
        cost += sum(best[each].term.kind == "Mv" for each in term.operands)
    needed[name] = cost
    return _Best(sum(needed.values()), term, needed)


_SCALE = 1000
"""Costs are counted in thousandths, for ties."""

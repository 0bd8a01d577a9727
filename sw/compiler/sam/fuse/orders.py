"""The orders of loops that respect a partial order: one after the other, and how many there are.

Source: FuseFlow, section 7, "dataflow ordering", and table 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import networkx as nx

from gnarl.sw.compiler.sam.fuse.partial_order import demanded


def valid_orders(graph: nx.DiGraph) -> Iterator[tuple[str, ...]]:
    """Every order of a region's loops that keeps to what storage, statements and the schedule
    demand, lexicographic by appearance of indices, one at a time.

    Whether an order has a graph only shows when it is lowered: a sum may need an accumulator of
    more indices than there is.
    """
    outer = demanded(graph)
    waits = dict(outer.in_degree)
    chosen: list[str] = []

    def extended() -> Iterator[tuple[str, ...]]:
        if len(chosen) == len(waits):
            yield tuple(chosen)
        for index in outer:
            if waits[index] == 0:
                waits[index] = -1
                chosen.append(index)
                for inner in outer[index]:
                    waits[inner] -= 1
                yield from extended()
                for inner in outer[index]:
                    waits[inner] += 1
                chosen.pop()
                waits[index] = 0

    return extended()


def count_orders(graph: nx.DiGraph) -> int:
    """How many ``valid_orders`` there are, exactly.

    Parts of the graph that have no edge between them mix freely; in each, ways to reach a set of
    loops that is closed to the outside are added up. Time and memory grow with the number of these
    sets.
    """
    outer = demanded(graph)
    total, placed = 1, 0
    for part in nx.weakly_connected_components(outer):
        total *= _ways(outer.subgraph(part)) * comb(placed + len(part), len(part))
        placed += len(part)
    return total


def _ways(graph: nx.DiGraph) -> int:
    names = list(graph)
    bit = {name: 1 << place for place, name in enumerate(names)}
    needed = {name: sum(bit[outer] for outer in graph.predecessors(name)) for name in names}
    ways = {0: 1}
    for _ in names:
        longer: dict[int, int] = {}
        for closed, count in ways.items():
            for name in names:
                if not closed & bit[name] and closed & needed[name] == needed[name]:
                    grown = closed | bit[name]
                    longer[grown] = longer.get(grown, 0) + count
        ways = longer
    (count,) = ways.values()
    return count

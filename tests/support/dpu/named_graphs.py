"""Random graphs of operations in networkx, with names, values and attributes that formats of files
have to write in other ways."""

from __future__ import annotations

from random import Random

import networkx as nx

_PIECES = (
    *("a", "b", "0", "1", "-", "_", " ", "  ", '"', "'", "&", "<", ">", "#", "[", "]", "\\", "/"),
    *("ä", "α", "&amp;", "&#65;", "&lt;", "]]>", ":", "=", ";", "%"),
)
_VALUES = (
    *(0, 1, -1, 2**31 - 1, -(2**31), 2**40, 0.5, -0.0, 1e-300, -2.5e300),
    *(5e-324, 1.7976931348623157e308),
)
_COMMENTS = ("x", "5 # [", '"q" & <', 3, 2.5, "a  b")


def named_graph(random: Random) -> nx.DiGraph:
    """Up to eight nodes; edges are numbered, in multigraphs also repeated ones."""
    is_multigraph = random.random() < 0.5
    graph = nx.MultiDiGraph() if is_multigraph else nx.DiGraph()
    for _ in range(random.randint(1, 8)):
        before = list(graph.nodes)
        node = _name(random, before)
        if before and random.random() < 0.65:
            op = random.choice(("add", "mul", "max", "min", "sub", "neg"))
            count = {"neg": 1, "sub": 2}.get(op, random.randint(1, 4))
            if not is_multigraph and count > len(before):
                op, count = "add", len(before)
            operands = (random.choices if is_multigraph else random.sample)(before, k=count)
            graph.add_node(node, op=op, **({"output": True} if random.random() < 0.2 else {}))
            rank = random.choice(("operand", "index"))
            for number, operand in enumerate(operands):
                graph.add_edge(operand, node, **{rank: number})
        else:
            value = random.choice((*_VALUES, random.uniform(-9, 9), random.randint(-999, 999)))
            graph.add_node(node, op=random.choice(("input", "const")), value=value)
        if random.random() < 0.3:
            graph.nodes[node][random.choice(("color", "comment"))] = random.choice(_COMMENTS)
    return graph


def _name(random: Random, others: list[str]) -> str:
    while True:
        pieces = random.choices(_PIECES, k=random.randint(1, 6))
        name = str(random.randint(-9, 99)) if random.random() < 0.15 else "".join(pieces)
        if name and name == name.strip() and name not in others:
            return name

"""Makes workloads from a seed: the project's examples, and DAGs of any size for measurements."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from gnarl.sw.workloads.dag.builder import DagBuilder
from gnarl.sw.workloads.dag.dag import Op
from gnarl.sw.workloads.dag.workload import DagWorkload

EXAMPLE_OPERATIONS = 10_000
"""Every example stands for at least so many two-operand operations."""


def write_examples(folder: str | Path) -> list[Path]:
    """Writes ``circuit.psdd`` and ``grid.mtx`` into a folder, created if missing; their paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "circuit.psdd": probabilistic_circuit(EXAMPLE_OPERATIONS, seed=1),
        "grid.mtx": grid_factor(EXAMPLE_OPERATIONS, seed=1),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def probabilistic_circuit(operations: int, seed: int) -> str:
    """The text of a PSDD file of at least so many operations.

    Variables are split in two again and again; each part has some decisions, whose elements pair
    decisions of its halves. So it's a sum-product network, smooth and decomposable, that sums to 1
    without evidence; unlike those of a true PSDD, a decision's primes may overlap.
    """
    variables = 4 + operations // 50
    while True:
        circuit = _Circuit(np.random.default_rng(seed))
        circuit.part(list(range(1, variables + 1)), decisions=1)
        if circuit.operations >= operations:
            return "\n".join([f"psdd {len(circuit.lines)}", *circuit.lines]) + "\n"
        variables += 1 + variables * (operations - circuit.operations) // circuit.operations


class _Circuit:
    DECISIONS = 6
    ELEMENTS = (1, 1, 1, 1, 2, 2, 3, 5)
    """Drawn from: half of the decisions of learnt circuits have one element."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.lines: list[str] = []
        self.operations = 0
        self.parts = 0

    def part(self, variables: list[int], decisions: int) -> list[int]:
        """Adds nodes over some variables; their numbers."""
        if len(variables) == 1:
            return self._leaves(variables[0])
        half = len(variables) // 4
        split = 1 + half + int(self.random.integers(max(1, len(variables) - 1 - 2 * half)))
        primes = self.part(variables[:split], self.DECISIONS)
        subs = self.part(variables[split:], self.DECISIONS)

        # Each node of the halves is used at least once.
        sizes = self.random.choice(self.ELEMENTS, decisions)
        while sizes.sum() < max(len(primes), len(subs)):
            sizes[self.random.integers(decisions)] += 1
        deals = [self._deal(nodes, sizes.sum()) for nodes in (primes, subs)]
        pairs = zip(*deals, strict=True)
        part = self._next_part()
        nodes = []
        for size in sizes.tolist():
            thetas = self.random.dirichlet(np.full(size, 2.0)).tolist() if size > 1 else [1.0]
            texts = []
            for theta in thetas:
                prime, sub = next(pairs)
                texts.append(f"{prime} {sub} {math.log(theta)!r}")
            nodes.append(self._add(f"D {{}} {part} {size} {' '.join(texts)}"))
            self.operations += 3 * size - 1 if size > 1 else 1
        return nodes

    def _leaves(self, variable: int) -> list[int]:
        part = self._next_part()
        probabilities = self.random.uniform(0.05, 0.95, 2).tolist()
        return [
            self._add(f"L {{}} {part} {variable}"),
            self._add(f"L {{}} {part} {-variable}"),
            *(self._add(f"T {{}} {part} {variable} {math.log(p)!r}") for p in probabilities),
        ]

    def _deal(self, nodes: list[int], count: int) -> list[int]:
        more = self.random.choice(nodes, count - len(nodes))
        return self.random.permutation(np.concatenate([nodes, more])).tolist()

    def _next_part(self) -> int:
        self.parts += 1
        return self.parts - 1

    def _add(self, line: str) -> int:
        self.lines.append(line.format(len(self.lines)))
        return len(self.lines) - 1


def grid_factor(operations: int, seed: int) -> str:
    """The text of a Matrix Market file, lower triangular, of at least so many operations.

    It's the incomplete Cholesky factor without fill-in of a diffusion problem on a square grid,
    five points a stencil, with random conductivities.
    Source: Meijerink, van der Vorst, Mathematics of Computation 31 (1977), method ICCG(0).
    """
    side = 2
    while 5 * side * side - 4 * side < operations:
        side += 1
    size = side * side
    random = np.random.default_rng(seed)
    west = np.exp(random.normal(size=(side, side)))
    north = np.exp(random.normal(size=(side, side)))
    west[:, 0] = 0
    north[0, :] = 0
    total = west + north + 0.01
    total[:, :-1] += west[:, 1:]
    total[:-1, :] += north[1:, :]

    diagonal = np.zeros(size)
    lines = []
    for row in range(size):
        y, x = divmod(row, side)
        rest = total[y, x]
        for column, weight in ((row - side, north[y, x]), (row - 1, west[y, x])):
            if weight:
                entry = -weight / diagonal[column]
                rest -= entry * entry
                lines.append(f"{row + 1} {column + 1} {float(entry)!r}")
        diagonal[row] = math.sqrt(rest)
        lines.append(f"{row + 1} {row + 1} {float(diagonal[row])!r}")
    header = ["%%MatrixMarket matrix coordinate real general", f"{size} {size} {len(lines)}"]
    return "\n".join([*header, *lines]) + "\n"


def random_dag(operations: int, seed: int) -> DagWorkload:
    """A workload of about so many operations and no fewer, shaped like a large circuit.

    Layers of sums of products, with parameters of their own; a product takes a value that is mostly
    near, in the layer before, seldom some layers back, or the layer's favourite with many users. A
    few products also take an indicator, one of some inputs whose users grow with the DAG. The last
    layer is summed up into the only output. Values stay near 1. Nodes have no names.
    O(operations): 10**6 take about a second.
    """
    random = np.random.default_rng(seed)
    width = max(1, min(64, math.isqrt(operations) // 2))
    terms = random.choice([2, 3, 4, 8], operations // 3 + 1 + width, p=[0.6, 0.3, 0.07, 0.03])
    owner = np.repeat(np.arange(len(terms)), terms)
    is_marked = random.random(len(owner)) < 0.15  # takes an indicator
    cost = 2 * terms - 1 + np.bincount(owner[is_marked], minlength=len(terms))
    layers = 1 + int(np.searchsorted(np.cumsum(cost), operations)) // width
    sums = layers * width
    terms = terms[:sums]
    products = int(terms.sum())
    owner = owner[:products]
    rank = np.arange(products) - np.repeat(np.cumsum(terms) - terms, terms)

    layer = owner // width
    back = np.minimum(random.geometric(0.9, products) - 1, layer)
    position = owner % width + np.rint(random.normal(scale=3, size=products)).astype(np.int64)
    favourite = random.random(products) < 0.05
    position[favourite] = (layer * 7)[favourite]
    chosen = (layer - back) * width + position % width
    chosen = np.where(rank == 0, owner, chosen)  # so that every value is used

    marked = np.flatnonzero(is_marked[:products])
    indicators = min(width, len(marked))
    thetas = random.random(products) + 0.1
    thetas /= np.bincount(owner, thetas)[owner]
    builder = DagBuilder()
    leaves = width + indicators + products
    builder.operations(np.full(leaves, Op.INPUT), np.zeros(leaves, np.int64), np.zeros(0, np.int64))
    ends = np.cumsum(terms + 1)
    product = np.repeat(ends - 1 - terms, terms) + rank
    value = np.concatenate([np.arange(width), leaves + ends - 1])  # inputs, then sums
    count = sums + products
    op = np.full(count, Op.MUL)
    op[ends - 1] = Op.ADD
    counts = np.full(count, 2)
    counts[ends - 1] = terms
    counts[product[marked]] = 3
    offsets = np.cumsum(counts) - counts
    operands = np.empty(int(counts.sum()), np.int64)
    operands[offsets[product]] = value[chosen]
    operands[offsets[product] + 1] = width + indicators + np.arange(products)
    operands[offsets[product[marked]] + 2] = width + random.permutation(len(marked)) % indicators
    operands[offsets[ends[owner] - 1] + rank] = leaves + product
    builder.operations(op, counts, operands)
    builder.operation(Op.ADD, value[-width:].tolist())
    dag, _ = builder.build()
    values = random.uniform(0.5, 1.5, width)
    inputs = np.concatenate([values, random.uniform(0.95, 1.05, indicators), thetas])
    return DagWorkload(f"random_{operations}_{seed}", dag, inputs)

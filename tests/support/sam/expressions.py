"""Random tensor statements with operands for them."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from gnarl.sw.workloads.tensor.tensor import Tensor

LEVELS = "dsb"
# All are finite for numbers of a few units: what is missing times infinity looks like zero
# times infinity by everyone.
_CALLS = ("relu", "gelu", "tanh")
_CALLS_EVERYWHERE = ("exp", "sigmoid")

_TENSORS, _INDICES = tuple("BCDEFGH"), tuple("ijkl")
_ODD_TENSORS = ("nan", "E2", "sum_", "_", "relu1", "X2", "inf")
_ODD_INDICES = ("row", "e1", "i", "_0")
_ODD_VALUES = (0.0, -0.0, 3.0, -1.0, 5.9604645e-8, -6.1e-5, 1e-45, 1e-300)
"""Zeros that are stored, and subnormals of float16 and float32; 1e-300 is 0 in all formats."""


@dataclass(frozen=True)
class Case:
    """A statement in the notation of the command line, and its operands by name."""

    text: str
    tensors: dict[str, Tensor]


def cases(indices: int = 4, operands: int = 5) -> st.SearchStrategy[Case]:
    """Statements over at most so many ``indices`` and so many ``operands``."""
    return st.builds(
        make,
        st.integers(1, indices),
        st.integers(1, operands),
        st.integers(0, (1 << 32) - 1),
        st.booleans(),
    )


def make(indices: int, operands: int, seed: int, odd: bool = False) -> Case:
    """A statement over ``indices`` loops, or fewer, with so many operands and constants.

    Formats fit the loop order; whether there is a graph for the statement is another question.
    ``odd``: with values at the ends of formats, dimensions without coordinates, and other names.
    """
    rng = random.Random(seed)
    names = (_ODD_INDICES if odd else _INDICES)[:indices]
    order = rng.sample(names, indices)
    sizes = {name: rng.randint(1, 5) for name in names}
    if rng.random() < 0.2:
        # Several words in a bitvector.
        sizes[rng.choice(names)] = rng.randint(31, 70)
    if odd and rng.random() < 0.3:
        sizes[rng.choice(names)] = 0
    maker = _Maker(rng, order, sizes, odd)
    expression = maker.expression(operands)
    used = [index for index in names if any(index in one for one in maker.accesses.values())]
    kept = rng.sample(used, min(len(used), rng.choice([0, 1, 1, 2, 2, 2, 3])))
    result = maker.access("X", tuple(kept))
    loops = [index for index in order if index in used]
    options = [*maker.formats, *([f"-s=reorder({','.join(loops)})"] if loops else [])]
    return Case(f"{result}={written(expression, kept)} {' '.join(options)}", maker.tensors)


@dataclass(frozen=True)
class Node:
    """An operator or function and its operands, or an access with its indices."""

    kind: str
    parts: tuple[Node, ...] = ()
    indices: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        texts = [part.text for part in self.parts]
        if not texts:
            return self.kind
        if self.kind in "+-*":
            return self.kind.join(texts) if len(texts) > 1 else f"{self.kind}{texts[0]}"
        return f"{self.kind.strip('()')}({','.join(texts)})"

    @property
    def every(self) -> list[Node]:
        return [self, *(each for part in self.parts for each in part.every)]


def written(node: Node, kept: Collection[str]) -> str:
    """With the sums over terms that have functions in them written out."""
    if node.parts and node.kind in ("+", "-", "()"):
        texts = tuple(Node(written(part, kept)) for part in node.parts)
        return Node(node.kind, texts).text
    text, every = node.text, node.every
    if all(each.kind in "+-*()" for each in every if each.parts):
        return text
    for index in sorted({index for each in every for index in each.indices} - {*kept}):
        text = f"sum({index},{text})"
    return text


class _Maker:
    def __init__(
        self, rng: random.Random, order: list[str], sizes: dict[str, int], odd: bool
    ) -> None:
        self._rng = rng
        self._odd = odd
        self._order = order
        self._sizes = sizes
        self.accesses: dict[str, tuple[str, ...]] = {}
        self.tensors: dict[str, Tensor] = {}
        self.formats: list[str] = []

    def expression(self, operands: int) -> Node:
        rng = self._rng
        if operands == 1:
            return self._atom()
        left = rng.randint(1, operands - 1)
        operator = rng.choice(["*"] * 6 + ["+"] * 4 + ["-"] * 2 + ["max", "min", "call"])
        if operator == "call":
            function = rng.choice(_CALLS)
            return Node(function, (self.expression(operands),))
        one, other = self.expression(left), self.expression(operands - left)
        if operator in ("max", "min"):
            return Node(operator, (one, other))
        if operator == "*":
            one, other = (bracketed(part) if part.kind in "+-" else part for part in (one, other))
        elif rng.random() < 0.5:
            other = bracketed(other)
        return Node(operator, (one, other))

    def _atom(self) -> Node:
        rng = self._rng
        kind = rng.randrange(16)
        if kind == 0:
            return Node(str(rng.choice([0.5, 2, 3])))
        if kind == 1 and self.accesses:
            name = rng.choice(sorted(self.accesses))
            indices = self.accesses[name]
            atom = Node(f"{name}({','.join(indices)})" if indices else name, (), indices)
        else:
            atom = self._operand()
        if kind == 2:
            return Node("-", (atom,))
        if kind == 3:
            return Node(rng.choice(_CALLS_EVERYWHERE), (atom,))
        return atom

    def _operand(self) -> Node:
        rng = self._rng
        name = (_ODD_TENSORS if self._odd else _TENSORS)[len(self.tensors)]
        count = min(len(self._order), rng.choice([0, 1, 1, 2, 2, 2, 3, 3]))
        indices = tuple(rng.sample(self._order, count))
        shape = tuple(self._sizes[index] for index in indices)
        density = rng.choice([0.0, 0.1, 0.3, 0.6, 1.0])
        noise = np.random.default_rng(rng.getrandbits(32))
        kept = noise.random(shape) < density
        values = np.round(noise.normal(size=shape), 3)
        if self._odd and rng.random() < 0.7:
            values = noise.choice(_ODD_VALUES, shape)
        if not shape:
            self.tensors[name] = Tensor.from_any(float(values))
        else:
            places = np.nonzero(kept)
            self.tensors[name] = Tensor(shape, np.stack(places, axis=1), values[places])
        self.accesses[name] = indices
        return Node(self.access(name, indices), (), indices)

    def access(self, name: str, indices: tuple[str, ...]) -> str:
        if not indices:
            return name
        modes = sorted(range(len(indices)), key=lambda mode: self._order.index(indices[mode]))
        levels = "".join(self._rng.choice(LEVELS) for _ in indices)
        self.formats.append(f"-f={name}:{levels}:{','.join(map(str, modes))}")
        return f"{name}({','.join(indices)})"


def bracketed(node: Node) -> Node:
    return Node("()", (node,))

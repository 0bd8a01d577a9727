"""Random tensor statements with operands for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from sw.compiler.frontend.tensor import Tensor

LEVELS = "dsb"
# A large index, of several words in a bitvector, is rare: there are dense tensors, too.
_SIZES = st.lists(st.integers(1, 5), min_size=4, max_size=4)
# All are finite for numbers of a few units: what is missing times infinity is not told from zero
# times infinity by everyone.
_CALLS = ("relu", "gelu", "tanh")
_CALLS_EVERYWHERE = ("exp", "sigmoid")


@dataclass(frozen=True)
class Case:
    """A statement in the notation of the command line, and its operands by name."""

    text: str
    tensors: dict[str, Tensor]


@st.composite
def cases(draw: Any, indices: int = 4, operands: int = 4) -> Case:
    """Statements over at most so many ``indices`` and about so many ``operands``.

    Formats fit the loop order; whether there is a graph for the statement is another question.
    """
    names = "ijkl"[: draw(st.integers(1, indices))]
    order = draw(st.permutations(names))
    sizes = dict(zip("ijkl", draw(_SIZES), strict=True))
    if draw(st.integers(0, 5)) == 0:
        sizes[draw(st.sampled_from(names))] = draw(st.integers(31, 70))
    maker = _Maker(draw, order, sizes)
    expression = maker.expression(draw(st.integers(1, operands)))
    used = [index for index in names if any(index in one for one in maker.accesses.values())]
    kept = draw(st.lists(st.sampled_from(used), unique=True, max_size=3)) if used else []
    result = maker.access("X", tuple(kept))
    loops = [index for index in order if index in used]
    options = [*maker.formats, *([f"-s=reorder({','.join(loops)})"] if loops else [])]
    return Case(f"{result}={expression} {' '.join(options)}", maker.tensors)


class _Maker:
    def __init__(self, draw: Any, order: list[str], sizes: dict[str, int]) -> None:
        self._draw = draw
        self._order = order
        self._sizes = sizes
        self.accesses: dict[str, tuple[str, ...]] = {}
        self.tensors: dict[str, Tensor] = {}
        self.formats: list[str] = []

    def expression(self, operands: int) -> str:
        draw = self._draw
        if operands == 1:
            return self._atom()
        left = draw(st.integers(1, operands - 1))
        operator = draw(st.sampled_from(["*", "*", "*", "+", "+", "-", "max", "min", "call"]))
        if operator == "call":
            return f"{draw(st.sampled_from(_CALLS))}({self.expression(operands)})"
        one, other = self.expression(left), self.expression(operands - left)
        if operator in ("max", "min"):
            return f"{operator}({one},{other})"
        if operator == "*":
            one, other = (f"({part})" if _is_open(part) else part for part in (one, other))
        elif draw(st.booleans()):
            other = f"({other})"
        return f"{one}{operator}{other}"

    def _atom(self) -> str:
        draw = self._draw
        kind = draw(st.integers(0, 15))
        if kind == 0:
            return str(draw(st.sampled_from([0.5, 2, 3])))
        if kind == 1 and self.accesses:
            name = draw(st.sampled_from(sorted(self.accesses)))
            atom = f"{name}({','.join(self.accesses[name])})" if self.accesses[name] else name
        else:
            atom = self._operand()
        if kind == 2:
            return f"-{atom}"
        if kind == 3:
            return f"{draw(st.sampled_from(_CALLS_EVERYWHERE))}({atom})"
        return atom

    def _operand(self) -> str:
        draw = self._draw
        name = "BCDEFGH"[len(self.tensors)]
        indices = tuple(draw(st.lists(st.sampled_from(self._order), unique=True, max_size=3)))
        shape = tuple(self._sizes[index] for index in indices)
        density = draw(st.sampled_from([0.0, 0.1, 0.3, 0.6, 1.0]))
        rng = np.random.default_rng(draw(st.integers(0, 1 << 16)))
        kept = rng.random(shape) < density
        values = np.round(rng.normal(size=shape), 3)
        if not shape:
            self.tensors[name] = Tensor.from_any(float(values))
        else:
            places = np.nonzero(kept)
            self.tensors[name] = Tensor(shape, np.stack(places, axis=1), values[places])
        self.accesses[name] = indices
        return self.access(name, indices)

    def access(self, name: str, indices: tuple[str, ...]) -> str:
        if not indices:
            return name
        modes = sorted(range(len(indices)), key=lambda mode: self._order.index(indices[mode]))
        levels = "".join(self._draw(st.sampled_from(LEVELS)) for _ in indices)
        self.formats.append(f"-f={name}:{levels}:{','.join(map(str, modes))}")
        return f"{name}({','.join(indices)})"


def _is_open(text: str) -> bool:
    """Whether a sum stands outside of all parentheses."""
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0 and character in "+-":
            return True
    return False

"""Random tensor statements that have corners on purpose, each of which is rare or absent elsewhere.

A tensor is read by any of its indices again, transposed too; operands are empty, full, or have one
entry in the last corner; values cancel, are zeros of both signs, subnormals, or the edges of the
format; constants are 0, -0 and powers of two; tensors have up to four modes; a loop may have lanes.
Where a number may be infinite or NaN, all operands are dense: what is missing, times infinity, is 0
in the golden model and NaN in graphs.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from gnarl.hw.lib.formats import FixedFormat, holds, parse_format
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.sam.expressions import LEVELS, Node, bracketed, written

FORMATS = ("float32", "float16", "bfloat16", "float8_e5m2", "float8_e4m3", "fixed16.8", "fixed12.0")

KINDS = (
    *("twice", "transposed", "diagonal", "scalar", "four modes", "size 0", "size 1", "equal sizes"),
    *("words", "empty", "full", "last corner", "empty rows", "cancel", "zeros", "tiny", "edge"),
    *("infinite", "zero constant", "small constant", "subtraction", "brackets", "negation"),
    *("function", "extremum", "scalar result", "four loops", "lanes", "no skips", "fixed"),
    *("against", "own index", "own operand", "no such function", "mixed levels"),
)
"""What a statement may have, by name."""

LIMITS = (
    "; a sparse accumulator holds at most 2 indices, put ",
    " below a dense level that lies below level ",
    " would be walked again in each turn of the loop over ",
)
"""Texts of errors that any statement may meet."""

_LETTERS = "ijklm"
_SMALL = (0, 1, 1, 2, 2, 3, 3, 4, 5)
_LARGE = (7, 31, 32, 33, 63, 64, 65)
_FINITE = ("relu", "relu", "tanh", "gelu")
_ANYWHERE = ("exp", "sigmoid")
_INFINITE = ("reciprocal", "sqrt", "log")


@dataclass(frozen=True)
class Corner:
    """A statement with operands, the machine's number format, whether lookups skip, which of
    ``KINDS`` it has, and texts that an error of it may have, ``LIMITS`` besides."""

    text: str
    tensors: dict[str, Tensor]
    format: str
    skip: bool
    kinds: frozenset[str]
    refusals: tuple[str, ...]


def corner(seed: int) -> Corner:
    """The statement of a seed."""
    return _Maker(random.Random(seed)).made()


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._kinds: set[str] = set()
        self._refusals: list[str] = []
        self._format = rng.choice((*FORMATS, "float32", "float32", "float16", "bfloat16"))
        self._fixed = isinstance(parse_format(self._format), FixedFormat)
        # Numbers of 8 bits overflow soon.
        self._infinite = not self._fixed and (rng.random() < 0.2 or "float8" in self._format)
        names = _LETTERS[: rng.choice((1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5))]
        self._order = rng.sample(names, len(names))
        self._equal = rng.random() < 0.55
        self._sizes = self._drawn_sizes()
        self._accesses: dict[str, list[tuple[str, ...]]] = {}
        self._noted("infinite", self._infinite)
        self._noted("fixed", self._fixed)

    def _noted(self, kind: str, there: bool = True) -> None:
        if there:
            self._kinds.add(kind)

    def _drawn_sizes(self) -> dict[str, int]:
        rng, least = self._rng, int(self._infinite)
        small = [size for size in _SMALL if size >= least]
        common = rng.choice(small)
        sizes = {name: common if self._equal else rng.choice(small) for name in self._order}
        if rng.random() < 0.2 and (len(sizes) <= 2 or not self._equal):
            large = rng.choice(_LARGE)
            chosen = sizes if self._equal else [rng.choice(self._order)]
            sizes |= dict.fromkeys(chosen, large)
        return sizes

    def made(self) -> Corner:
        rng = self._rng
        expression = self._expression(rng.choice((1, 2, 2, 3, 3, 4, 5, 6)))
        uses = [indices for each in self._accesses.values() for indices in each]
        used = [index for index in self._order if any(index in indices for indices in uses)]
        kept = tuple(rng.sample(used, min(len(used), rng.choice((0, 1, 1, 2, 2, 2, 3, 4)))))
        missing = [index for index in self._order if index not in used]
        if missing and rng.random() < 0.2:
            kept += (missing[0],)
            self._refused("own index", "so its size is not known; give the shape of X")
        loops = [index for index in self._order if index in used or index in kept]
        result = self._shown("X", kept)
        options = self._options({**{n: each[0] for n, each in self._accesses.items()}, "X": kept})
        if loops:
            options.append(f"-s=reorder({','.join(loops)})")
            if rng.random() < 0.12:
                for index in rng.sample(loops, min(len(loops), rng.choice((1, 1, 2)))):
                    options.append(f"-s=parallelize({index},{rng.choice((2, 3, 4, 8, 16, 18))})")
                self._refused("lanes", "parallelize(")
        tensors = {name: self._tensor(each[0]) for name, each in self._accesses.items()}
        text = f"{result}={written(expression, kept)} {' '.join(options)}"
        skip = rng.random() < 0.75
        self._count(kept, loops, uses, skip)
        kinds = frozenset(self._kinds)
        return Corner(text, tensors, self._format, skip, kinds, tuple(self._refusals))

    def _refused(self, kind: str, text: str) -> None:
        self._noted(kind)
        self._refusals.append(text)

    def _count(
        self, kept: tuple[str, ...], loops: list[str], uses: list[tuple[str, ...]], skip: bool
    ) -> None:
        sizes = {self._sizes[index] for index in loops}
        self._noted("scalar result", not kept)
        self._noted("four loops", len(loops) > 3)
        self._noted("four modes", any(len(indices) > 3 for indices in uses))
        self._noted("scalar", () in uses)
        self._noted("size 0", 0 in sizes)
        self._noted("size 1", 1 in sizes)
        self._noted("words", max(sizes, default=0) > 31)
        self._noted("equal sizes", self._equal and len(loops) > 1)
        self._noted("no skips", not skip)

    # Expressions.

    def _expression(self, operands: int) -> Node:
        rng = self._rng
        if operands == 1:
            return self._atom()
        operator = rng.choice(["*"] * 6 + ["+"] * 4 + ["-"] * 3 + ["max", "min", "call"])
        if operator == "call":
            return self._call(self._expression(operands))
        left = rng.randint(1, operands - 1)
        one, other = self._expression(left), self._expression(operands - left)
        if operator in ("max", "min"):
            self._noted("extremum")
            return Node(operator, (one, other))
        if operator == "*":
            one, other = (bracketed(part) if part.kind in "+-" else part for part in (one, other))
        elif rng.random() < 0.6:
            other = bracketed(other)
        self._noted("subtraction", operator == "-")
        self._noted("brackets", other.kind == "()")
        return Node(operator, (one, other))

    def _call(self, part: Node) -> Node:
        rng = self._rng
        names = ("relu",) if self._fixed else (*_FINITE, *_INFINITE * self._infinite)
        if self._fixed and rng.random() < 0.05:
            names = _ANYWHERE
            self._refused("no such function", " is not supported")
        self._noted("function")
        return Node(rng.choice(names), (part,))

    def _atom(self) -> Node:
        rng = self._rng
        kind = rng.randrange(20)
        if kind < 2:
            return self._constant()
        atom = self._access()
        if kind == 2:
            self._noted("negation")
            return Node("-", (atom,))
        if kind == 3 and not self._fixed:
            self._noted("function")
            return Node(rng.choice((*_ANYWHERE, *_INFINITE * self._infinite)), (atom,))
        return atom

    def _constant(self) -> Node:
        rng = self._rng
        if rng.random() < 0.4:
            self._noted("zero constant")
            return Node(rng.choice(("0", "0.0", "-0", "-0.0")))
        if rng.random() < 0.3:
            self._noted("small constant")
            return Node("1e-6")
        return Node(rng.choice(("0.5", "1", "2", "3")))

    def _access(self) -> Node:
        rng = self._rng
        name = ""
        if self._accesses and rng.random() < 0.35:
            name = rng.choice(sorted(self._accesses))
            indices = self._again(name)
        if not name:
            name = f"T{len(self._accesses)}"
            count = min(len(self._order), rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4)))
            indices = tuple(rng.sample(self._order, count))
        if len(indices) > 1 and rng.random() < 0.006:
            indices = (indices[0],) * 2 + indices[2:]
            self._refused("diagonal", " appears twice in ")
        if rng.random() < 0.002:
            self._refused("own operand", "result X cannot also be an operand")
            return Node(self._shown("X", indices), (), indices)
        self._accesses.setdefault(name, []).append(indices)
        return Node(self._shown(name, indices), (), indices)

    def _again(self, name: str) -> tuple[str, ...]:
        first = self._accesses[name][0]
        indices = first
        if self._equal and self._rng.random() < 0.7:
            indices = tuple(self._rng.sample(self._order, len(first)))
        self._noted("twice")
        self._noted("transposed", indices != first and sorted(indices) == sorted(first))
        return indices

    @staticmethod
    def _shown(name: str, indices: tuple[str, ...]) -> str:
        return f"{name}({','.join(indices)})" if indices else name

    # Formats, and what is stored.

    def _options(self, accesses: dict[str, tuple[str, ...]]) -> list[str]:
        rng, found = self._rng, []
        for name, indices in accesses.items():
            modes = sorted(range(len(indices)), key=lambda mode: self._place(indices[mode]))
            if rng.random() < 0.03:
                rng.shuffle(modes)
            letters = "d" if self._infinite and name != "X" else LEVELS
            levels = "".join(rng.choice(letters) for _ in indices)
            self._noted("mixed levels", len(set(levels)) > 1)
            if indices:
                found.append(f"-f={name}:{levels}:{','.join(map(str, modes))}")
            for each in self._accesses.get(name, [indices]):
                places = [self._place(each[mode]) for mode in modes]
                if places != sorted(places):
                    self._refused("against", " in loop order ")
        return found

    def _place(self, index: str) -> int:
        return self._order.index(index)

    def _tensor(self, indices: tuple[str, ...]) -> Tensor:
        rng = self._rng
        shape = tuple(self._sizes[index] for index in indices)
        noise = np.random.default_rng(rng.getrandbits(32))
        values = self._values(noise, shape)
        if not shape:
            return Tensor.from_any(float(values))
        places = np.nonzero(self._kept(noise, shape))
        return Tensor(shape, np.stack(places, axis=1), values[places])

    def _kept(self, noise: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        kind = self._rng.choice(("empty", "full", "last corner", "empty rows", *[""] * 6))
        self._noted(kind, bool(kind))
        if kind == "empty":
            return np.zeros(shape, bool)
        if kind == "full":
            return np.ones(shape, bool)
        if kind == "last corner":
            kept = np.zeros(shape, bool)
            kept[tuple(slice(-1, None) for _ in shape)] = True
            return kept
        kept = noise.random(shape) < self._rng.choice((0.1, 0.3, 0.6, 0.9))
        if kind == "empty rows":
            kept[noise.random(shape[0]) < 0.5] = False
        return kept

    def _values(self, noise: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        kinds = ("cancel", "cancel", "zeros", "tiny", *["real"] * 3, *["edge"] * 3 * self._infinite)
        kind = self._rng.choice(kinds)
        self._noted(kind, kind != "real")
        least = parse_format(self._format).smallest
        most = parse_format(self._format).largest
        some = {
            "cancel": (1.0, -1.0, 2.0, -2.0),
            "zeros": (0.0, -0.0, 1.0, -1.0),
            "tiny": (least, -least, least / 2, 3 * least, -0.0, 1e-300, 0.5),
            "edge": (most, -most, most / 2, -1.0, 2.0, least),
        }.get(kind)
        values = (
            np.round(noise.normal(size=shape), 3) if some is None else noise.choice(some, shape)
        )
        return np.where(holds(self._format, values), values, 1.0)

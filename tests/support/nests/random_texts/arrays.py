"""Parameters of random nests: arrays of any type and rank, and values for them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from gnarl.sw.workloads.loops.ir.scalar_type import BY_NAME, FLOAT32, INT32, ScalarType
from tests.support.arithmetic.special_floats import SPECIAL

PADDING = 4
"""Elements of each dimension behind those that loops count through."""

SIZES = {"n": (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 17), "m": (0, 1, 2, 3, 4, 5, 7, 8, 9, 11)}
"""What sizes may be: about those of vectors of 2, 4 and 8 lanes, or several of these."""

CONSTANT = 8
LONGEST = {"n": "n", "m": "m", "8": str(CONSTANT), "2n": "2 * n", "nm": "n * m"}
"""Of each kind of dimension, how far loops count in it."""

ALL_TYPES = tuple(name for name in BY_NAME if name != "bool")


@dataclass(frozen=True)
class Declared:
    """``dimensions``: a key of ``LONGEST`` each. ``holds``: the dimension of which an integer array
    has places, if it does; or ``"offsets n"``, ``"lengths n"``, ``"coordinates"``."""

    name: str
    type: ScalarType
    dimensions: tuple[str, ...]
    holds: str = ""

    @property
    def text(self) -> str:
        return f"{self.name}: {self.type}[{', '.join(map(shape, self.dimensions))}]"


PLACES = (
    Declared("i", INT32, ("n",), "n"),
    Declared("h", INT32, ("n",), "n"),
    Declared("j", INT32, ("m",), "m"),
    Declared("o", INT32, ("n",), "offsets n"),
    Declared("q", INT32, ("n",), "offsets m"),
    Declared("l", INT32, ("n",), "lengths n"),
    Declared("r1", INT32, ("n",), "coordinates"),
    Declared("r2", INT32, ("m",), "coordinates"),
)
"""Arrays of whole numbers that indices and bounds are loaded from."""


def shape(dimension: str) -> str:
    return f"{LONGEST[dimension]} + {PADDING}"


def declare(random: Random, types: tuple[str, ...]) -> list[Declared]:
    """Arrays of data, two to five; those of one type and shape are frequent."""
    found: list[Declared] = []
    for name in "abcdefg"[: random.randint(2, 5)]:
        if found and random.random() < 0.4:
            like = random.choice(found)
            found.append(Declared(name, like.type, like.dimensions))
            continue
        type = random.choice(("float32", "float32", *types))
        ranks = ("n", "n", "m", "8", "nm", "mn", "n8", "nn", "nm8", "mn8")
        dimensions = random.choice([tuple(rank) for rank in ranks] + [("2n",), ("nm",)])
        found.append(Declared(name, BY_NAME[type], dimensions))
    return found


def random_values(
    random: Random, arrays: list[Declared], *, exact: bool, most: dict[str, int] | None = None
) -> dict[str, np.ndarray]:
    """Values of all parameters. ``exact``: floats are small whole numbers; otherwise NaNs,
    infinities, zeros of either sign and subnormals are among them, and edges among integers.
    ``most``: of sizes, less than ``SIZES`` have."""
    rng = np.random.default_rng(random.getrandbits(32))
    n, m = (random.choice(SIZES[name]) for name in "nm")
    n, m = (min(size, (most or {}).get(name, size)) for name, size in (("n", n), ("m", m)))
    lengths = {"n": n, "m": m, "8": CONSTANT, "2n": 2 * n, "nm": n * m}
    special = 0.0 if exact else random.choice((0.0, 0.0, 0.1, 0.5))
    zeros = random.random() < 0.3

    def data(type: ScalarType, shape: list[int]) -> np.ndarray:
        edges = SPECIAL
        if type == FLOAT32:
            plain = rng.integers(-2, 3, shape) if exact else rng.standard_normal(shape)
        else:
            plain = rng.integers(max(type.least, -3), 10, shape)
            edges = np.array([type.least, type.most, 0, 1, type.most - 1], type.dtype)
        drawn = rng.choice(edges, shape)
        chance = special if type == FLOAT32 else random.choice((0.0, 0.0, 0.2))
        return np.where(rng.random(shape) < chance, drawn, plain.astype(type.dtype))

    values = {}
    for each in arrays:
        count = [lengths[dimension] + PADDING for dimension in each.dimensions]
        values[each.name] = data(each.type, count)
        if zeros:
            values[each.name][...] = 0
    for each in PLACES:
        length = lengths[each.dimensions[0]] + PADDING
        kind, _, of = each.holds.partition(" ")
        if kind == "offsets":
            found = np.sort(rng.integers(0, lengths[of] + 1, length))
        elif kind == "lengths":
            found = rng.integers(0, min(lengths[of], 3) + 1, length)
        elif kind == "coordinates":
            found = np.sort(rng.choice(m + length + PADDING, length, replace=False))
        else:
            found = rng.integers(0, rng.integers(1, lengths[each.holds] + PADDING + 1), length)
        values[each.name] = found.astype(np.int32)
    values |= {"reals": np.zeros(8, np.float32), "wholes": np.zeros(8, np.int32)}
    values["s"] = data(FLOAT32, [])
    values["t"] = np.array(min(n, m, random.choice((0, 1, 2, 3))), np.int32)
    return values

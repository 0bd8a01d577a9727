"""Products and sums of two sparse fibers, decoupled: the access unit merges them.

What is computed of a coordinate is stored in the next one's case, where it need not be waited for;
in the first one's, a word of the result is stored as it was. v1, in the one lane of m1: what will
be stored; s2: where; s0: how many entries a compressed result has.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.hw.tmu.access_isa import Event, Mode
from gnarl.sw.compiler.tmu.by_hand.layers import (
    Fiber,
    Layers,
    Token,
    Value,
    WrittenLayer,
    mask,
    word,
)
from gnarl.sw.compiler.tmu.by_hand.site import Site

SIDES = ("left", "right")

_TAKE = """
    add s1, deq, zero
    store.v v1, [s2], m1"""

_WHICH = """
    add s2, deq, zero
    or s2, s2, deq"""
"""Code that takes the word of the fiber that has the coordinate, of words of both fibers."""

_ALL = 3
"""The mask of both fibers, in s4."""


def products(site: Site, layers: Layers) -> str:
    """Products into a dense result."""
    if not site.arrays["out"].words:
        return "    halt"
    fibers = _Fibers(site, layers, Mode.CONJUNCTIVE)
    fibers.merged.on(Event.ITERATION, *fibers.values, word(fibers.place(0)), Token("both"))
    cases = f"""
both:{_TAKE}
    fmul.v v1, s1, deq.s
    add s2, deq, zero
    jump_token"""
    return _dense(site, fibers, cases)


def sums(site: Site, layers: Layers) -> str:
    """Sums into a dense result."""
    if not site.arrays["out"].words:
        return "    halt"
    fibers = _Fibers(site, layers, Mode.DISJUNCTIVE)
    places = [word(fibers.place(unit)) for unit in range(2)]
    steps = mask(fibers.merged), *fibers.values, *places
    fibers.merged.on(Event.ITERATION, *steps, Token("any"))
    return _dense(site, fibers, _either(_WHICH))


def compressed_products(site: Site, layers: Layers) -> str:
    fibers = _Fibers(site, layers, Mode.CONJUNCTIVE)
    coordinate = word(fibers.coordinates[0])
    fibers.merged.on(Event.ITERATION, *fibers.values, coordinate, Token("both"))
    cases = f"""
both:{_TAKE}
    fmul.v v1, s1, deq.s
    store deq, [s0 + {site.arrays["out"].base}]{_next_entry(site)}
    jump_token"""
    return _compressed(site, fibers, cases)


def compressed_sums(site: Site, layers: Layers) -> str:
    fibers = _Fibers(site, layers, Mode.DISJUNCTIVE)
    steps = mask(fibers.merged), *fibers.values, *map(word, fibers.coordinates)
    fibers.merged.on(Event.ITERATION, *steps, Token("any"))
    store = f"""{_WHICH}
    store s2, [s0 + {site.arrays["out"].base}]{_next_entry(site)}"""
    return _compressed(site, fibers, _either(store))


def matrix_product(site: Site, layers: Layers) -> str:
    """Products of each row with each row of the other matrix; s0: the sum."""
    left, right, merged = _pairs_of_rows(site, layers)
    columns = site.sizes["right_rows"]
    place = right.address(site.arrays["out"], left.induction, right.induction, scale=columns)
    merged.on(Event.END, word(place), Token("pair"))
    return """
    jump_token
both:
    add s1, deq, zero
    fmul_add s0, s1, deq, s0
    jump_token
pair:
    store s0, [deq]
    add s0, zero, zero
    jump_token
end:
    halt
"""


def compressed_matrix_product(site: Site, layers: Layers) -> str:
    """s0: the sum; s2: whether there is one; s3: how many entries there are."""
    left, right, merged = _pairs_of_rows(site, layers)
    merged.on(Event.END, word(right.induction), Token("pair"))
    right.on(Event.END, word(left.induction), Token("row"))
    offsets, out, values = (site.arrays[name].base for name in ("offsets", "out", "out_values"))
    return f"""
    store zero, [{offsets}]
    jump_token
both:
    add s1, deq, zero
    fmul_add s0, s1, deq, s0
    add s2, 1, zero
    jump_token
pair:
    add s1, deq, zero
    branch_eq s2, zero, none
    store s1, [s3 + {out}]
    store s0, [s3 + {values}], s3 += 1
    add s0, zero, zero
    add s2, zero, zero
none:
    jump_token
row:
    store s3, [deq + {offsets + 1}]
    jump_token
end:
    halt
"""


def _pairs_of_rows(site: Site, layers: Layers) -> tuple[WrittenLayer, WrittenLayer, WrittenLayer]:
    """Layers of rows, of the other matrix's rows, and of what both have."""
    left = layers.single(Fiber(0, site.sizes["rows"]))
    fibers = [_row(site, left, "left")]
    right = layers.single(Fiber(0, site.sizes["right_rows"]))
    fibers.append(_row(site, right, "right"))
    merged, _, values = _merged(site, layers, Mode.CONJUNCTIVE, fibers)
    merged.on(Event.ITERATION, *map(word, values), Token("both"))
    left.on(Event.END, Token("end"))
    return left, right, merged


class _Fibers:
    """Fibers of two vectors, or of the rows of two matrices, one after the other.

    ``outer``: the layer of rows, or that which merges; ``values``: steps that queue them.
    """

    def __init__(self, site: Site, layers: Layers, mode: Mode) -> None:
        self._site = site
        if self.has_rows:
            self.outer = layers.single(Fiber(0, site.sizes["rows"]))
            fibers = [_row(site, self.outer, side) for side in SIDES]
        else:
            fibers = [Fiber(0, site.arrays[side].words) for side in SIDES]
        self.merged, self.coordinates, values = _merged(site, layers, mode, fibers)
        if not self.has_rows:
            self.outer = self.merged
        self.values = [*map(word, values)]

    @property
    def has_rows(self) -> bool:
        return "rows" in self._site.sizes

    def place(self, unit: int) -> Value:
        """The place in the dense result."""
        out, coordinate = self._site.arrays["out"], self.coordinates[unit]
        if not self.has_rows:
            return self.merged.address(out, coordinate)
        columns = self._site.sizes["columns"]
        return self.merged.address(out, self.outer.induction, coordinate, scale=columns)


def _row(site: Site, rows: WrittenLayer, side: str) -> Fiber:
    offsets = site.arrays[f"{side}_offsets"]
    first, last = (
        rows.memory(offsets, rows.induction, first=place, temporal=False) for place in (0, 1)
    )
    return Fiber(first, last, ordered=True)


def _merged(
    site: Site, layers: Layers, mode: Mode, fibers: Sequence[Fiber]
) -> tuple[WrittenLayer, list[Value], list[Value]]:
    """The layer, and coordinates and values of both fibers."""
    merged = layers.merged(mode, *fibers)
    coordinates, values = (
        [
            merged.memory(site.arrays[f"{side}{suffix}"], induction)
            for side, induction in zip(SIDES, merged.inductions, strict=True)
        ]
        for suffix in ("", "_values")
    )
    return merged, coordinates, values


def _begin(first: int) -> str:
    """Begins the fibers' lists. ``first``: the word that the first coordinate stores."""
    return f"""
    first_lanes m1, 1
    add s2, {first}, zero
    load.v v1, [s2], m1
    add s4, {_ALL}, zero
    jump_token"""


def _next_entry(site: Site) -> str:
    return f"""
    add s2, s0, {site.arrays["out_values"].base}
    add s0, s0, 1"""


def _either(store: str) -> str:
    """The sum of both, or the value of one; ``store``: then."""
    return f"""
any:
    branch_ne s4, deq, one{_TAKE}
    fadd.v v1, s1, deq.s{store}
    jump_token
one:{_TAKE}
    or.v v1, s1, deq.s{store}
    jump_token"""


def _dense(site: Site, fibers: _Fibers, cases: str) -> str:
    fibers.outer.on(Event.END, Token("end"))
    return f"""{_begin(site.arrays["out"].base)}
{cases}
end:
    store.v v1, [s2], m1
    halt
"""


def _compressed(site: Site, fibers: _Fibers, cases: str) -> str:
    numbers = site.arrays["offsets" if fibers.has_rows else "count"].base
    if fibers.has_rows:
        fibers.merged.on(Event.END, word(fibers.outer.induction), Token("row"))
    fibers.outer.on(Event.END, Token("end"))
    return f"""
    store zero, [{numbers}]{_begin(numbers)}
{cases}
row:
    store s0, [deq + {numbers + 1}]
    jump_token
end:
    store.v v1, [s2], m1
    {"" if fibers.has_rows else f"store s0, [{numbers}]"}
    halt
"""

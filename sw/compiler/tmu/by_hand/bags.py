"""Bags of rows, decoupled: the access unit brings rows, a row of sums stays in registers.

Results begin as zeros, one bag behind the other; s0 is where the next one goes.
"""

from __future__ import annotations

from gnarl.hw.tmu.access_isa import Event
from gnarl.sw.compiler.tmu.by_hand.layers import Fiber, Layers, Token, WrittenLayer, vector
from gnarl.sw.compiler.tmu.by_hand.site import Site, Vectors, row_of

_ADD = "    fadd.v v{i}, v{i}, deq"
_COUNT = "    add s1, s1, 1"


def sums(site: Site, layers: Layers) -> str:
    _look_ups(site, layers)
    row = row_of(site)
    return _program(site, row, row.each(_ADD))


def sums_of_lengths(site: Site, layers: Layers) -> str:
    bags = layers.single(Fiber(0, site.sizes["bags"]))
    length = bags.memory(site.arrays["lengths"], bags.induction, temporal=False)
    look_ups = layers.single(Fiber(0, length, ordered=True, accumulates=True))
    _rows(site, layers, bags, look_ups, "indices", "table")
    row = row_of(site)
    return _program(site, row, row.each(_ADD))


def means(site: Site, layers: Layers) -> str:
    """Look-ups are counted in s1."""
    _look_ups(site, layers)
    row = row_of(site)
    return _program(site, row, f"{row.each(_ADD)}\n{_COUNT}", at_end=_divide(row))


def maxima(site: Site, layers: Layers) -> str:
    """s1: whether a row of the bag has been."""
    _look_ups(site, layers)
    row = row_of(site)
    take = f"""
    branch_eq s1, zero, first
{row.each("    fmax.v v{i}, v{i}, deq")}
    jump_token
first:
{row.each("    add.v v{i}, deq, zero")}
    add s1, 1, zero
"""
    return _program(site, row, take, at_end="    add s1, zero, zero")


def weighted_sums(site: Site, layers: Layers) -> str:
    return weighted(site, layers, "bags", "indices", "weights", "table")


def weighted_means(site: Site, layers: Layers) -> str:
    return weighted(site, layers, "bags", "indices", "weights", "table", mean=True)


def weighted(
    site: Site,
    layers: Layers,
    bags: str,
    indices: str,
    weights: str,
    table: str,
    *,
    mean: bool = False,
) -> str:
    """The size and arrays by their names in the nest.

    A row's weight is taken at the end of the case before, so that no addition waits for it; behind
    a bag's last row, a vector that nobody needs is in its place.
    """
    outer, look_ups = by_offsets(site, layers, bags)
    unneeded = outer.memory(site.arrays["offsets"], outer.induction, temporal=False)
    weight = look_ups.memory(site.arrays[weights], look_ups.induction, temporal=False)
    look_ups.on(Event.BEGIN, Token("begin"))
    look_ups.on(Event.ITERATION, vector(weight))
    look_ups.on(Event.END, vector(unneeded))
    _rows(site, layers, outer, look_ups, indices, table)
    row = row_of(site)
    take_weight = "    extract.v s2, deq, 0"
    return _program(
        site,
        row,
        f"""
{row.each("    fmul_add.v v{i}, s2, deq, v{i}")}
{take_weight}
{_COUNT if mean else ""}
""",
        at_begin=f"""
begin:
{take_weight}
    jump_token
""",
        at_end=_divide(row) if mean else "",
    )


def by_offsets(site: Site, layers: Layers, size: str) -> tuple[WrittenLayer, WrittenLayer]:
    """Layers of so many segments, and of what lies between their offsets."""
    segments = layers.single(Fiber(0, site.sizes[size]))
    first, last = (
        segments.memory(site.arrays["offsets"], segments.induction, first=place, temporal=False)
        for place in (0, 1)
    )
    return segments, layers.single(Fiber(first, last, ordered=True))


def _look_ups(site: Site, layers: Layers) -> None:
    _rows(site, layers, *by_offsets(site, layers, "bags"), "indices", "table")


def _rows(
    site: Site,
    layers: Layers,
    bags: WrittenLayer,
    look_ups: WrittenLayer,
    indices: str,
    table: str,
) -> None:
    """Each look-up's row, and tokens behind it, behind those of a bag, and behind all."""
    index = look_ups.memory(site.arrays[indices], look_ups.induction, temporal=False)
    dim = site.sizes["dim"]
    row = layers.lockstep(dim)
    row.on(Event.ITERATION, vector(row.memory(site.arrays[table], index, row.induction, scale=dim)))
    row.on(Event.END, Token("row"))
    look_ups.on(Event.END, Token("bag"))
    bags.on(Event.END, Token("end"))


def _program(site: Site, row: Vectors, take: str, *, at_begin: str = "", at_end: str = "") -> str:
    """A program for bags. ``take``: what is done with a row; ``at_begin``: a case of its own;
    ``at_end``: with a bag's sums, before they are stored."""
    clear = row.each("    add.v v{i}, zero, zero")
    return f"""
    add s0, {site.arrays["out"].base}, zero
    {row.mask}
{clear}
    jump_token
{at_begin}
row:
{take}
    jump_token
bag:
{at_end}
{row.each("    store.v v{i}, [s0 + {at}]{m}")}
    add s0, s0, {row.words}
{clear}
    jump_token
end:
    halt
"""


def _divide(row: Vectors) -> str:
    """Divides a row by s1, at least 1, and resets s1."""
    return f"""
    max s1, s1, 1
    to_float s1, s1
{row.each("    fdiv.v v{i}, v{i}, s1")}
    add s1, zero, zero
"""

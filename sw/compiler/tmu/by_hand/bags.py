"""Bags of rows, decoupled: the access unit brings rows, a row of sums stays in registers.

Results begin as zeros, one bag behind the other; s0 is where the next one goes.
"""

from __future__ import annotations

from hw.tmu.access_isa import Event
from sw.compiler.tmu.by_hand.layers import Fiber, Layers, Token, WrittenLayer, vector
from sw.compiler.tmu.by_hand.site import Site, Vectors, vectors_of

_MOST = 28
"""Vectors of a row."""


def sums(site: Site, layers: Layers) -> str:
    bags = _by_offsets(site, layers, "bags", "offsets")
    _rows(site, layers, "indices", "table")
    row = vectors_of(site, "dim", _MOST)
    bags.on(Event.END, Token("end"))
    return _sums(site, row)


def sums_of_lengths(site: Site, layers: Layers) -> str:
    bags = layers.single(Fiber(0, site.sizes["bags"]))
    length = bags.memory(site.arrays["lengths"], bags.induction, temporal=False)
    layers.single(Fiber(0, length, ordered=True, accumulates=True))
    _rows(site, layers, "indices", "table")
    bags.on(Event.END, Token("end"))
    return _sums(site, vectors_of(site, "dim", _MOST))


def means(site: Site, layers: Layers) -> str:
    """Look-ups are counted in s1."""
    bags = _by_offsets(site, layers, "bags", "offsets")
    _rows(site, layers, "indices", "table")
    bags.on(Event.END, Token("end"))
    row = vectors_of(site, "dim", _MOST)
    return f"""
{_start(site, row)}
    jump_token
row:
{row.each("    fadd.v v{i}, v{i}, deq")}
    add s1, s1, 1
    jump_token
bag:
{_divide(row)}
{_store_and_clear(row)}
    jump_token
end:
    halt
"""


def maxima(site: Site, layers: Layers) -> str:
    """s1: whether a row of the bag has been."""
    bags = _by_offsets(site, layers, "bags", "offsets")
    _rows(site, layers, "indices", "table")
    bags.on(Event.END, Token("end"))
    row = vectors_of(site, "dim", _MOST)
    return f"""
{_start(site, row)}
    jump_token
row:
    branch_eq s1, zero, first
{row.each("    fmax.v v{i}, v{i}, deq")}
    jump_token
first:
{row.each("    add.v v{i}, deq, zero")}
    add s1, 1, zero
    jump_token
bag:
    add s1, zero, zero
{_store_and_clear(row)}
    jump_token
end:
    halt
"""


def weighted_sums(site: Site, layers: Layers) -> str:
    return weighted(site, layers, "bags", "offsets", "indices", "weights", "table")


def weighted_means(site: Site, layers: Layers) -> str:
    return weighted(site, layers, "bags", "offsets", "indices", "weights", "table", mean=True)


def weighted(
    site: Site,
    layers: Layers,
    bags: str,
    offsets: str,
    indices: str,
    weights: str,
    table: str,
    *,
    mean: bool = False,
) -> str:
    """Arrays and the size by their names in the nest.

    A row's weight is taken at the end of the case before, so that no addition waits for it; behind
    a bag's last row, a vector that nobody needs is in its place.
    """
    outer = _by_offsets(site, layers, bags, offsets)
    unneeded = outer.memory(site.arrays[offsets], outer.induction, temporal=False)
    look_ups = layers.all[-1]
    weight = look_ups.memory(site.arrays[weights], look_ups.induction, temporal=False)
    look_ups.on(Event.BEGIN, Token("begin"))
    look_ups.on(Event.ITERATION, vector(weight))
    look_ups.on(Event.END, vector(unneeded))
    _rows(site, layers, indices, table)
    outer.on(Event.END, Token("end"))
    row = vectors_of(site, "dim", _MOST)
    return f"""
{_start(site, row)}
    jump_token
begin:
    extract.v s2, deq, 0
    jump_token
row:
{row.each("    fmul_add.v v{i}, s2, deq, v{i}")}
    extract.v s2, deq, 0
    {"add s1, s1, 1" if mean else ""}
    jump_token
bag:
{_divide(row) if mean else ""}
{_store_and_clear(row)}
    jump_token
end:
    halt
"""


def _by_offsets(site: Site, layers: Layers, bags: str, offsets: str) -> WrittenLayer:
    """Layers of bags and of their look-ups."""
    outer = layers.single(Fiber(0, site.sizes[bags]))
    first, last = (
        outer.memory(site.arrays[offsets], outer.induction, first=place, temporal=False)
        for place in (0, 1)
    )
    layers.single(Fiber(first, last, ordered=True))
    return outer


def _rows(site: Site, layers: Layers, indices: str, table: str) -> None:
    """Each look-up's row, a token ``row`` behind it, and a token ``bag`` behind those of a bag."""
    look_ups = layers.all[-1]
    index = look_ups.memory(site.arrays[indices], look_ups.induction, temporal=False)
    dim = site.sizes["dim"]
    row = layers.lockstep(dim)
    row.on(Event.ITERATION, vector(row.memory(site.arrays[table], index, row.induction, scale=dim)))
    row.on(Event.END, Token("row"))
    look_ups.on(Event.END, Token("bag"))


def _start(site: Site, row: Vectors) -> str:
    return f"""
    add s0, {site.arrays["out"].base}, zero
    {row.mask}
{row.each("    add.v v{i}, zero, zero")}
"""


def _sums(site: Site, row: Vectors) -> str:
    return f"""
{_start(site, row)}
    jump_token
row:
{row.each("    fadd.v v{i}, v{i}, deq")}
    jump_token
bag:
{_store_and_clear(row)}
    jump_token
end:
    halt
"""


def _divide(row: Vectors) -> str:
    """By s1, at least 1, which begins anew."""
    return f"""
    max s1, s1, 1
    to_float s1, s1
{row.each("    fdiv.v v{i}, v{i}, s1")}
    add s1, zero, zero
"""


def _store_and_clear(row: Vectors) -> str:
    return f"""
{row.each("    store.v v{i}, [s0 + {at}]{m}")}
    add s0, s0, {row.words}
{row.each("    add.v v{i}, zero, zero")}
"""

"""Products with sparse matrices, decoupled."""

from __future__ import annotations

from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.tmu.access_isa import Event
from gnarl.sw.compiler.tmu.by_hand.bags import weighted
from gnarl.sw.compiler.tmu.by_hand.layers import Fiber, Layers, Token, vector
from gnarl.sw.compiler.tmu.by_hand.site import Site, row_of

ROWS_AHEAD = 2
"""Rows of the result, which are fetched: a row may have so few entries that its time does not
do."""


def spmm_csr(site: Site, layers: Layers) -> str:
    """A product as bags of weighted rows."""
    return weighted(site, layers, "rows", "indices", "values", "dense")


def spmm_coo(site: Site, layers: Layers) -> str:
    """A row of the result stays in registers until the coordinate toggles.

    A row behind it is fetched meanwhile: in ascending order it comes soon. s0: where the row in
    registers goes; s1: whether there is one.
    """
    entries = layers.single(Fiber(0, site.sizes["entries"]))
    place = entries.memory(site.arrays["row"], entries.induction, temporal=False)
    value = entries.memory(site.arrays["values"], entries.induction, temporal=False)
    column = entries.memory(site.arrays["column"], entries.induction, temporal=False)
    entries.toggles(place)
    entries.on(Event.TOGGLE, vector(place), Token("change"))
    entries.on(Event.ITERATION, vector(value))
    entries.on(Event.END, Token("end"))
    row = row_of(site)
    dim = row.words
    elements = layers.lockstep(dim)
    element = elements.memory(site.arrays["dense"], column, elements.induction, scale=dim)
    elements.on(Event.ITERATION, vector(element))
    elements.on(Event.END, Token("entry"))
    out = site.arrays["out"].base
    store = row.each("    store.v v{i}, [s0 + {at}]{m}")
    ahead = range(ROWS_AHEAD * dim, (ROWS_AHEAD + 1) * dim, LINE_WORDS)
    fetch = "\n".join(f"    prefetch [s0 + {word}]" for word in ahead)
    return f"""
    {row.mask}
    jump_token
change:
    branch_eq s1, zero, begin
{store}
begin:
    extract.v s0, deq, 0
    mul s0, s0, {dim}
    add s0, s0, {out}
{row.each("    load.v v{i}, [s0 + {at}]{m}")}
{fetch}
    add s1, 1, zero
    jump_token
entry:
    extract.v s2, deq, 0
{row.each("    fmul_add.v v{i}, s2, deq, v{i}")}
    jump_token
end:
    branch_eq s1, zero, stop
{store}
stop:
    halt
"""

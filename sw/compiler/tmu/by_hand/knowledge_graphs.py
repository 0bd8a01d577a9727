"""Scores of triples, decoupled.

A step of the access unit gives two vectors of each operand: so no addition waits for the one before
it, and two sums go on side by side. The execute unit knows what comes, so there are no tokens. A
sample's lanes are added while the next one's first elements come, and its score is stored behind
them.
"""

from __future__ import annotations

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.tmu.access_isa import Event
from gnarl.sw.compiler.tmu.by_hand.layers import Fiber, Layers, vector
from gnarl.sw.compiler.tmu.by_hand.site import Site

SUMS = 2
"""Vectors of partial sums."""


def l1(site: Site, layers: Layers) -> str:
    _triples(site, layers)
    return _scores(
        site,
        ("fabs.v v8, v4", "fabs.v v9, v5"),
        ("fadd.v v6, v6, v8", "fadd.v v7, v7, v9"),
        "",
    )


def l2(site: Site, layers: Layers) -> str:
    _triples(site, layers)
    squares = ("fmul_add.v v6, v4, v4, v6", "fmul_add.v v7, v5, v5, v7")
    return _scores(site, squares, (), "fsqrt s3, s3")


def pairs(site: Site) -> int:
    """Pairs of vectors of a row. Raises ``CapacityError`` where these are not whole."""
    dim, pair = site.sizes["dim"], SUMS * site.config.lanes
    if dim % pair:
        raise CapacityError(f"dim = {dim}: must be a multiple of {pair} for a program by hand")
    return dim // pair


def _triples(site: Site, layers: Layers) -> None:
    dim = site.sizes["dim"]
    samples = layers.single(Fiber(0, site.sizes["samples"]))
    rows = [
        samples.memory(site.arrays[name], samples.induction, temporal=False)
        for name in ("heads", "links", "tails")
    ]
    step = SUMS * site.config.lanes
    steps = layers.single(Fiber(0, pairs(site) * step, stride=step))
    places = [steps.linear(row, steps.induction, scale=dim) for row in rows]
    elements = layers.lockstep(site.config.lanes)
    for name, place in zip(("entity", "relation", "entity"), places, strict=True):
        for first in (0, site.config.lanes):
            value = elements.memory(site.arrays[name], place, elements.induction, first=first)
            elements.on(Event.ITERATION, vector(value))


def _scores(site: Site, first: tuple[str, ...], second: tuple[str, ...], end: str) -> str:
    """``first`` and ``second``: what is done with the differences v4 and v5 of the step before, to
    sums v6 and v7; ``end``: with the sum s3.

    v10 has sums of the sample before, of which there is none at first: s5 is where its
    score goes, or that of the first sample, which is written again.
    """
    samples, out = site.sizes["samples"], site.arrays["out"].base
    if not samples:
        return "halt"
    steps = pairs(site)
    again, then = ("\n".join(f"    {line}" for line in lines) for lines in (first, second))
    add_head_and_link = """
    fadd.v v2, v0, deq
    fadd.v v3, v1, deq"""
    subtract_tail = """
    fsub.v v4, v2, deq
    fsub.v v5, v3, deq"""
    take_head = """
    add.v v0, deq, zero
    add.v v1, deq, zero"""
    add_lanes = "reduce_add.v s3, v10"
    score = f"""
    fadd s3, s3, zero
    {end}"""
    return f"""
    add s9, {samples}, zero
    add s8, {steps - 1}, zero
    add.v v10, zero, zero
    loop s9, samples
    {take_head}
    add.v v6, zero, zero
    {add_head_and_link}
    add.v v7, zero, zero
    {add_lanes}
    {subtract_tail}
    loop s8, steps
    {take_head}
    {add_head_and_link}
{again}
    {subtract_tail}
{then}
steps:
{again}
{then}
    {score}
    sub s5, s6, 1
    add s6, s6, 1
    max s5, s5, 0
    fadd.v v10, v6, v7
    store s3, [s5 + {out}]
samples:
    {add_lanes}
    {score}
    store s3, [{out + samples - 1}]
    halt
"""

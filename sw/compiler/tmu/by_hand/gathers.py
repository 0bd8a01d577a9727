"""Gathers, decoupled: the access unit loads and stores, and the execute unit waits for the end."""

from __future__ import annotations

from gnarl.hw.tmu.access_isa import Event
from gnarl.sw.compiler.tmu.by_hand.layers import Fiber, Layers, Token, store
from gnarl.sw.compiler.tmu.by_hand.site import Site

_WAIT = """
    jump_token
end:
    halt
"""


def block_gather(site: Site, layers: Layers) -> str:
    """A block's vectors lie one behind the other, so they are one row."""
    sizes = site.sizes
    row = sizes["block"] * sizes["dim"]
    picks = layers.single(Fiber(0, sizes["queries"] * sizes["picked"]))
    block = picks.memory(site.arrays["blocks"], picks.induction, temporal=False)
    elements = layers.lockstep(row)
    value = elements.memory(site.arrays["key"], block, elements.induction, scale=row)
    address = elements.address(site.arrays["out"], picks.induction, elements.induction, scale=row)
    elements.on(Event.ITERATION, store(value, address))
    picks.on(Event.END, Token("end"))
    return _WAIT


def token_gather(site: Site, layers: Layers) -> str:
    """Every query of a block has the picked blocks of all."""
    sizes = site.sizes
    picked = sizes["picked"]
    row = sizes["block"] * sizes["dim"]
    blocks = layers.single(Fiber(0, sizes["queries"]))
    queries = layers.single(Fiber(0, sizes["block"]))
    number = queries.linear(blocks.induction, queries.induction, scale=sizes["block"])
    picks = layers.single(Fiber(0, picked))
    block = picks.memory(site.arrays["blocks"], blocks.induction, picks.induction, scale=picked)
    place = picks.linear(number, picks.induction, scale=picked)
    elements = layers.lockstep(row)
    value = elements.memory(site.arrays["key"], block, elements.induction, scale=row)
    address = elements.address(site.arrays["out"], place, elements.induction, scale=row)
    elements.on(Event.ITERATION, store(value, address))
    blocks.on(Event.END, Token("end"))
    return _WAIT

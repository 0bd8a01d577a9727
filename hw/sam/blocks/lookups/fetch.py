"""The first half of a block that reads what references name."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from gnarl.hw.sam.step import TokenStep
from gnarl.hw.sam.token import Kind


def fetch(m: Module, ref: Any, address: Any, passed: Any, rows: int, fault: Signal) -> None:
    """Asks ``address`` for the row of each reference in ``ref``, and gives ``passed`` every token.

    A reference beyond ``rows`` is a ``fault``; nothing moves then. Empty tokens, stops and done ask
    for nothing.
    """
    step = TokenStep(m, inputs=[ref], outputs=[address, passed])
    with m.If(ref.valid):
        is_read = ref.payload.kind == Kind.DATA
        with m.If(is_read & (ref.payload.payload >= rows)):
            m.d.comb += fault.eq(1)
        with m.Else():
            with m.If(is_read):
                step.send(address, ref.payload.payload)
            step.pass_on(passed, ref)
            step.ready(ref)

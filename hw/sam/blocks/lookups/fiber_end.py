"""How lookups end a fiber."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux
from gnarl.hw.sam.step import TokenStep, is_data, is_stop, level_after, raised
from gnarl.hw.sam.token import Kind


def give_end(m: Module, step: TokenStep, ref: Any, following: Any, *outputs: Any) -> None:
    """Ends the fiber of ``ref``, the head of the references, with its stop.

    A stop at the head stands for an empty fiber of references and is raised; done passes.
    ``following`` is the token after the head, which tells a stop's level: waited for only then.
    """
    with m.If(is_data(ref)):
        with m.If(following.valid):
            for output in outputs:
                step.give(output, Kind.STOP, level_after(following))
            step.take(ref)
            with m.If(is_stop(following)):
                step.take(following)
            step.ready()
    with m.Else():
        for output in outputs:
            step.give(output, ref.payload.kind, Mux(is_stop(ref), raised(ref), 0))
        step.ready(ref)

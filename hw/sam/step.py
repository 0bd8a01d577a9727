"""How every block takes and gives tokens, and what there is to know of the head of a stream."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Mux, Value
from gnarl.hw.lib.stream.step import Step
from gnarl.hw.sam.token import Kind


class TokenStep(Step):
    """The step that a block is at, whose outputs may be streams of tokens."""

    def give(self, output: Any, kind: Any, payload: Any = 0) -> None:
        """The step gives a token to ``output``."""
        token = self._give(output)
        self._m.d.comb += [token.kind.eq(kind), token.payload.eq(payload)]

    def pass_on(self, output: Any, source: Any) -> None:
        """The step gives ``output`` the head of ``source`` as it is."""
        self.give(output, source.payload.kind, source.payload.payload)


def is_data(stream: Any) -> Value:
    """The head of ``stream`` is data or empty: what one repeats, counts, or looks up."""
    return (stream.payload.kind == Kind.DATA) | (stream.payload.kind == Kind.EMPTY)


def is_stop(stream: Any) -> Value:
    return stream.payload.kind == Kind.STOP


def is_done(stream: Any) -> Value:
    return stream.payload.kind == Kind.DONE


def raised(stream: Any) -> Value:
    """The level above that of the stop at the head of ``stream``."""
    return (stream.payload.payload + 1)[: len(stream.payload.payload)]


def level_after(stream: Any) -> Value:
    """Level of the stop that ends a fiber, by what comes after the fiber's parent in ``stream``.

    A stop there ends the parent's own fiber too, and is to be taken; else it is level 0.
    """
    return Mux(is_stop(stream), raised(stream), 0)

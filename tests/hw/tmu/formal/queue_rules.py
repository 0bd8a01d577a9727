"""The data queue and the control queue as the core has them, and rules that nothing breaks."""

from __future__ import annotations

from typing import Any
from unittest import mock

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from gnarl.hw.tmu.queues import data_queue, token_queue
from gnarl.hw.tmu.queues.data_queue import DataQueue
from gnarl.hw.tmu.queues.token_queue import TokenQueue

LANES = 2
ROWS = 2
TOKENS = 2

_COUNT = 5
"""Bits of the number of a word or token: enough for the cycles of a proof."""

_PATIENCE = 3
"""Cycles in which nothing is put or taken, after which what was put is there."""

RULES = ("out_of_order", "made_up", "wrong_room", "stuck", "wrong_token", "early_token", "split")

TOKEN = data.StructLayout({"number": _COUNT, "words": _COUNT})


class QueueRules(wiring.Component):
    """Words, vectors and tokens are put and taken whenever they can, in any order.

    Words have their numbers as values, tokens theirs and how many words were put before them.

    Parameters: ``queue``, a ``DataQueue`` of ``LANES`` and ``ROWS``; ``tokens``, a ``TokenQueue``
    for ``TOKEN``; ``ahead``: how many words more tokens claim to come behind.

    Members: ``put``, ``put_vector``, ``put_token``, ``take``, ``take_vector``, ``take_token`` in:
    what is wanted; out: whether a rule is broken. ``out_of_order``: another word than the next;
    ``made_up``: a word that was not put; ``wrong_room``: another than what is left; ``stuck``:
    words do not come; ``wrong_token``: another than the next, or none that was put;
    ``early_token``: before a word that was put ahead of it; ``split``: a vector in one row, with
    its token there, takes a second cycle.
    """

    def __init__(self, queue: wiring.Component, tokens: wiring.Component, ahead: int = 0) -> None:
        self._queue = queue
        self._tokens = tokens
        self._ahead = ahead
        names = ("put", "put_vector", "put_token", "take", "take_vector", "take_token")
        super().__init__({name: In(1) for name in names} | {name: Out(1) for name in RULES})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.queue = queue = self._queue
        m.submodules.tokens = tokens = self._tokens
        words, taken, given, seen = (
            Signal(_COUNT, name=name) for name in ("words", "taken", "given", "seen")
        )
        token, made = Signal(TOKEN), Signal(TOKEN)
        wanted = Mux(self.put_vector, LANES, 1)
        puts, takes = Signal(), Signal()
        put_count, take_count = (
            Mux(vector, LANES, 1) for vector in (self.put_vector, self.take_vector)
        )
        left = Signal(_COUNT)
        m.d.comb += [
            puts.eq(self.put & (queue.room >= wanted)),
            queue.put.eq(puts),
            queue.put_vector.eq(self.put_vector),
            *(queue.put_data[lane].eq(words + lane) for lane in range(LANES)),
            queue.take.eq(self.take),
            queue.take_vector.eq(self.take_vector),
            takes.eq(self.take & queue.valid),
            left.eq(words - taken),
            made.number.eq(given),
            made.words.eq(words + self._ahead),
            tokens.i.valid.eq(self.put_token & (tokens.room != 0)),
            tokens.i.payload.eq(made),
            tokens.o.ready.eq(self.take_token),
            token.eq(tokens.o.payload),
        ]
        with m.If(puts):
            m.d.sync += words.eq(words + put_count)
        with m.If(takes):
            m.d.sync += taken.eq(taken + take_count)
        with m.If(tokens.i.valid):
            m.d.sync += given.eq(given + 1)
        with m.If(tokens.o.valid & self.take_token):
            m.d.sync += seen.eq(seen + 1)

        quiet = Signal(range(_PATIENCE + 1))
        was_vector = Signal()
        m.d.sync += was_vector.eq(self.take_vector)
        with m.If(puts | takes | (was_vector != self.take_vector)):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet != _PATIENCE):
            m.d.sync += quiet.eq(quiet + 1)

        is_next = (queue.words[0] == taken[:_COUNT]) & (
            ~self.take_vector | (queue.words[1] == (taken + 1)[:_COUNT])
        )
        claimed = Signal(_COUNT)  # by the token that is there, and not taken
        m.d.comb += [
            claimed.eq(token.words - taken),
            self.out_of_order.eq(queue.valid & ~is_next),
            self.made_up.eq(queue.valid & (left < take_count)),
            self.wrong_room.eq(queue.room != ROWS * LANES - left),
            self.stuck.eq(
                (quiet == _PATIENCE)
                & (was_vector == self.take_vector)
                & (left >= take_count)
                & ~queue.valid
            ),
            self.wrong_token.eq(tokens.o.valid & ((token.number != seen) | (seen == given))),
            self.early_token.eq(
                tokens.o.valid & ~claimed[-1] & (claimed != 0) & ~self.take_vector & ~queue.valid
            ),
            self.split.eq(
                tokens.o.valid
                & ~claimed[-1]
                & (claimed >= LANES)
                & self.take_vector
                & ~taken[0]
                & ~queue.valid
            ),
        ]
        return m


def whole_queue() -> DataQueue:
    return DataQueue(ROWS * LANES, LANES)


def whole_tokens() -> TokenQueue:
    return TokenQueue(TOKENS, TOKEN.size)


def _shallow(width: int, depth: int) -> SyncFIFOBuffered:
    return SyncFIFOBuffered(width=width, depth=depth - 1)


class ShallowQueue(DataQueue):
    """With one place behind each bank's register, which refuses a word behind another."""

    def elaborate(self, platform: Any) -> Module:
        with mock.patch.object(data_queue, "SyncFIFOBuffered", _shallow):
            return super().elaborate(platform)


class ShallowTokens(TokenQueue):
    """With one place behind its register."""

    def elaborate(self, platform: Any) -> Module:
        with mock.patch.object(token_queue, "SyncFIFOBuffered", _shallow):
            return super().elaborate(platform)


class BrokenQueue(wiring.Component):
    """A queue that ``doubles`` a word that is taken behind another; ``hurries``: shows words before
    they are there; ``waits`` a cycle before each vector; or ``hides`` words while it is full."""

    def __init__(self, mutation: str) -> None:
        self._mutation = mutation
        self._queue = whole_queue()
        super().__init__(self._queue.signature)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.queue = queue = self._queue
        wiring.connect(m, wiring.flipped(self), queue)
        took, waited = Signal(), Signal()
        m.d.sync += took.eq(self.take & self.valid)
        match self._mutation:
            case "doubles":
                m.d.comb += queue.take.eq(self.take & ~took)
            case "hurries":
                m.d.comb += self.valid.eq(queue.room != ROWS * LANES)
            case "waits":
                m.d.sync += waited.eq(queue.valid & self.take_vector & ~took)
                m.d.comb += self.valid.eq(queue.valid & (waited | ~self.take_vector))
                m.d.comb += queue.take.eq(self.take & self.valid)
            case "hides":
                m.d.comb += self.valid.eq(queue.valid & (queue.room != 0))
                m.d.comb += queue.take.eq(self.take & self.valid)
        return m

"""The sums of several fibers at a time, in the stages of one adder."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.formats import NumberFormat
from gnarl.hw.lib.memory.ram import TwoPortRam
from gnarl.hw.lib.operation import Operation
from gnarl.hw.lib.stream.queue import Queue
from gnarl.hw.sam.blocks.values.running_sum import BARE
from gnarl.hw.sam.blocks.values.unit_row import UnitRow
from gnarl.hw.sam.step import TokenStep
from gnarl.hw.sam.token import LEVEL_BITS, Kind, token_layout, token_stream

WAITING_TOKENS = 128
"""Tokens that may wait for each of the fibers at work: those of four fill 512 rows."""


class InterleavedSums(wiring.Component):
    """As ``RunningSum``, with an adder of several stages, in which the sums go round.

    Each sum is at the adder's output once in ``stages`` cycles, and the next value of its fiber is
    added then. Fibers take turns, one fiber after the other the next turn, and their tokens wait in
    a memory. So fibers of up to ``WAITING_TOKENS`` take a cycle a token, as many of them at a time
    as there are stages; a longer one takes ``stages`` cycles for each token more. Source: C-slow
    retiming, Leiserson and Saxe, "Retiming Synchronous Circuitry", 1991.

    Parameters: ``format`` of values; ``op``, which sums; ``stages`` >= 2; ``words`` of a value.
    Members: as ``RunningSum``.
    """

    def __init__(self, format: NumberFormat, op: Operation, stages: int, words: int = 1) -> None:
        self._format = format
        self._op = op
        self._stages = stages
        self._words = words
        tokens = token_stream(words * format.width)
        super().__init__({"i": In(tokens), "o": Out(tokens)})

    @staticmethod
    def latency(stages: int) -> int:
        """Cycles from a stop to its sum, at least: it waits for its turn."""
        return 3 if stages == 2 else 4

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        width = self._words * self._format.width
        shape = data.StructLayout({"sum": width, "level": LEVEL_BITS, "kind": Kind})
        m.submodules.ended = ended = Queue(shape, 2)
        m.submodules.waiting = waiting = _Waiting(width, self._stages)
        wiring.connect(m, wiring.flipped(self.i), waiting.i)
        self._sum(m, waiting, ended.i)
        self._give(m, ended.o)
        return m

    def _sum(self, m: Module, waiting: _Waiting, ended: Any) -> None:
        """Adds the token whose turn it is to the sum that is at the adder's output."""
        row = UnitRow(m, self._format, self._stages, self._words)
        token = waiting.token
        # Whether the sums in the units have a value yet, as they go round with it.
        started = Signal(self._stages)
        has_started = started[-1]
        adds = Signal()
        m.d.comb += [
            row.left.eq(row.o),
            row.right.eq(Mux(adds, token.payload, row.o)),
            row.operation.eq(Mux(adds & has_started, self._op, Operation.PASS_RIGHT)),
            ended.payload.sum.eq(Mux(has_started, row.o, 0)),
            ended.payload.level.eq(token.payload[:LEVEL_BITS]),
            ended.payload.kind.eq(token.kind),
        ]
        with m.If(waiting.valid & (token.kind == Kind.DATA)):
            m.d.comb += [adds.eq(1), waiting.taken.eq(1)]
        with m.Elif(waiting.valid & waiting.is_oldest):
            m.d.comb += [ended.valid.eq(1), waiting.taken.eq(ended.ready)]
        is_over = ended.valid & ended.ready
        m.d.sync += started.eq(Cat(adds | (has_started & ~is_over), started))

    def _give(self, m: Module, ended: Any) -> None:
        """A sum and the stop behind it are two tokens."""
        out = self.o
        step = TokenStep(m, inputs=[ended], outputs=[out])
        item = ended.payload
        stops = Signal()  # the sum is given
        with m.If(ended.valid):
            with m.If(item.kind == Kind.DONE):
                step.give(out, Kind.DONE)
                step.ready(ended)
            with m.Elif((item.kind == BARE) | stops):
                step.give(out, Kind.STOP, item.level - 1)
                step.ready(ended)
            with m.Else():
                step.give(out, Kind.DATA, item.sum)
                with m.If(item.level == 0):
                    step.take(ended)
                step.ready()
        with m.If(step.done):
            m.d.sync += stops.eq(~ended.ready)


class _Waiting(wiring.Component):
    """The tokens of fibers that take turns, one fiber after the other the next turn.

    Parameters: ``width`` of values; ``turns`` >= 2.

    Members: ``i`` in; ``valid``, ``token`` out: the first token of the fiber that has its turn in
    this cycle; ``is_oldest`` out: no other fiber came before it; ``taken`` in.
    """

    def __init__(self, width: int, turns: int) -> None:
        self._width = width
        self._turns = turns
        super().__init__(
            {
                "i": In(token_stream(width)),
                "valid": Out(1),
                "token": Out(token_layout(width)),
                "is_oldest": Out(1),
                "taken": In(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        layout = self.token.shape()
        rows = self._turns * WAITING_TOKENS
        m.submodules.tokens = tokens = TwoPortRam(rows, layout.size)
        counts = [Signal(range(WAITING_TOKENS + 1), name=f"count_{n}") for n in range(self._turns)]
        heads = [Signal(range(WAITING_TOKENS), name=f"head_{n}") for n in range(self._turns)]
        tails = [Signal(range(WAITING_TOKENS), name=f"tail_{n}") for n in range(self._turns)]
        newest, oldest, turn, read = (Signal(range(self._turns)) for _ in range(4))
        comes = self.i.valid & self.i.ready
        m.d.comb += [
            self.i.ready.eq(Array(counts)[newest] != WAITING_TOKENS),
            tokens.write_enable.eq(comes),
            tokens.write_address.eq(Cat(Array(tails)[newest], newest)),
            tokens.write_data.eq(self.i.payload),
            tokens.read_enable.eq(1),
            tokens.read_address.eq(Cat(Array(heads)[read], read)),
            self.is_oldest.eq(turn == oldest),
        ]
        was_read, is_there = Signal.like(read), Signal()
        m.d.sync += [
            read.eq(self._after(read)),
            was_read.eq(read),
            is_there.eq(Array(counts)[read] != 0),
        ]
        # Block RAM is slow: a register behind it, unless the turn would be read before it is over.
        m.d["comb" if self._turns == 2 else "sync"] += [
            turn.eq(was_read),
            self.valid.eq(is_there),
            self.token.eq(tokens.read_data),
        ]
        for number, (count, head, tail) in enumerate(zip(counts, heads, tails, strict=True)):
            enters = comes & (newest == number)
            leaves = self.taken & (turn == number)
            m.d.sync += [
                count.eq(count + enters - leaves),
                head.eq(head + leaves),
                tail.eq(tail + enters),
            ]
        with m.If(comes & (self.i.payload.kind != Kind.DATA)):
            m.d.sync += newest.eq(self._after(newest))
        with m.If(self.taken & (self.token.kind != Kind.DATA)):
            m.d.sync += oldest.eq(self._after(oldest))
        return m

    def _after(self, turn: Signal) -> Value:
        return Mux(turn == self._turns - 1, 0, turn + 1)

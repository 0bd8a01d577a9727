"""Chooses the next instruction."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.encoding.execute_isa import INSTRUCTION, Fault, Opcode
from gnarl.hw.lib.execute.decoded import BRANCHES, DECODED, Decoder
from gnarl.hw.lib.execute.loop_stack import LoopStack


def issued_layout(program_words: int) -> data.StructLayout:
    """An instruction and its address, which is ``program_words`` behind the program's memory."""
    return data.StructLayout({"pc": range(program_words + 1), "decoded": DECODED})


KNOWN_JUMPS = 4
"""``JUMP_TOKEN`` whose addresses are known."""


class Sequencer(wiring.Component):
    """Reads and decodes an instruction a cycle. Jumps, waiting tokens and back edges of loops take
    no more than their own cycle; branches are not taken, and loops run, until ``redirects``.

    A ``JUMP_TOKEN`` that has been done, ``KNOWN_JUMPS`` others ago at most, takes no cycle where
    its token is there with the instruction before it, nothing ``steers`` and no loop runs: both are
    done as one.

    Members
    -------
    program_row, program_enable, program_data
        the program's memory, whose data come a cycle after.
    token
        in: a stream of addresses.
    unresolved
        in: an instruction that ``steers`` is under way. Nothing is done meanwhile that cannot be
        undone by ``redirects``.
    redirects, target
        in: what was given, and not yet resolved, is wrong; goes on at ``target``.
    counts, count
        in: the ``LOOP`` under way runs so many times.
    instruction
        out: a stream of ``issued_layout``; ``ready`` must not depend on ``valid``.
    waits_token
        out: for want of a token alone, nothing is given.
    joins
        out: what is given does a ``JUMP_TOKEN`` besides.
    """

    def __init__(self, program_words: int) -> None:
        self._program_words = program_words
        self._pc_bits = pc_bits = (program_words - 1).bit_length()
        super().__init__(
            {
                "program_row": Out(pc_bits),
                "program_enable": Out(1),
                "program_data": In(INSTRUCTION.size),
                "token": In(stream.Signature(unsigned(pc_bits))),
                "unresolved": In(1),
                "redirects": In(1),
                "target": In(pc_bits),
                "counts": In(1),
                "count": In(signed(32)),
                "instruction": Out(stream.Signature(issued_layout(program_words))),
                "waits_token": Out(1),
                "joins": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.decoder = decoder = Decoder(self._program_words)
        m.submodules.loops = loops = LoopStack(self._pc_bits)
        decoded, opcode = decoder.decoded, decoder.decoded.opcode
        has_read = Signal()
        pc = Signal(range(self._program_words + 1))
        fault = Signal(Fault)
        is_beyond, is_last, is_token = Signal(), Signal(), Signal()
        holds, has_token, gives = Signal(), Signal(), Signal()
        can_join, joins = Signal(), Signal()
        m.d.comb += [
            decoder.instruction.as_value().eq(self.program_data),
            is_beyond.eq(pc == self._program_words),
            is_token.eq(
                (opcode == Opcode.JUMP_TOKEN)
                & (decoded.fault == Fault.NONE)
                & ~(is_last | is_beyond)
            ),
            is_last.eq(loops.runs & (pc == loops.innermost_last)),
        ]
        changes = opcode.matches(Opcode.JUMP, Opcode.JUMP_TOKEN, Opcode.LOOP) | is_last
        m.d.comb += [
            holds.eq(changes & self.unresolved),
            has_token.eq(~is_token | self.token.valid),
            gives.eq(has_read & ~holds & self.instruction.ready),
            self.instruction.valid.eq(has_read & ~holds & has_token),
            can_join.eq(
                self._is_before_jump(m, pc, gives & is_token)
                & ~(changes | decoded.steers | self.unresolved | loops.runs)
            ),
            joins.eq(can_join & self.token.valid),
            self.joins.eq(gives & joins),
            self.token.ready.eq(gives & (is_token | can_join)),
            self.waits_token.eq(gives & ~has_token),
        ]
        self._find_faults(m, decoded, pc, is_beyond, loops, is_last, fault)

        item = self.instruction.payload
        m.d.comb += [item.pc.eq(pc), item.decoded.eq(decoded)]
        with m.If(fault != Fault.NONE):
            # Nothing else, so that it waits for nothing.
            m.d.comb += item.decoded.eq(DECODED.const({}))
            m.d.comb += [item.decoded.fault.eq(fault), item.decoded.steers.eq(1)]
        self._go_on(m, pc, gives & has_token, is_last, joins, loops, decoded)
        m.d.sync += has_read.eq(1)
        m.d.comb += [
            loops.enters.eq(gives & (opcode == Opcode.LOOP) & ~self.redirects),
            loops.start.eq(pc + 1),
            loops.last.eq(decoded.immediate - 1),
            loops.counts.eq(self.counts),
            loops.count.eq(self.count),
        ]
        return m

    def _is_before_jump(self, m: Module, pc: Signal, jumps: Value) -> Value:
        """Whether a known ``JUMP_TOKEN`` is behind ``pc``. One that ``jumps`` at ``pc`` is known
        from then on."""
        layout = data.StructLayout({"valid": 1, "pc": self._pc_bits})
        before = [Signal(layout, name=f"before_{number}") for number in range(KNOWN_JUMPS)]
        last = Signal.like(pc)
        m.d.comb += last.eq(pc - 1)
        is_known = Cat(each.valid & (each.pc == last) for each in before).any()
        with m.If(jumps & (pc != 0) & ~is_known):
            for older, newer in zip(before[1:], before, strict=False):
                m.d.sync += older.eq(newer)
            m.d.sync += [before[0].valid.eq(1), before[0].pc.eq(last)]
        return Cat(each.valid & (each.pc == pc) for each in before).any()

    def _find_faults(
        self,
        m: Module,
        decoded: Any,
        pc: Signal,
        is_beyond: Value,
        loops: LoopStack,
        is_last: Value,
        fault: Signal,
    ) -> None:
        """Finds faults of an instruction's bits and of its position."""
        opcode, target = decoded.opcode, decoded.immediate
        jumps = opcode.matches(Opcode.JUMP, Opcode.JUMP_TOKEN, *BRANCHES)
        is_misplaced = (
            loops.is_full | (target <= pc + 1) | (loops.runs & (target > loops.innermost_last))
        )
        with m.If(is_beyond):
            m.d.comb += fault.eq(Fault.CONTROL)
        with m.Elif(decoded.fault != Fault.NONE):
            m.d.comb += fault.eq(decoded.fault)
        with m.Elif((jumps & is_last) | ((opcode == Opcode.LOOP) & is_misplaced)):
            m.d.comb += fault.eq(Fault.CONTROL)

    def _go_on(
        self,
        m: Module,
        pc: Signal,
        advances: Value,
        is_last: Value,
        joins: Value,
        loops: LoopStack,
        decoded: Any,
    ) -> None:
        """The address behind this one, and which loops it ends. What is behind a fault does not
        matter, since the run ends there."""
        following, target = Signal.like(pc), Signal(self._pc_bits)
        m.d.comb += [
            following.eq(pc),
            self.program_row.eq(following),
            self.program_enable.eq(1),
            target.eq(decoded.immediate),
            loops.target.eq(target),
            loops.redirects.eq(self.redirects),
            loops.redirect_target.eq(self.target),
        ]
        with m.If(decoded.opcode == Opcode.JUMP_TOKEN):
            m.d.comb += target.eq(self.token.payload)
        with m.If(self.redirects):
            m.d.comb += following.eq(self.target)
        with m.Elif(advances):
            m.d.comb += following.eq(pc + 1)
            with m.If(decoded.opcode.matches(Opcode.JUMP, Opcode.JUMP_TOKEN)):
                m.d.comb += [following.eq(target), loops.jumps.eq(1)]
            with m.Elif(joins):
                m.d.comb += following.eq(self.token.payload)
            with m.Elif(is_last):
                m.d.comb += loops.passes.eq(1)
                with m.If(loops.again):
                    m.d.comb += following.eq(loops.innermost_start)
        m.d.sync += pc.eq(following)

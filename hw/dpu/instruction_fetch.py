"""Fetch of instructions of different lengths, one a cycle."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.dpu.config import DpuConfig
from hw.dpu.isa import (
    START_CYCLES,
    Opcode,
    instruction_bytes,
    instruction_word_bits,
    opcodes,
)
from hw.lib.cut_points import named


class InstructionFetch(wiring.Component):
    """Gives the instructions of a densely packed program in order, one a cycle, without stalls.

    A window of two memory words holds the next instruction whatever its length; a shifter takes its
    bytes to the lowest place. Source: DPU-v2, section III.E and figure 7(b).

    Latency: the first instruction comes ``latency`` cycles after the first in which ``run`` is 1.
    Opcodes that the configuration lacks are taken for one byte long.

    Members
    -------
    run
        in: 0 stops, and the next 1 starts again from byte 0.
    row, read_enable, read_data
        to the instruction memory, which answers in the next cycle and then holds its answer.
    instruction, valid
        out: registered, the instruction in the lowest bits; whether there is one.
    address
        out: byte address of that instruction.
    beyond
        out: that instruction doesn't end within the memory, its bits mean nothing.
    """

    latency = START_CYCLES

    def __init__(self, config: DpuConfig) -> None:
        self._config = config
        self._word_bytes = instruction_word_bits(config) // 8
        word = unsigned(8 * self._word_bytes)
        super().__init__(
            {
                "run": In(1),
                "row": Out((config.instruction_words - 1).bit_length()),
                "read_enable": Out(1),
                "read_data": In(word),
                "instruction": Out(word),
                "valid": Out(1),
                "address": Out(32),
                "beyond": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        word_bytes = self._word_bytes
        low = Signal(8 * word_bytes, reset_less=True)
        offset = Signal(range(word_bytes))
        address = Signal(32)

        # The window is complete, and stays so, from the third cycle on.
        started = Signal(2)
        complete = Signal()
        m.d.sync += started.eq(Mux(self.run, Cat(self.run, started), 0))
        m.d.comb += complete.eq(started[1])

        opcodes_at = Array(low[8 * byte :][: Opcode.as_shape().width] for byte in range(word_bytes))
        opcode = named(m, "opcode", opcodes_at[offset])
        length = Signal(range(word_bytes + 1))
        m.d.comb += length.eq(1)
        with m.Switch(opcode):
            for known in opcodes(self._config):
                with m.Case(known):
                    m.d.comb += length.eq(instruction_bytes(self._config, known))

        end = named(m, "end", offset + length)
        leaves = named(m, "leaves", end >= word_bytes)
        advance = named(m, "advance", ~complete | leaves)
        row = Signal(self.row.shape())
        m.d.comb += [
            self.row.eq(row),
            self.read_enable.eq(self.run & advance),
        ]
        next_address = named(m, "next_address", (address + length)[:32])
        with m.If(~self.run):
            m.d.sync += [row.eq(0), offset.eq(0), address.eq(0), self.valid.eq(0)]
        with m.Else():
            with m.If(advance):
                m.d.sync += [low.eq(self.read_data), row.eq(row + 1)]
            m.d.sync += self.valid.eq(complete)
            with m.If(complete):
                m.d.sync += [
                    offset.eq(Mux(leaves, end - word_bytes, end)),
                    address.eq(next_address),
                ]

        window = Cat(low, self.read_data)
        aligned = named(m, "aligned", (window >> Cat(Const(0, 3), offset))[: len(low)])
        instruction = Signal.like(self.instruction, name="held_instruction", reset_less=True)
        m.d.comb += self.instruction.eq(instruction)
        m.d.sync += [
            instruction.eq(aligned),
            self.address.eq(address),
            self.beyond.eq(next_address > word_bytes * self._config.instruction_words),
        ]
        return m

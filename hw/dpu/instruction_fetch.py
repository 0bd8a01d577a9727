"""Fetch of instructions of different lengths, one a cycle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import (
    Opcode,
    address_bits,
    instruction_bytes,
    instruction_word_bits,
    opcodes,
)
from gnarl.hw.lib.cut_points import named


class InstructionFetch(wiring.Component):
    """Gives the instructions of a densely packed program in order, one a cycle, without stalls.

    A window of two memory words holds the next instruction whatever its length; a shifter takes its
    bytes to the lowest place. Source: DPU-v2, section III.E and figure 7(b). Where each instruction
    of a word would end is found for all of its bytes when the word arrives, so that from one
    instruction's place to the next one's there is nothing but a choice.

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

    def __init__(self, config: DpuConfig) -> None:
        self._config = config
        # Between memory and shifter.
        self._stages = config.start_cycles - config.decoder_stages - 2
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
                "address": Out(address_bits(config)),
                "beyond": Out(1),
            }
        )

    @property
    def latency(self) -> int:
        return 2 + self._stages

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        word_bytes = self._word_bytes

        # The window is complete, and stays so, once its lower word has arrived.
        started = Signal(1 + self._stages)
        complete = Signal()
        m.d.sync += started.eq(Mux(self.run, Cat(self.run, started), 0))
        m.d.comb += complete.eq(started[-1])

        advance = Signal()
        ahead = self.read_data
        if self._stages > 2:
            ahead = self._behind(m, ahead, advance, "ahead")
        high = self._behind(m, ahead, advance, "high") if self._stages > 1 else ahead
        low = Signal.like(self.read_data, name="low", reset_less=True)
        ends = Signal(data.ArrayLayout(self._end_layout(), word_bytes), reset_less=True)
        places = self._leave(m, Cat(high, ahead)) if self._stages > 1 else []
        with m.If(advance):
            m.d.sync += [low.eq(high), ends.eq(self._ends(m, high, places))]

        row = Signal(self.row.shape())
        offset = Signal(range(word_bytes))
        base = Signal.like(self.address, name="base")  # byte address of the lower word
        end = Signal(self._end_layout())
        leaves = Signal()
        if self._stages > 1:
            m.d.sync += leaves.eq(Mux(complete, end.leaves, places[0]))
        else:
            m.d.comb += leaves.eq(end.leaves)
        m.d.comb += [
            end.eq(Array(Value.cast(found) for found in ends)[offset]),
            advance.eq(~complete | leaves),
            self.row.eq(row),
            self.read_enable.eq(self.run & advance),
        ]
        with m.If(~self.run):
            m.d.sync += [row.eq(0), offset.eq(0), base.eq(0), self.valid.eq(0)]
        with m.Else():
            with m.If(advance):
                m.d.sync += row.eq(row + 1)
            m.d.sync += self.valid.eq(complete)
            with m.If(complete):
                m.d.sync += offset.eq(end.offset)
                with m.If(leaves):
                    m.d.sync += base.eq(base + word_bytes)

        window = Cat(low, high)
        aligned = named(m, "aligned", (window >> Cat(Const(0, 3), offset))[: len(low)])
        instruction = Signal.like(self.instruction, name="held_instruction", reset_less=True)
        last = word_bytes * (self._config.instruction_words - 1)
        m.d.comb += self.instruction.eq(instruction)
        m.d.sync += [
            instruction.eq(aligned),
            self.address.eq(base + offset),
            self.beyond.eq((base > last) | (end.crosses & (base == last))),
        ]
        return m

    def _behind(self, m: Module, word: Value, advance: Value, name: str) -> Value:
        """The word before ``word``: a register."""
        register = Signal.like(self.read_data, name=name, reset_less=True)
        with m.If(advance):
            m.d.sync += register.eq(word)
        return register

    def _end_layout(self) -> data.StructLayout:
        """What is known of an instruction: the place in its word of the byte behind it; whether it
        crosses into the next word; whether it leaves none of its own word.

        With a word more ahead, ``leaves`` is that of the instruction behind it instead, which then
        comes from a register: the way from there to the memory is long.
        """
        return data.StructLayout({"offset": range(self._word_bytes), "crosses": 1, "leaves": 1})

    def _lengths(self, word: Value, byte: int) -> Iterator[tuple[Value, int]]:
        """Whether an instruction of each length but one byte begins there, and the length."""
        opcode = word[8 * byte :][: Opcode.as_shape().width]
        for known in opcodes(self._config):
            length = instruction_bytes(self._config, known)
            if length > 1:
                yield opcode == known, length

    def _leave(self, m: Module, window: Value) -> list[Value]:
        """For each byte of two words, whether an instruction there leaves no byte of its word."""
        size = self._word_bytes
        leaves = []
        for byte in range(2 * size):
            is_last = byte % size + 1 >= size
            long_ones = [
                begins
                for begins, length in self._lengths(window, byte)
                if byte % size + length >= size
            ]
            leaves.append(named(m, f"leaves_{byte}", Cat(long_ones).any() | is_last))
        return leaves

    def _ends(self, m: Module, word: Value, places: list[Value]) -> Value:
        """For each byte of a word, where an instruction would end that began with it."""
        layout, ends = self._end_layout(), []
        size = self._word_bytes
        for byte in range(size):
            end = Signal(layout, name=f"end_{byte}")
            m.d.comb += self._set_end(end, places, byte, 1)
            for begins, length in self._lengths(word, byte):
                with m.If(begins):
                    m.d.comb += self._set_end(end, places, byte, length)
            ends.append(end)
        return Cat(ends)

    def _set_end(self, end: Any, places: list[Value], byte: int, length: int) -> list[Any]:
        size = self._word_bytes
        behind = byte + length
        return [
            end.offset.eq(behind % size),
            end.crosses.eq(behind > size),
            end.leaves.eq(places[behind] if self._stages > 1 else behind >= size),
        ]

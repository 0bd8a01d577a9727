"""An SRAM array that computes on its bitlines, a row operation a cycle."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.cut_points import named
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.memory.cleared_ram import ClearedRam

TABLE_BITS = 16
"""A truth table over bit a, bit b, carry and predicate: entry a + 2 b + 4 carry + 8 predicate."""

START_BITS = 4
"""A truth table over carry and predicate: entry carry + 2 predicate."""


def read_layout(wordlines: int) -> data.StructLayout:
    """Rows that are read."""
    return data.StructLayout({"enable": 1, "a": range(wordlines), "b": range(wordlines)})


def operation_layout(wordlines: int) -> data.StructLayout:
    """What is done with two rows.

    enable
        whether anything is.
    begin_carry, begin_predicate
        what carry and predicate are before, of what they were: tables over both.
    is_inward
        whether row a is the one that comes from outside, and the mask stands for the predicate;
        carry and predicate then stay as they are.
    write, carry, predicate
        tables over the two bits, carry and predicate.
    write_enable, d
        the row that is written.
    """
    return data.StructLayout(
        {
            "enable": 1,
            "begin_carry": START_BITS,
            "begin_predicate": START_BITS,
            "is_inward": 1,
            "write": TABLE_BITS,
            "carry": TABLE_BITS,
            "predicate": TABLE_BITS,
            "write_enable": 1,
            "d": range(wordlines),
        }
    )


def compute_layout(wordlines: int) -> data.StructLayout:
    """An operation on the rows that were read in the cycle before. ``forward_a``, ``forward_b``:
    the row that was read is the one that the operation before has written."""
    operation = operation_layout(wordlines)
    return data.StructLayout({"operation": operation, "forward_a": 1, "forward_b": 1})


class ComputeArray(Instanced):
    """``wordlines`` rows of ``bitlines`` bits; of each bitline a carry and a predicate.

    A row operation reads two rows, and has any function of both bits, carry and predicate as the
    bit that it writes, as the next carry, and as the next predicate. There are no bit enables:
    where a bit is to stay, the operation reads its row, too. Two copies of a two-port RAM give the
    two reads and the write. After a reset, all bits are 0.

    Latency: rows are read in one cycle, and computed with and written in the next. Throughput: one
    operation a cycle. Source: Infinity Stream, section 2.2; Neural Cache (ISCA 2018).

    Parameters: ``wordlines``, ``bitlines``: powers of two of at least 2.

    Members: ``read``, a ``read_layout``; ``compute``, a ``compute_layout``, for the rows that were
    read in the cycle before; ``inward`` and ``mask``, rows from outside; ``row``, row a as it was
    read; ``any_predicate``, whether a bitline's predicate is set.
    """

    def __init__(self, wordlines: int, bitlines: int) -> None:
        self._wordlines = wordlines
        self._bitlines = bitlines
        super().__init__(
            {
                "read": In(read_layout(wordlines)),
                "compute": In(compute_layout(wordlines)),
                "inward": In(bitlines),
                "mask": In(bitlines),
                "row": Out(bitlines),
                "any_predicate": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        width, operation = self._bitlines, self.compute.operation
        written, last = Signal(width), Signal(width)
        carry, predicate = Signal(width), Signal(width)
        m.submodules.rows = rows = ClearedRam(self._wordlines, width, 2)
        m.d.comb += [
            rows.read_enable.eq(self.read.enable),
            rows.write_address.eq(operation.d),
            rows.write_enable.eq(operation.enable & operation.write_enable),
            rows.write_data.eq(written),
        ]
        bits = {}
        for number, name in enumerate("ab"):
            bits[name] = Signal(width, name=f"bits_{name}")
            forward = self.compute[f"forward_{name}"]
            m.d.comb += [
                rows.read_addresses[number].eq(self.read[name]),
                bits[name].eq(Mux(forward, last, rows.read_data[number])),
            ]
        begun = {"carry": Signal(width), "predicate": Signal(width)}
        for name, value in begun.items():
            m.d.comb += value.eq(_function(m, operation, f"begin_{name}", (carry, predicate)))
        inputs = (
            Mux(operation.is_inward, self.inward, bits["a"]),
            bits["b"],
            begun["carry"],
            Mux(operation.is_inward, self.mask, begun["predicate"]),
        )
        m.d.comb += [
            written.eq(_function(m, operation, "write", inputs)),
            self.row.eq(bits["a"]),
            self.any_predicate.eq(predicate.any()),
        ]
        with m.If(operation.enable):
            m.d.sync += last.eq(written)
        with m.If(operation.enable & ~operation.is_inward):
            m.d.sync += [
                carry.eq(_function(m, operation, "carry", inputs)),
                predicate.eq(_function(m, operation, "predicate", inputs)),
            ]
        return m


def _function(m: Module, operation: data.View, name: str, inputs: tuple[Value, ...]) -> Value:
    """For each bitline, the entry of table ``name`` that its bits of ``inputs`` select."""
    # Signed: a bit of the table is extended to all bitlines, which Amaranth converts faster than as
    # many copies.
    first, *others = (each.as_signed() for each in inputs)
    table = operation[name]
    depends = named(m, f"{name}_depends", table[::2] ^ table[1::2])
    entries: list[Value] = [
        table[2 * place].as_signed() ^ (depends[place].as_signed() & first)
        for place in range(len(depends))
    ]
    for each in others:
        entries = [
            (entries[place] & ~each) | (entries[place + 1] & each)
            for place in range(0, len(entries), 2)
        ]
    return entries[0]

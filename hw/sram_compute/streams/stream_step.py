"""What the sequencer of streams tells their engines, stage by stage."""

from __future__ import annotations

from amaranth.hdl import unsigned
from amaranth.lib import data
from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.sram_compute import isa
from gnarl.hw.sram_compute.isa import REGISTERS, STRIP, Second

STEP_BITS = (STRIP - 1).bit_length()

STRIP_NUMBER = 24
"""Bits of a strip's number."""

LOOP = data.StructLayout(
    {
        "first": unsigned(STEP_BITS),
        "count": unsigned(isa.COUNT_BITS),
        "span": unsigned(isa.SPAN_BITS),
        "rotation": 6,
    }
)
"""Fields of the loop that runs: as ``isa.NEAR``; the bank that has the first strip."""

BEGIN = data.StructLayout(
    {
        "enable": 1,
        "origin": isa.WORD_BITS,
        "stride": isa.WORD_BITS,
        "strip": unsigned(STRIP_NUMBER),
    }
)
"""An operation on a strip begins: the place of the first strip's first element, words from an
element to the next, and the number of the first strip. ``stride`` is there a cycle before."""

FETCH = data.StructLayout(
    {"a": range(REGISTERS * STRIP), "b": range(REGISTERS * STRIP), "c": range(REGISTERS * STRIP)}
)
"""The words of registers that are read."""

ADDRESS = data.StructLayout(
    {
        "step": unsigned(STEP_BITS),
        "accesses": 1,
        "stores": 1,
        "is_set": 1,
        "is_indirect": 1,
        "is_transposed": 1,
        "is_uniform": 1,
        "row": unsigned(9),
        "length": isa.WORD_BITS,
        "scale": unsigned(isa.SCALE_BITS),
        "a_is_turned": 1,
        "b_source": Second,
        "immediate": 32,
    }
)
"""Fields of the step whose place is found: fields as of ``isa.OPERATION`` and ``isa.STREAM``.
``is_uniform``: all elements of a strip are one word, which is read in step 0."""

COMPUTE = data.StructLayout(
    {
        "step": unsigned(STEP_BITS),
        "operation": ExecuteOpcode.as_shape(),
        "reads": 1,
        "a_is_turned": 1,
        "turns": 1,
    }
)
"""Fields of the step whose operands are there. ``turns``: operand a goes to the transposer."""

RESULT = data.StructLayout(
    {
        "place": range(REGISTERS * STRIP),
        "writes": 1,
        "is_whole": 1,
        "operation": ExecuteOpcode.as_shape(),
    }
)
"""Fields of the step whose result is there, and goes to ``place`` of the registers."""

"""The decoder on random bits, beside the layouts of the formats."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import Timer

from cocotb_tests.dpu.configs import config_under_test
from cocotb_tests.dpu.random_programs import EXECS, LOADS, STORES
from gnarl.hw.dpu.decoder import control_layout, illegal_layout
from gnarl.hw.dpu.isa import (
    FIRST_WRITER,
    WRITE_COPY,
    Opcode,
    PeOp,
    instruction,
    instruction_word_bits,
    opcodes,
)
from gnarl.hw.dpu.topology import writers


def bits_where(flags) -> int:
    return sum(bool(flag) << place for place, flag in enumerate(flags))


@cocotb.test()
async def random_bits(dut):
    config = config_under_test()
    banks = range(config.banks)
    control_shape, illegal_shape = control_layout(config), illegal_layout(config)
    limits = [FIRST_WRITER + len(writers(config, bank)) for bank in banks]
    for _ in range(500):
        code = random.randrange(10)
        word = random.getrandbits(instruction_word_bits(config)) & ~15 | code
        valid = random.random() < 0.9
        dut.decoder__instruction.value = word
        dut.decoder__valid.value = int(valid)
        await Timer(1, "ns")
        control = control_shape.from_bits(int(dut.decoder__control.value))
        illegal = illegal_shape.from_bits(int(dut.decoder__illegal.value))

        known = valid and code in [opcode.value for opcode in opcodes(config)]
        opcode = Opcode(code) if known else None
        layout = instruction(config, opcode) if opcode is not None else None
        fields = layout.from_bits(word & (1 << layout.size) - 1) if layout else None

        def field(name, default=0, layout=layout, fields=fields):
            return getattr(fields, name) if layout and name in layout.members else default

        executes, moves = opcode in EXECS, opcode in (*LOADS, *STORES)
        crosses = executes or opcode == Opcode.COPY
        assert (control.nop, control.halt) == (opcode == Opcode.NOP, opcode == Opcode.HALT)
        assert (control.exec, control.copy) == (executes, opcode == Opcode.COPY)
        assert (control.load, control.store) == (opcode in LOADS, opcode in STORES)
        for name in ("read_enable", "valid_reset", "load_enable"):
            assert getattr(control, name) == field(name)
        stored = "read_enable" if opcode == Opcode.STORE else "store_enable"
        assert control.store_enable == field(stored)
        none = [0] * config.banks
        source = field("write_source", none)
        if opcode == Opcode.COPY:
            source = [WRITE_COPY * (fields.write_enable >> bank & 1) for bank in banks]
        assert [control.write_source[bank] for bank in banks] == list(source)
        for name in ("read_address", "source", "operation", "row"):
            if layout and name in layout.members:
                found, wanted = getattr(control, name), field(name)
                assert found == wanted if name == "row" else list(found) == list(wanted)

        used = field("read_enable") | field("valid_reset")
        address = field("read_address", none)
        lanes = field("source", none)
        operation = field("operation", [0] * config.pes)
        assert illegal.opcode == (valid and not known)
        assert illegal.row == (moves and field("row") >= config.data_rows)
        assert illegal.operation == bits_where(code >= len(PeOp) for code in operation)
        assert illegal.write_source == bits_where(
            executes and source[bank] >= limits[bank] for bank in banks
        )
        assert illegal.source == bits_where(
            crosses and lanes[bank] >= config.banks for bank in banks
        )
        assert illegal.read_address == bits_where(
            used >> bank & 1 and address[bank] >= config.registers for bank in banks
        )

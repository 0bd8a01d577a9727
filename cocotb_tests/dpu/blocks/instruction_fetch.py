"""Fetch of random programs, started and stopped at random."""

from __future__ import annotations

import random

import cocotb

from cocotb_tests.dpu.blocks.bench import Block
from cocotb_tests.dpu.configs import config_under_test
from gnarl.hw.dpu.instruction_fetch import InstructionFetch
from gnarl.hw.dpu.isa import instruction_bytes, instruction_word_bits, opcodes

OUTPUTS = ("row", "read_enable", "instruction", "valid", "address", "beyond")


@cocotb.test()
async def one_instruction_a_cycle(dut):
    config = config_under_test()
    word_bytes = instruction_word_bits(config) // 8
    size = config.instruction_words * word_bytes
    lengths = {code.value: instruction_bytes(config, code) for code in opcodes(config)}
    fetch = Block(dut, "instruction_fetch", ["run", "read_data"], OUTPUTS)
    await fetch.open()
    latency = InstructionFetch(config).latency
    ended = 0
    for _ in range(30):
        # Any bytes make a program; first ones are drawn so that long formats are as frequent.
        memory = bytearray(random.randbytes(size))
        address = 0
        while address < size:
            memory[address] = memory[address] & 0xF0 | random.choice([*lengths, 15])
            address += lengths.get(memory[address] & 15, 1)
        address, read_data = 0, random.getrandbits(8 * word_bytes)
        for cycle in range(random.choice([3, 5, 20, 1000, 1000])):
            seen = await fetch.cycle(run=1, read_data=read_data)
            assert seen["valid"] == (cycle >= latency)
            if seen["valid"]:
                length = lengths.get(memory[address] & 15, 1) if address < size else 1
                beyond = address + length > size
                assert (seen["address"], seen["beyond"]) == (address, beyond)
                if beyond:
                    ended += 1
                    break
                body = seen["instruction"] & (1 << 8 * length) - 1
                assert body.to_bytes(length, "little") == memory[address : address + length]
                address += length
            if seen["read_enable"]:
                start = seen["row"] * word_bytes
                word = bytes(memory[start : start + word_bytes]).ljust(word_bytes, b"\0")
                read_data = int.from_bytes(word, "little")
        if random.random() < 0.3:
            await fetch.reset()
        await fetch.cycle(run=0)
        for _ in range(random.randrange(3)):
            assert (await fetch.cycle(run=0))["valid"] == 0
    assert ended

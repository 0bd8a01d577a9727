"""A register bank under random traffic, beside a list of words."""

from __future__ import annotations

import random

import cocotb

from cocotb_tests.dpu.blocks.bench import Block
from cocotb_tests.dpu.configs import config_under_test

INPUTS = ("read_enable", "read_address", "valid_reset", "write_enable", "word", "clear")


@cocotb.test()
async def random_traffic(dut):
    config = config_under_test()
    registers = config.registers
    bank = Block(dut, "register_bank", INPUTS, ["o", "empty", "full"])
    await bank.open()
    words: list[int | None] = [None] * registers
    happened = {"forward": 0, "empty": 0, "full": 0, "reset": 0}
    for step in range(6000):
        if random.random() < 0.002:
            await bank.reset()
            words = [None] * registers
            happened["reset"] += 1
        share = (0.3, 0.5, 0.9)[step // 500 % 3]
        address, word = random.randrange(registers), random.getrandbits(config.width)
        read, free, write = (random.random() < p for p in (0.7, 1 - share, share))
        clear = random.random() < 0.002
        seen = await bank.cycle(
            read_enable=read,
            read_address=address,
            valid_reset=free,
            write_enable=write,
            word=word,
            clear=clear,
        )
        full = None not in words
        assert seen["full"] == (write and full)
        if write and not full:
            register = words.index(None)
            words[register] = word
            happened["forward"] += read and register == address
        assert seen["empty"] == (read and words[address] is None)
        if not read:
            assert seen["o"] == 0
        elif words[address] is not None:
            assert seen["o"] == words[address]
        happened["empty"] += seen["empty"]
        happened["full"] += seen["full"]
        if free:
            words[address] = None
        if clear:
            words = [None] * registers
    assert all(happened.values()), happened

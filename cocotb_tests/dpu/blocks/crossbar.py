"""The crossbar: random words from random banks, every cycle."""

from __future__ import annotations

import random

import cocotb

from cocotb_tests.dpu.blocks.bench import Block, join, split
from cocotb_tests.dpu.configs import config_under_test


@cocotb.test()
async def random_sources(dut):
    config = config_under_test()
    banks, width = config.banks, config.width
    crossbar = Block(dut, "crossbar", ["words", "source"], ["o"])
    await crossbar.open()
    expected = None
    for _ in range(1000):
        words = [random.getrandbits(width) for _ in range(banks)]
        source = [random.randrange(banks) for _ in range(banks)]
        seen = await crossbar.cycle(
            words=join(words, width), source=join(source, (banks - 1).bit_length())
        )
        if expected is not None:
            assert split(seen["o"], width, banks) == expected
        expected = [words[bank] for bank in source]

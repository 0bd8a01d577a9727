"""Trees of PEs beside the golden arithmetic; results of every PE."""

from __future__ import annotations

import random

import cocotb
import numpy as np

from cocotb_tests.dpu.blocks.bench import Block, join, split
from cocotb_tests.dpu.configs import config_under_test
from gnarl.hw.dpu.isa import PeOp
from gnarl.hw.dpu.topology import pe_list, pe_number
from gnarl.hw.lib.formats import FloatFormat, parse_format
from gnarl.sw.golden.arithmetic import arithmetic

CYCLES = 600


def random_word(format: str) -> int:
    """Mostly of moderate size, so that sums and products keep some bits."""
    parsed = parse_format(format)
    bits = random.getrandbits(parsed.width)
    if isinstance(parsed, FloatFormat) and random.random() < 0.8:
        exponent = parsed.bias + random.randrange(-2, 3)
        low = bits & (1 << parsed.fraction) - 1
        return bits >> (parsed.width - 1) << (parsed.width - 1) | exponent << parsed.fraction | low
    return bits


def compute(format: str, operation: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Words of many operations at once, from words."""
    unit = arithmetic(format)
    results = np.where(operation == PeOp.PASS_RIGHT, right, left)
    for code in (PeOp.ADD, PeOp.SUB, PeOp.MUL, PeOp.MAX, PeOp.MIN):
        at = operation == code
        numbers = unit.apply(code, unit.numbers(left[at]), unit.numbers(right[at]))
        results[at] = unit.words(numbers)
    return results


@cocotb.test()
async def random_operations_every_cycle(dut):
    config = config_under_test()
    format = config.format
    width, lanes, pes = config.width, config.tree_inputs, config.pes_per_tree
    tree = Block(dut, "pe_tree", ["words", "operation"], ["results"])
    await tree.open()
    words = np.array([[random_word(format) for _ in range(lanes)] for _ in range(CYCLES)], "<u4")
    operation = np.array([[random.randrange(7) for _ in range(pes)] for _ in range(CYCLES)])
    log = []
    for cycle in range(CYCLES):
        seen = await tree.cycle(
            words=join(words[cycle], width), operation=join(operation[cycle], 3)
        )
        log.append(split(seen["results"], width, pes))
    found = np.array(log)

    expected = np.zeros((CYCLES, pes), np.uint32)
    for pe, wired in enumerate(pe_list(config)[:pes]):
        if wired.layer == 1:
            operands = [words[:, 2 * wired.place + side] for side in (0, 1)]
        else:
            below = [pe_number(config, 0, wired.layer - 1, 2 * wired.place + k) for k in (0, 1)]
            operands = [expected[:, number] for number in below]
        expected[:, pe] = compute(format, operation[:, pe], *operands)
        latency = wired.layer * config.pe_stages
        assert (found[latency:, pe] == expected[:-latency, pe]).all(), f"PE {pe}"

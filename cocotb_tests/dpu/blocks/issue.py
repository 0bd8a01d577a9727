"""Issue in random runs, some of which end early, beside a few lines that say the same."""

from __future__ import annotations

import random

import cocotb

from cocotb_tests.dpu.blocks.bench import Block
from cocotb_tests.dpu.configs import config_under_test


@cocotb.test()
async def random_runs(dut):
    issue = Block(dut, "issue", ["busy", "halt"], ["issue", "finished"])
    await issue.open()
    drain_cycles = config_under_test().drain_cycles
    # ``left``: cycles until finished, None before the HALT.
    busy, left = False, None
    happened = {"finished": 0, "stopped": 0}
    for _ in range(3000):
        issues = busy and left is None
        halt = issues and random.random() < 0.1
        if halt:
            left = drain_cycles
        if left is not None:
            left -= 1
        finished = left == 0
        seen = await issue.cycle(busy=busy, halt=halt)
        assert seen == {"issue": issues, "finished": finished}
        stopped = busy and random.random() < 0.03
        happened["finished"] += finished
        happened["stopped"] += stopped and not finished
        if finished or stopped or not busy:
            busy, left = not busy and random.random() < 0.3, None
    assert all(happened.values()), happened

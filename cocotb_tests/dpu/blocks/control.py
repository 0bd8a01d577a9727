"""Control under random commands, faults and halts, beside a few lines that say the same."""

from __future__ import annotations

import random

import cocotb

from cocotb_tests.dpu.blocks.bench import Block, join, split
from cocotb_tests.dpu.configs import config_under_test
from hw.dpu.isa import COUNTERS

INPUTS = ("start", "stop", "clear", "error", "fault", "issued", "halt")
OUTPUTS = ("begin", "issue", "busy", "done", "cycles", "counters")


@cocotb.test()
async def random_commands(dut):
    control = Block(dut, "control", INPUTS, OUTPUTS)
    await control.open()
    drain_cycles = config_under_test().drain_cycles
    # ``left``: cycles until done, None before the HALT.
    busy = done = False
    left: int | None = None
    cycles, counters = 0, [0] * len(COUNTERS)
    happened = {"done": 0, "stop": 0, "fault": 0, "clear": 0, "refused": 0}
    for _ in range(6000):
        start, halt = random.random() < 0.3, random.random() < 0.1
        stop, clear, fault = (random.random() < 0.01 for _ in range(3))
        error = random.random() < 0.05
        issues = busy and left is None
        halt, fault = halt and issues, fault and busy
        issued = [issues and not halt and random.random() < 0.5 for _ in COUNTERS]
        seen = await control.cycle(
            start=start,
            stop=stop,
            clear=clear,
            error=error,
            fault=fault,
            halt=halt,
            issued=join(issued, 1),
        )
        begin = start and not (busy or stop or clear or error)
        assert seen["counters"] == join(counters, 64)
        assert split(seen["counters"], 64, len(COUNTERS)) == counters
        assert (seen["begin"], seen["issue"], seen["busy"]) == (begin, issues, busy)
        assert (seen["done"], seen["cycles"]) == (done, cycles)
        cycles += busy
        counters = [count + one for count, one in zip(counters, issued, strict=True)]
        happened["refused"] += start and error and not busy
        if halt:
            left = drain_cycles
        if busy and left is not None:
            left -= 1
        if clear or (busy and (stop or fault)):
            happened["clear" if clear else "stop" if stop else "fault"] += 1
            busy, left = False, None
            done = False
        elif busy and left == 0:
            busy, done, left = False, True, None
            happened["done"] += 1
        elif begin:
            busy, done = True, False
        if begin or clear:
            cycles, counters = 0, [0] * len(COUNTERS)
    assert all(happened.values()), happened

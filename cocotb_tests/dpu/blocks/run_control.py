"""Run control under random commands, faults and ends, beside a few lines that say the same."""

from __future__ import annotations

import random

import cocotb

from cocotb_tests.dpu.blocks.bench import Block

INPUTS = ("start", "stop", "clear", "error", "limit", "fault", "finished", "works")
OUTPUTS = ("begin", "busy", "done", "expired", "cycles")


@cocotb.test()
async def random_commands(dut):
    control = Block(dut, "run_control", INPUTS, OUTPUTS)
    await control.open()
    busy = done = expired = False
    cycles = limit = 0
    happened = {"done": 0, "stop": 0, "fault": 0, "clear": 0, "refused": 0, "expired": 0}
    for _ in range(6000):
        start, works = random.random() < 0.3, random.random() < 0.8
        stop, clear, fault = (random.random() < 0.01 for _ in range(3))
        error, finished = (random.random() < 0.05 for _ in range(2))
        if not busy:
            limit = random.choice((1, 5, 20, 30, 2**20))
        seen = await control.cycle(
            limit=min(limit, 2 ** len(dut.run_control__limit) - 1),
            start=start,
            stop=stop,
            clear=clear,
            error=error,
            fault=fault,
            finished=finished,
            works=works,
        )
        begin = start and not (busy or stop or clear or error)
        assert (seen["begin"], seen["busy"]) == (begin, busy)
        assert (seen["done"], seen["expired"], seen["cycles"]) == (done, expired, cycles)
        expires = busy and works and cycles == limit
        cycles += busy and works
        happened["refused"] += start and error and not busy
        if clear or (busy and (stop or fault)):
            happened["clear" if clear else "stop" if stop else "fault"] += 1
            busy = done = False
            expired = expired and not clear
        elif expires:
            busy, expired = False, True
            happened["expired"] += 1
        elif busy and finished:
            busy, done = False, True
            happened["done"] += 1
        elif begin:
            busy, done = True, False
        if begin or clear:
            cycles = 0
    assert all(happened.values()), happened

"""The data memory: random loads, stores and interruptions, beside a table."""

from __future__ import annotations

import random

import cocotb
import numpy as np

from cocotb_tests.dpu.blocks.bench import Block, join, split
from cocotb_tests.dpu.configs import config_under_test

INPUTS = (
    "busy",
    "row",
    "load_enable",
    "store_enable",
    "words",
    "clear",
    "host__row",
    "host__lane",
    "host__write_enable",
    "host__write_data",
)


@cocotb.test()
async def random_loads_and_stores(dut):
    config = config_under_test()
    rows, banks, width = config.data_rows, config.banks, config.width
    memory = Block(dut, "data_memory", INPUTS, ["loaded", "loads", "host__read_data"])
    await memory.open()
    table = np.zeros((rows, banks), int)
    for row in range(rows):
        await memory.cycle(busy=1, row=row, store_enable=(1 << banks) - 1)
    await memory.cycle(busy=1)
    # What is under way: a store, not yet written; loads that come in 1 cycle, and in this one.
    store: tuple[int, int, list[int]] | None = None
    reading: tuple[int, int] | None = None
    loaded: tuple[int, list[int]] | None = None
    answer: int | None = None
    happened = {"load": 0, "clear": 0, "cancel": 0, "host": 0}
    busy = True
    for _ in range(4000):
        # As in the machine, it's cleared in the last cycle in which it isn't busy.
        begins = not busy and random.random() < 0.2
        clear = begins or random.random() < 0.02
        row, mask = random.randrange(rows), random.getrandbits(banks)
        words = [random.getrandbits(width) for _ in range(banks)]
        stores = random.random() < 0.5
        host_row, lane, word = random.randrange(rows), random.randrange(banks), words[0]
        host_writes = random.random() < 0.5
        seen = await memory.cycle(
            busy=busy,
            row=row,
            load_enable=0 if stores else mask,
            store_enable=mask if stores else 0,
            words=join(words, width),
            clear=clear,
            host__row=host_row,
            host__lane=lane,
            host__write_enable=host_writes,
            host__write_data=word,
        )
        if answer is not None:
            assert seen["host__read_data"] == answer
            happened["host"] += 1
        if busy:
            assert seen["loaded"] == (loaded[0] if loaded else 0)
            if loaded:
                found = split(seen["loads"], width, banks)
                wanted = [lane for lane in range(banks) if loaded[0] >> lane & 1]
                assert [found[lane] for lane in wanted] == [loaded[1][lane] for lane in wanted]
                happened["load"] += 1
        answer = None
        if not busy and host_writes:
            table[host_row, lane] = word
        elif not busy:
            answer = int(table[host_row, lane])
        if busy and store:
            lanes = [lane for lane in range(banks) if store[1] >> lane & 1]
            table[store[0], lanes] = np.array(store[2])[lanes]
        happened["cancel"] += bool(store and not busy)
        happened["clear"] += clear
        loaded = (reading[1], table[reading[0]].tolist()) if reading else None
        store, reading = ((row, mask, words), None) if stores else (None, (row, mask))
        if clear:
            store = reading = loaded = None
        busy = begins or (busy and random.random() < 0.97)
    assert all(happened.values()), happened

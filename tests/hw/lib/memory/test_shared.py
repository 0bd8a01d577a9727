"""Memories that core and host share."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from gnarl.hw.lib.machine.memory_map import Window
from gnarl.hw.lib.memory.shared import SharedMemory
from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.machine.verilate import lint


def simulate(window: Window, bench: Any) -> None:
    """Runs ``bench(context, memory)``."""
    memory = SharedMemory(window)

    async def testbench(context: Any) -> None:
        await bench(context, memory)

    simulator = Simulator(memory)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()


async def write_row(context: Any, memory: Any, row: int, words: list[int], mask: int) -> None:
    context.set(memory.core.row, row)
    context.set(memory.core.write_data, words)
    context.set(memory.core.write_enable, mask)
    await context.tick()
    context.set(memory.core.write_enable, 0)


async def read_row(context: Any, memory: Any, row: int) -> list[int]:
    context.set(memory.core.row, row)
    context.set(memory.core.read_enable, 1)
    await context.tick()
    context.set(memory.core.read_enable, 0)
    return list(context.get(memory.core.read_data))


async def write_word(context: Any, memory: Any, row: int, lane: int, word: int) -> None:
    context.set(memory.host.row, row)
    context.set(memory.host.lane, lane)
    context.set(memory.host.write_data, word)
    context.set(memory.host.write_enable, 1)
    await context.tick()
    context.set(memory.host.write_enable, 0)


async def read_word(context: Any, memory: Any, row: int, lane: int) -> int:
    context.set(memory.host.row, row)
    context.set(memory.host.lane, lane)
    await context.tick()
    return context.get(memory.host.read_data)


def test_the_core_writes_the_words_of_its_mask_only():
    async def bench(context, memory):
        context.set(memory.busy, 1)
        await write_row(context, memory, 2, [1, 2, 3, 4], 0b1111)
        await write_row(context, memory, 2, [5, 6, 7, 8], 0b1010)
        assert await read_row(context, memory, 2) == [1, 6, 3, 8]

    simulate(Window("m", 4, 4), bench)


def test_a_row_stays_on_the_bus_until_the_next_read():
    async def bench(context, memory):
        context.set(memory.busy, 1)
        await write_row(context, memory, 0, [1, 2], 0b11)
        await write_row(context, memory, 1, [3, 4], 0b11)
        assert await read_row(context, memory, 0) == [1, 2]
        context.set(memory.core.row, 1)
        await context.tick()
        assert list(context.get(memory.core.read_data)) == [1, 2]

    simulate(Window("m", 2, 2), bench)


def test_a_word_that_is_written_is_not_read():
    async def bench(context, memory):
        context.set(memory.busy, 1)
        await write_row(context, memory, 0, [1, 2], 0b11)
        await write_row(context, memory, 1, [3, 4], 0b11)
        assert await read_row(context, memory, 0) == [1, 2]
        context.set(memory.core.read_enable, 1)
        await write_row(context, memory, 1, [5, 6], 0b01)
        assert list(context.get(memory.core.read_data)) == [1, 4]

    simulate(Window("m", 2, 2), bench)


def test_the_memory_is_the_cores_while_busy_and_else_the_hosts():
    async def bench(context, memory):
        await write_word(context, memory, 1, 0, 10)
        await write_row(context, memory, 1, [7, 7], 0b11)  # not busy: not the core's turn
        assert await read_word(context, memory, 1, 0) == 10
        context.set(memory.busy, 1)
        await write_word(context, memory, 1, 0, 11)
        assert (await read_row(context, memory, 1))[0] == 10

    simulate(Window("m", 2, 2), bench)


@pytest.mark.parametrize("rows, words, bits", [(1, 1, 1), (2, 1, 32), (1, 5, 8), (7, 3, 13)])
def test_core_and_host_see_the_same_words(rows, words, bits):
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)

    async def bench(context, memory):
        table = [[0] * words for _ in range(rows)]
        for row in range(rows):
            for lane in range(words):
                await write_word(context, memory, row, lane, 0)
        for _ in range(200):
            row, lane = chance.randrange(rows), chance.randrange(words)
            line = [chance.getrandbits(bits) for _ in range(words)]
            action = chance.randrange(4)
            context.set(memory.busy, action >= 2)
            if action == 0:
                await write_word(context, memory, row, lane, line[lane])
                table[row][lane] = line[lane]
            elif action == 1:
                assert await read_word(context, memory, row, lane) == table[row][lane]
            elif action == 2:
                mask = chance.getrandbits(words)
                await write_row(context, memory, row, line, mask)
                table[row] = [
                    new if mask >> place & 1 else old
                    for place, (new, old) in enumerate(zip(line, table[row], strict=True))
                ]
            else:
                assert await read_row(context, memory, row) == table[row]

    simulate(Window("m", rows, words, bits), bench)


@pytest.mark.parametrize("rows, words, bits", [(1, 1, 1), (7, 3, 13), (1024, 2, 32)])
def test_verilog_is_clean_and_has_one_ram_module(rows, words, bits):
    verilog = to_verilog(SharedMemory(Window("m", rows, words, bits)), "memory")
    assert lint(verilog, "memory") == []
    assert verilog.count("\nmodule ") == 2
    assert "initial" not in verilog.split(f"module ram_{rows}x{bits}")[1]


def test_verilog_is_the_same_every_time():
    texts = {to_verilog(SharedMemory(Window("m", 8, 3)), "memory") for _ in range(2)}
    assert len(texts) == 1
    assert np.all([".py" not in text for text in texts])

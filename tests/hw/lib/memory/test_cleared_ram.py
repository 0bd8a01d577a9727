"""The memory that a reset clears, with resets at random."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.sim import Simulator

from gnarl.hw.lib.memory.cleared_ram import ClearedRam


@pytest.mark.parametrize("rows, width, reads", [(1, 1, 1), (8, 5, 2), (32, 33, 3)])
def test_rows_are_zero_until_they_are_written(rows: int, width: int, reads: int):
    chance = random.Random(rows)
    ram, reset, top = ClearedRam(rows, width, reads), Signal(), Module()
    top.submodules.ram = ResetInserter(reset)(ram)
    simulator = Simulator(top)
    simulator.add_clock(1e-6)

    async def drive(context: Any) -> None:
        words, shown = [0] * rows, [0] * reads
        for _ in range(600):
            assert [context.get(ram.read_data[each]) for each in range(reads)] == shown
            resets, reads_now, writes = (chance.random() < each for each in (0.03, 0.8, 0.5))
            addresses = [chance.randrange(rows) for _ in range(reads)]
            address, word = chance.randrange(rows), chance.getrandbits(width)
            context.set(reset, resets)
            context.set(ram.read_enable, reads_now)
            for number, each in enumerate(addresses):
                context.set(ram.read_addresses[number], each)
            context.set(ram.write_address, address)
            context.set(ram.write_enable, writes)
            context.set(ram.write_data, word)
            await context.tick()
            if reads_now:
                shown = [words[each] for each in addresses]
            if writes:
                words[address] = word
            if resets:
                words, shown = [0] * rows, [0] * reads

    simulator.add_testbench(drive)
    simulator.run()


def test_rows_are_a_power_of_two():
    with pytest.raises(ValueError) as caught:
        ClearedRam(3, 1, 1)
    assert str(caught.value) == "rows = 3: must be a power of two"

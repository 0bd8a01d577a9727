"""The output interconnect with random write sources and loads every cycle."""

from __future__ import annotations

import random
from collections import defaultdict, deque

import cocotb

from cocotb_tests.dpu.blocks.bench import Block, join, split
from cocotb_tests.dpu.configs import config_under_test
from gnarl.hw.dpu.isa import FIRST_WRITER, WRITE_COPY, write_source_bits
from gnarl.hw.dpu.topology import pe_list, writers

INPUTS = ("issue", "write_source", "copies", "results", "load_enable", "loads", "clear")
CYCLES = 1000


@cocotb.test()
async def random_writes(dut):
    config = config_under_test()
    banks, width = config.banks, config.width
    interconnect = Block(dut, "output_interconnect", INPUTS, ["write_enable", "words", "conflict"])
    await interconnect.open()
    layers = [pe.layer for pe in pe_list(config)]
    # By cycle and bank: what is to be written, ("copies", lane) or ("results", PE).
    coming: dict[tuple[int, int], list[tuple[str, int]]] = defaultdict(list)
    under_way = deque([[] for _ in range(banks)] for _ in range(config.write_stages))
    happened = {"write": 0, "conflict": 0, "clear": 0}
    for cycle in range(CYCLES):
        now = {
            "copies": [random.getrandbits(width) for _ in range(banks)],
            "results": [random.getrandbits(width) for _ in range(config.pes)],
            "loads": [random.getrandbits(width) for _ in range(banks)],
        }
        # Few sources name a writer, so that not all writes are conflicts.
        legal = [len(writers(config, bank)) for bank in range(banks)]
        source = [
            random.randrange(FIRST_WRITER + count) if random.random() < 0.2 else 0
            for count in legal
        ]
        issue, clear = random.random() < 0.7, random.random() < 0.01
        load = random.getrandbits(banks) & random.getrandbits(banks) & random.getrandbits(banks)
        seen = await interconnect.cycle(
            issue=issue,
            write_source=join(source, write_source_bits(config)),
            load_enable=load,
            clear=clear,
            **{name: join(words, width) for name, words in now.items()},
        )
        words = split(seen["words"], width, banks)
        arrived = [
            [now[name][place] for name, place in coming.pop((cycle, bank), [])]
            + ([now["loads"][bank]] if load >> bank & 1 else [])
            for bank in range(banks)
        ]
        under_way.append(arrived)
        for bank, offers in enumerate(under_way.popleft()):
            assert seen["write_enable"] >> bank & 1 == bool(offers)
            assert seen["conflict"] >> bank & 1 == (len(offers) > 1)
            if len(offers) == 1:
                assert words[bank] == offers[0]
            happened["write"] += len(offers) == 1
            happened["conflict"] += len(offers) > 1
        if clear:
            coming.clear()
            under_way = deque([[] for _ in range(banks)] for _ in under_way)
            happened["clear"] += 1
        elif issue:
            for bank, chosen in enumerate(source):
                if chosen == WRITE_COPY:
                    arrival = cycle + config.layer_end(0)
                    coming[arrival, bank].append(("copies", bank))
                elif chosen >= FIRST_WRITER:
                    pe = writers(config, bank)[chosen - FIRST_WRITER]
                    arrival = cycle + config.layer_end(layers[pe])
                    coming[arrival, bank].append(("results", pe))
    assert all(happened.values()), happened

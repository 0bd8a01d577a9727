from __future__ import annotations

from typing import Any

import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import FIRST_WRITER, WRITE_COPY, write_source_bits
from gnarl.hw.dpu.output_interconnect import OutputInterconnect
from gnarl.hw.dpu.topology import pe_list, writers
from tests.hw.dpu.simulate import seeded, simulate


def small(**fields: Any) -> DpuConfig:
    return DpuConfig(**{"depth": 2, "banks": 8, "registers": 8, "format": "fixed16.0"} | fields)


CONFIGS = [
    small(),
    small(pe_stages=3),
    small(output_interconnect="crossbar"),
    small(output_interconnect="single"),
    small(depth=1, banks=12),
    small(depth=3, output_interconnect="single", pe_stages=2),
    small(pe_stages=2, write_stages=1),
]


def copy_word(cycle: int, lane: int) -> int:
    return 1 + (cycle * 64 + lane) % 0xFFFF


def result_word(cycle: int, pe: int) -> int:
    return 1 + (0x4000 + cycle * 64 + pe) % 0xFFFF


def load_word(cycle: int, bank: int) -> int:
    return 1 + (0x8000 + cycle * 64 + bank) % 0xFFFF


class Bench:
    """Feeds words that tell where and when they came, and logs what the banks are offered."""

    def __init__(self, ctx: Any, config: DpuConfig, interconnect: OutputInterconnect) -> None:
        self.ctx = ctx
        self.config = config
        self.interconnect = interconnect
        self.cycle = 0
        self.written: dict[tuple[int, int], int] = {}
        self.conflicts: list[tuple[int, int]] = []

    async def step(
        self, sources: list[int] | None = None, load_enable: int = 0, clear: int = 0, issue: int = 1
    ) -> None:
        ctx, config, device = self.ctx, self.config, self.interconnect
        ctx.set(device.issue, issue if sources else 0)
        ctx.set(device.write_source, sources or [0] * config.banks)
        ctx.set(device.clear, clear)
        ctx.set(device.load_enable, load_enable)
        ctx.set(device.copies, [copy_word(self.cycle, lane) for lane in range(config.banks)])
        ctx.set(device.results, [result_word(self.cycle, pe) for pe in range(config.pes)])
        ctx.set(device.loads, [load_word(self.cycle, bank) for bank in range(config.banks)])
        for bank in range(config.banks):
            if ctx.get(device.conflict) >> bank & 1:
                self.conflicts.append((self.cycle, bank))
            elif ctx.get(device.write_enable) >> bank & 1:
                self.written[self.cycle, bank] = ctx.get(device.words[bank])
        await ctx.tick()
        self.cycle += 1


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.digest[:6])
def test_every_writer_of_every_bank_in_its_cycle(config):
    interconnect = OutputInterconnect(config)
    layers = [pe.layer for pe in pe_list(config)]

    async def process(ctx):
        bench = Bench(ctx, config, interconnect)
        expected = {}
        for bank in range(config.banks):
            choices = [(WRITE_COPY, 0, bank)] + [
                (FIRST_WRITER + k, layers[pe], pe) for k, pe in enumerate(writers(config, bank))
            ]
            for source, layer, place in choices:
                arrival = bench.cycle + config.layer_latency(layer)
                word = result_word if layer else copy_word
                expected[arrival, bank] = word(arrival - config.write_stages, place)
                await bench.step([source if b == bank else 0 for b in range(config.banks)])
                # One at a time, so that no two can meet.
                for _ in range(config.drain_cycles):
                    await bench.step()
        assert bench.written == expected
        assert bench.conflicts == []

    simulate(interconnect, process)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.digest[:6])
def test_random_sources_every_cycle(config):
    interconnect = OutputInterconnect(config)
    layers = [pe.layer for pe in pe_list(config)]
    rng = seeded()

    async def process(ctx):
        bench = Bench(ctx, config, interconnect)
        offers: dict[tuple[int, int], list[int]] = {}
        late = config.write_stages
        for _ in range(200):
            cycle = bench.cycle
            loads = rng.getrandbits(config.banks) & rng.getrandbits(config.banks)
            sources = [rng.randrange(1 << write_source_bits(config)) for _ in range(config.banks)]
            issue = rng.random() < 0.5
            for bank, source in enumerate(sources):
                pes = writers(config, bank)
                if loads >> bank & 1:
                    offers.setdefault((cycle + late, bank), []).append(load_word(cycle, bank))
                if not issue:
                    continue
                if source == WRITE_COPY:
                    arrival = cycle + config.layer_latency(0)
                    word = copy_word(arrival - late, bank)
                    offers.setdefault((arrival, bank), []).append(word)
                elif FIRST_WRITER <= source < FIRST_WRITER + len(pes):
                    pe = pes[source - FIRST_WRITER]
                    arrival = cycle + config.layer_latency(layers[pe])
                    word = result_word(arrival - late, pe)
                    offers.setdefault((arrival, bank), []).append(word)
            await bench.step(sources, loads, issue=issue)
        for _ in range(config.drain_cycles):
            await bench.step()
        single = {place: words[0] for place, words in offers.items() if len(words) == 1}
        assert bench.written == single
        assert bench.conflicts == sorted(set(offers) - set(single))

    simulate(interconnect, process)


def test_a_conflict_shows_at_the_bank_that_has_it():
    config = small()
    interconnect = OutputInterconnect(config)

    async def process(ctx):
        bench = Bench(ctx, config, interconnect)
        await bench.step([0, FIRST_WRITER, 0, 0, 0, WRITE_COPY, 0, 0])
        await bench.step([WRITE_COPY, WRITE_COPY, 0, 0, 0, 0, 0, 0])
        await bench.step(load_enable=0b0000_0110)
        assert bench.conflicts == [(2, 1)]
        assert sorted(bench.written) == [(1, 5), (2, 0), (2, 2)]

    simulate(interconnect, process)


@pytest.mark.parametrize("write_stages", [0, 1])
def test_clear_forgets_what_is_under_way(write_stages):
    config = small(pe_stages=2, write_stages=write_stages)
    interconnect = OutputInterconnect(config)

    async def process(ctx):
        bench = Bench(ctx, config, interconnect)
        for _ in range(8):
            await bench.step([FIRST_WRITER + 1] * 8)
        bench.written.clear()
        await bench.step([FIRST_WRITER + 1] * 8, clear=1)
        bench.written.clear()
        for _ in range(config.drain_cycles + 1):
            await bench.step()
        assert bench.written == {}

    simulate(interconnect, process)

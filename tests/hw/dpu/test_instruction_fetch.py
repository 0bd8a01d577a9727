from __future__ import annotations

from typing import Any

import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.instruction_fetch import InstructionFetch
from gnarl.hw.dpu.isa import Opcode, instruction_bytes, instruction_word_bits, opcodes
from tests.hw.dpu.simulate import seeded, simulate


def small(**fields: Any) -> DpuConfig:
    sizes = {"depth": 2, "banks": 8, "registers": 8, "format": "float16", "instruction_words": 16}
    return DpuConfig(**sizes | fields)


def memory_bytes(config: DpuConfig) -> int:
    return config.instruction_words * instruction_word_bits(config) // 8


class Bench:
    """An instruction memory, and what the fetch makes of it."""

    def __init__(self, ctx: Any, config: DpuConfig, fetch: InstructionFetch) -> None:
        self.ctx = ctx
        self.config = config
        self.fetch = fetch
        self.memory = bytearray(memory_bytes(config))

    async def run(self, cycles: int) -> list[tuple[int, int, int, int] | None]:
        """Runs for ``cycles``: what comes in each, (opcode, bits, address, beyond), or None."""
        ctx, fetch = self.ctx, self.fetch
        word_bytes = instruction_word_bits(self.config) // 8
        log: list[tuple[int, int, int, int] | None] = []
        for _ in range(cycles):
            ctx.set(fetch.run, 1)
            seen = None
            if ctx.get(fetch.valid):
                bits = ctx.get(fetch.instruction)
                seen = (bits & 15, bits, ctx.get(fetch.address), ctx.get(fetch.beyond))
            log.append(seen)
            read, row = ctx.get(fetch.read_enable), ctx.get(fetch.row)
            await ctx.tick()
            if read:
                start = row * word_bytes
                word = bytes(self.memory[start : start + word_bytes]).ljust(word_bytes, b"\xa5")
                ctx.set(fetch.read_data, int.from_bytes(word, "little"))
        ctx.set(fetch.run, 0)
        await ctx.tick()
        assert ctx.get(fetch.valid) == 0
        return log


def place(memory: bytearray, lengths: dict[Opcode, int], codes: list[Opcode], rng: Any) -> list:
    """Writes instructions with random fields: (opcode, bytes, address) of each."""
    placed = []
    address = 0
    for code in codes:
        body = bytearray(rng.randbytes(lengths[code]))
        body[0] = body[0] & 0xF0 | code
        memory[address : address + len(body)] = body
        placed.append((code, bytes(body), address))
        address += len(body)
    return placed


@pytest.mark.parametrize(
    "config",
    [
        small(),
        small(overlap=False, banks=12, depth=1),
        small(banks=16, depth=3, output_interconnect="crossbar"),
        small(instruction_words=13),
        small(fetch_stages=5),
        small(fetch_stages=6),
    ],
    ids=lambda config: config.digest[:6],
)
def test_one_instruction_a_cycle_whatever_the_lengths(config):
    fetch = InstructionFetch(config)
    lengths = {code: instruction_bytes(config, code) for code in opcodes(config)}
    longest = max(lengths, key=lambda code: lengths[code])
    rng = seeded()

    async def process(ctx):
        bench = Bench(ctx, config, fetch)
        programs = [
            [Opcode.NOP] * 50,
            [longest] * 12,
            [Opcode.NOP, longest] * 6,
            *([rng.choice(list(lengths)) for _ in range(60)] for _ in range(20)),
        ]
        for codes in programs:
            bench.memory[:] = bytes(len(bench.memory))
            while sum(lengths[code] for code in codes) > len(bench.memory):
                codes.pop()
            placed = place(bench.memory, lengths, codes, rng)
            log = await bench.run(fetch.latency + len(placed))
            assert log[: fetch.latency] == [None] * fetch.latency
            for (code, body, address), seen in zip(placed, log[fetch.latency :], strict=True):
                assert seen is not None
                bits = seen[1] & (1 << 8 * len(body)) - 1
                found = (seen[0], bits.to_bytes(len(body), "little"), *seen[2:])
                assert found == (code, body, address, 0)

    simulate(fetch, process)


def test_the_memorys_last_byte_is_in_reach_and_the_next_is_not():
    config = small()
    fetch = InstructionFetch(config)

    async def process(ctx):
        bench = Bench(ctx, config, fetch)
        size = len(bench.memory)
        log = await bench.run(fetch.latency + size + 1)
        assert log[-2] is not None and log[-2][2:] == (size - 1, 0)
        assert log[-1] is not None and log[-1][2:] == (size, 1)

    simulate(fetch, process)


@pytest.mark.parametrize("stages", [3, 5, 6])
@pytest.mark.parametrize("over", [0, 1, 2])
def test_an_instruction_must_end_within_the_memory(over, stages):
    config = small(fetch_stages=stages)
    fetch = InstructionFetch(config)
    length = instruction_bytes(config, Opcode.EXEC)

    async def process(ctx):
        bench = Bench(ctx, config, fetch)
        first = len(bench.memory) - length + over
        bench.memory[first] = Opcode.EXEC
        log = await bench.run(fetch.latency + first + 1)
        assert all(seen is None or not seen[3] for seen in log[:-1])
        assert log[-1] is not None and (log[-1][0], *log[-1][2:]) == (
            Opcode.EXEC,
            first,
            int(over > 0),
        )

    simulate(fetch, process)


def test_unknown_opcodes_are_one_byte_long():
    config = small(overlap=False)
    fetch = InstructionFetch(config)

    async def process(ctx):
        bench = Bench(ctx, config, fetch)
        unknown = [Opcode.EXEC_LOAD, Opcode.EXEC_STORE, *range(8, 16)]
        bench.memory[: len(unknown)] = bytes(unknown)
        log = await bench.run(fetch.latency + len(unknown))
        assert [seen and (seen[0], seen[2]) for seen in log[fetch.latency :]] == [
            (code, address) for address, code in enumerate(unknown)
        ]

    simulate(fetch, process)


def test_every_run_starts_from_byte_0():
    config = small()
    fetch = InstructionFetch(config)
    rng = seeded()
    lengths = {code: instruction_bytes(config, code) for code in opcodes(config)}

    async def process(ctx):
        bench = Bench(ctx, config, fetch)
        codes = [Opcode.LOAD, Opcode.EXEC, Opcode.STORE, Opcode.EXEC_LOAD, Opcode.COPY]
        placed = place(bench.memory, lengths, codes, rng)
        for cycles in (1, 2, 3, 4, 5, 6, 8):
            log = await bench.run(cycles)
            expected = [(code, address) for code, _, address in placed]
            found = [(seen[0], seen[2]) for seen in log if seen is not None]
            assert found == expected[: max(0, cycles - fetch.latency)]

    simulate(fetch, process)

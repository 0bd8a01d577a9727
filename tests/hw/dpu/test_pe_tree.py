from __future__ import annotations

import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import PeOp
from gnarl.hw.dpu.pe_tree import PeTree
from gnarl.hw.dpu.topology import pe_number
from gnarl.hw.lib.formats import FixedFormat
from gnarl.hw.lib.losses import LOSSES
from tests.hw.dpu.simulate import seeded, simulate

MASK = 0xFFFF


def compute(operation: int, left: int, right: int) -> int:
    return {
        PeOp.PASS_LEFT: left,
        PeOp.PASS_RIGHT: right,
        PeOp.ADD: (left + right) & MASK,
        PeOp.SUB: (left - right) & MASK,
    }[PeOp(operation)]


def results_of(depth: int, words: list[int], operations: list[int]) -> list[int]:
    """Results by PE number, as ``topology`` numbers and wires them."""
    config = DpuConfig(depth=depth, banks=max(8, 1 << depth))
    results: dict[int, int] = {}
    below = words
    for layer in range(1, depth + 1):
        row = []
        for place in range(len(below) // 2):
            number = pe_number(config, 0, layer, place)
            row.append(compute(operations[number], below[2 * place], below[2 * place + 1]))
            results[number] = row[-1]
        below = row
    return [results[number] for number in range(len(results))]


@pytest.mark.parametrize(("depth", "pe_stages"), [(1, 1), (1, 3), (3, 1), (2, 2), (4, 2)])
def test_every_pe_every_cycle(depth, pe_stages):
    tree = PeTree(FixedFormat(16, 0), depth, pe_stages, "fpga")
    rng = seeded()
    lanes, pes, count = 1 << depth, (1 << depth) - 1, 30
    operations = [PeOp.PASS_LEFT, PeOp.PASS_RIGHT, PeOp.ADD, PeOp.SUB]
    sets = [
        ([rng.randrange(1 << 16) for _ in range(lanes)], rng.choices(operations, k=pes))
        for _ in range(count)
    ]
    layers = [layer for layer in range(1, depth + 1) for _ in range(1 << (depth - layer))]

    async def process(ctx):
        log = []
        for cycle in range(count + depth * pe_stages):
            words, operation = sets[min(cycle, count - 1)]
            ctx.set(tree.words, words)
            ctx.set(tree.operation, operation)
            log.append([ctx.get(result) for result in tree.results])
            await ctx.tick()
        log.append([ctx.get(result) for result in tree.results])
        for cycle, (words, operation) in enumerate(sets):
            expected = results_of(depth, words, operation)
            found = [log[cycle + layers[pe] * pe_stages][pe] for pe in range(pes)]
            assert found == expected

    simulate(tree, process)


@pytest.mark.parametrize("pe_stages", [1, 2])
def test_lost_results_count_where_a_layer_is_told_to(pe_stages):
    tree = PeTree(FixedFormat(16, 8), 2, pe_stages, "fpga")
    large, small = 100 << 8, 1

    async def process(ctx):
        ctx.set(tree.words, [large, large, small, small])
        ctx.set(tree.operation, [PeOp.ADD, PeOp.MUL, PeOp.PASS_LEFT])
        await ctx.tick().repeat(3 * pe_stages)
        for counts, overflows, underflows in ((0b00, 0, 0), (0b01, 1, 1), (0b10, 0, 0)):
            ctx.set(tree.counts, counts)
            await ctx.tick()
            assert [ctx.get(tree.losses[name]) for name in LOSSES] == [underflows, overflows, 0]
        ctx.set(tree.words, [large, 0, large, 0])
        ctx.set(tree.operation, [PeOp.PASS_LEFT, PeOp.PASS_LEFT, PeOp.ADD])
        ctx.set(tree.counts, 0b11)
        await ctx.tick().repeat(3 * pe_stages + 1)
        assert [ctx.get(tree.losses[name]) for name in LOSSES] == [0, 1, 0]
        ctx.set(tree.operation, [PeOp.ADD, PeOp.PASS_LEFT, PeOp.SUB])
        ctx.set(tree.words, [large, large, large, large])
        await ctx.tick().repeat(3 * pe_stages + 1)
        assert [ctx.get(tree.losses[name]) for name in LOSSES] == [0, 2, 0]

    simulate(tree, process)

from __future__ import annotations

import pytest

from gnarl.hw.dpu.isa import PeOp
from gnarl.hw.dpu.pe import Pe
from gnarl.hw.lib.formats import FixedFormat
from tests.hw.dpu.simulate import simulate

LEFT, RIGHT = 1000, 0xFFFE  # -2


@pytest.mark.parametrize("stages", [1, 3])
def test_one_operation_a_cycle_each_after_its_latency(stages):
    pe = Pe(FixedFormat(16, 0), stages)
    expected = {
        PeOp.PASS_LEFT: LEFT,
        PeOp.PASS_RIGHT: RIGHT,
        PeOp.ADD: 998,
        PeOp.SUB: 1002,
        PeOp.MUL: -2000 & 0xFFFF,
        PeOp.MAX: LEFT,
        PeOp.MIN: RIGHT,
    }

    async def process(ctx):
        operations = list(expected)
        results = []
        for cycle in range(len(operations) + stages):
            if cycle < len(operations):
                ctx.set(pe.left, LEFT)
                ctx.set(pe.right, RIGHT)
                ctx.set(pe.operation, operations[cycle])
            else:
                ctx.set(pe.operation, PeOp.PASS_LEFT)
            await ctx.tick()
            results.append(ctx.get(pe.o))
        assert results[stages - 1 :][: len(operations)] == list(expected.values())

    simulate(pe, process)

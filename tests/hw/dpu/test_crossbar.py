from __future__ import annotations

import pytest

from gnarl.hw.dpu.crossbar import Crossbar
from tests.hw.dpu.simulate import seeded, simulate


@pytest.mark.parametrize("banks", [8, 12, 16])
def test_any_bank_to_any_lane(banks):
    crossbar = Crossbar(16, banks)
    rng = seeded()
    sources = [
        list(range(banks)),
        list(reversed(range(banks))),
        *([bank] * banks for bank in range(banks)),
        *([rng.randrange(banks) for _ in range(banks)] for _ in range(50)),
    ]

    async def process(ctx):
        expected = None
        for source in sources:
            words = [rng.randrange(1 << 16) for _ in range(banks)]
            ctx.set(crossbar.words, words)
            ctx.set(crossbar.source, source)
            if expected is not None:
                assert [ctx.get(lane) for lane in crossbar.o] == expected
            await ctx.tick()
            expected = [words[bank] for bank in source]
            assert [ctx.get(lane) for lane in crossbar.o] == expected

    simulate(crossbar, process)

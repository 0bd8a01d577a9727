"""Every block against its reference, with pauses on every port and resets in the middle."""

from __future__ import annotations

import random

import cocotb

from cocotb_tests.sam.bench import Bench
from cocotb_tests.sam.specs import runs_of_each, specs_under_test

_SPECS = specs_under_test()


@cocotb.test()
@cocotb.parametrize(name=list(_SPECS))
async def runs_as_its_reference(dut, name):
    spec = _SPECS[name]
    rng = random.Random(f"{cocotb.RANDOM_SEED} {name}")
    bench = Bench(dut, name, spec.make().signature)
    bench.start_clock()
    for _ in range(runs_of_each()):
        await bench.reset(rng)
        if rng.random() < 0.3:
            await bench.run(spec.case(rng), rng, cycles=rng.randint(1, 60))
            await bench.reset(rng)
        await bench.run(spec.case(rng), rng)

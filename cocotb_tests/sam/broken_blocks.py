"""Blocks that break the rules of streams fail the tests that whole ones pass."""

from __future__ import annotations

import random

import cocotb
import pytest

from cocotb_tests.sam.bench import Bench
from cocotb_tests.sam.specs import runs_of_each, specs_under_test

_SPECS = specs_under_test()


@cocotb.test()
@cocotb.parametrize(name=list(_SPECS))
async def is_noticed(dut, name):
    spec = _SPECS[name]
    rng = random.Random(f"{cocotb.RANDOM_SEED} {name}")
    bench = Bench(dut, name, spec.make().signature)
    bench.start_clock()
    with pytest.raises(AssertionError):
        for _ in range(runs_of_each()):
            await bench.reset(rng)
            await bench.run(spec.case(rng), rng)

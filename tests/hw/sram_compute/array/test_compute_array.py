"""The compute array against one written with Python's numbers."""

from __future__ import annotations

import random
from typing import Any

import pytest

from gnarl.hw.sram_compute.array.compute_array import START_BITS, TABLE_BITS, ComputeArray
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.machines.verilated_bench import TOP, VerilatedBench

WORDLINES, BITLINES = 8, 16
ONES = (1 << BITLINES) - 1


def of_bits(table: int, *rows: int) -> int:
    """The row whose bits are the entries of ``table`` that the rows' bits name."""
    return sum(
        (table >> sum((row >> place & 1) << number for number, row in enumerate(rows)) & 1) << place
        for place in range(BITLINES)
    )


class Array:
    """What an array holds."""

    def __init__(self) -> None:
        self.rows = [0] * WORDLINES
        self.carry = self.predicate = 0

    def compute(self, a: int, b: int, step: dict[str, int], inward: int, mask: int) -> None:
        """An operation on rows ``a`` and ``b``."""
        carry = of_bits(step["begin_carry"], self.carry, self.predicate)
        predicate = of_bits(step["begin_predicate"], self.carry, self.predicate)
        inputs = (self.rows[a], self.rows[b], carry, predicate)
        if step["is_inward"]:
            inputs = (inward, self.rows[b], carry, mask)
        else:
            self.carry, self.predicate = (
                of_bits(step[name], *inputs) for name in ("carry", "predicate")
            )
        written = of_bits(step["write"], *inputs)
        if step["write_enable"]:
            self.rows[step["d"]] = written


def random_step(chance: random.Random) -> dict[str, int]:
    return {
        "begin_carry": chance.getrandbits(START_BITS),
        "begin_predicate": chance.getrandbits(START_BITS),
        "is_inward": chance.random() < 0.2,
        "write": chance.getrandbits(TABLE_BITS),
        "carry": chance.getrandbits(TABLE_BITS),
        "predicate": chance.choice([0, chance.getrandbits(TABLE_BITS)]),
        "write_enable": chance.random() < 0.8,
        "d": chance.randrange(WORDLINES),
    }


@pytest.fixture(scope="module")
def bench() -> VerilatedBench:
    return VerilatedBench(ComputeArray(WORDLINES, BITLINES))


@pytest.mark.parametrize("seed", range(3))
def test_operations_are_those_of_their_tables(bench, seed):
    """Back to back and with pauses, also on the row that was written just before."""
    chance = random.Random(seed)
    dut = bench.component

    async def testbench(ctx: Any) -> None:
        array = Array()
        known = [
            {"begin_carry": 0, "begin_predicate": 0, "is_inward": 0, "write": 0, "carry": 0}
            | {"predicate": 0, "write_enable": 1, "d": row}
            for row in range(WORDLINES)
        ]
        read: tuple[int, int] | None = None
        written: int | None = None
        seen = 0
        for cycle in range(800):
            reads = cycle < WORDLINES or chance.random() < 0.8
            a, b = chance.randrange(WORDLINES), chance.randrange(WORDLINES)
            ctx.set(dut.read, {"enable": reads, "a": a, "b": b})
            ctx.set(dut.compute.operation.enable, read is not None)
            ahead = None
            if read is not None:
                step = known.pop(0) if known else random_step(chance)
                inward, mask = chance.getrandbits(BITLINES), chance.getrandbits(BITLINES)
                forwards = {
                    f"forward_{name}": row == written for name, row in zip("ab", read, strict=True)
                }
                ctx.set(dut.compute, {"operation": {"enable": 1, **step}, **forwards})
                ctx.set(dut.inward, inward)
                ctx.set(dut.mask, mask)
                if not known:
                    assert ctx.get(dut.row) == array.rows[read[0]]
                    assert ctx.get(dut.any_predicate) == (array.predicate != 0)
                    seen += array.predicate != 0
                array.compute(*read, step, inward, mask)
                ahead = step["d"] if step["write_enable"] else None
            written = ahead
            read = (a, b) if reads else None
            await ctx.tick()
        assert 100 < seen < 500

    bench.run(testbench)


def test_lint_finds_nothing(bench):
    assert lint(bench.verilog, TOP) == []

"""``verilated_bench`` against Amaranth's simulator."""

from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.lib.memory.ram import Ram
from tests.support.machines.kept_simulators import KeptSimulator
from tests.support.machines.verilated_bench import VerilatedBench

PAIR = data.StructLayout({"few": 3, "many": 90})


class Design(wiring.Component):
    """Sums of what comes, in ports of all sizes, and a memory that is read a cycle later."""

    i: In(stream.Signature(PAIR))
    o: Out(stream.Signature(data.ArrayLayout(signed(40), 3)))
    row: In(2)
    write: In(1)
    sum: Out(signed(7))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.words = words = Ram(4, 7)
        total = Signal(signed(7))
        i, o = self.i, self.o
        m.d.comb += [
            i.ready.eq(o.ready),
            o.valid.eq(i.valid),
            *(o.payload[place].eq(i.payload.many[30 * place :]) for place in range(3)),
            words.address.eq(self.row),
            words.write_enable.eq(self.write),
            words.read_enable.eq(1),
            words.write_data.eq(total),
            self.sum.eq(Cat(words.read_data).as_signed() + total),
        ]
        with m.If(i.valid & i.ready):
            m.d.sync += total.eq(total - i.payload.few)
        return m


def seen_by(simulator: KeptSimulator | VerilatedBench) -> list[Any]:
    seen: list[Any] = []
    dut = simulator.component

    async def testbench(ctx: Any) -> None:
        for cycle in range(20):
            ctx.set(dut.i.valid, cycle % 3 > 0)
            ctx.set(dut.o.ready, cycle % 4 > 0)
            ctx.set(dut.i.payload, {"few": cycle % 8, "many": 1 << 89 | cycle})
            ctx.set(dut.i.payload.many[40:60], 1000 * cycle)
            ctx.set(dut.row, cycle % 4)
            ctx.set(dut.write, cycle % 5 == 0)
            seen.append([ctx.get(port) for port in (dut.i.ready, dut.o.valid, dut.sum)])
            seen[-1] += [ctx.get(dut.o.payload[place]) for place in range(3)]
            seen[-1].append(ctx.get(dut.o.payload.as_value()))
            seen[-1].append(ctx.get(dut.i.payload).as_value().value)
            await ctx.tick()

    simulator.run(testbench)
    return seen


def test_testbenches_see_the_same() -> None:
    """Twice, since each begins from the power-up on."""
    expected = seen_by(KeptSimulator(Design()))
    assert any(row[2] < 0 for row in expected)
    bench = VerilatedBench(Design())
    assert [seen_by(bench), seen_by(bench)] == [expected, expected]


def test_what_is_no_part_of_a_port() -> None:
    bench = VerilatedBench(Design())

    async def testbench(ctx: Any) -> None:
        ctx.get(bench.component.sum + 1)

    with pytest.raises(TypeError, match=r"is no part of a port$"):
        bench.run(testbench)

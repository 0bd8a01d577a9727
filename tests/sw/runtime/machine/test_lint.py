"""Lint finds what matters, and only that."""

from amaranth.back import verilog
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from gnarl.sw.runtime.machine.verilate import WAIVERS, lint


class Counter(wiring.Component):
    i: In(4)
    o: Out(4)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.Switch(self.i):
            with m.Case(3):
                m.d.sync += self.o.eq(self.o + self.i)
        return m


def test_what_amaranth_writes_is_clean() -> None:
    text = verilog.convert(Counter(), name="counter", emit_src=False, strip_internal_attrs=True)
    assert lint(text, "counter") == []


def test_latches_are_found() -> None:
    text = "module m(input a, b, output reg o);\nalways @* if (a) o = b;\nendmodule\n"
    assert lint(text, "m")[0] == (
        "%Warning-LATCH: design.v:2:1: Latch inferred for signal 'o' "
        "(not all control paths of combinational always assign a value)"
    )


def test_combinational_loops_are_found() -> None:
    text = "module m(input a, output o);\nwire x;\nassign x = ~(x & a);\nassign o = x;\nendmodule\n"
    assert lint(text, "m")[0] == (
        "%Warning-UNOPTFLAT: design.v:2:6: "
        "Signal unoptimizable: Circular combinational logic: 'm.x'"
    )


def test_truncation_and_lost_drivers_are_found() -> None:
    text = "module m(input [3:0] a, output [2:0] o, output p);\nassign o = a;\nendmodule\n"
    found = lint(text, "m")
    assert any(line.startswith("%Warning-WIDTHTRUNC: design.v:2:") for line in found)
    assert any(line.startswith("%Warning-UNDRIVEN: design.v:1:") for line in found)


def test_errors_are_found() -> None:
    assert lint("module m(;\nendmodule\n", "m")[0].startswith("%Error: design.v:1:10: ")


def test_every_waiver_has_its_reason() -> None:
    blocks = WAIVERS.read_text().strip().split("\n\n")
    for block in blocks[1:]:
        *reason, waiver = block.splitlines()
        assert reason and all(line.startswith("// ") for line in reason)
        assert waiver.startswith("lint_off -rule ")

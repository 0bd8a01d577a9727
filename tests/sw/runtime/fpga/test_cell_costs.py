"""Word-level cells in RTLIL, and what they cost."""

from __future__ import annotations

import pytest

from gnarl.sw.runtime.fpga.cell_costs import ecp5_cells
from gnarl.sw.runtime.fpga.rtlil import Cell, read_modules

TEXT = r"""
autoidx 7
attribute \top 1
module \top
  wire width 4 input 1 \A
  wire $signal
  cell $alu $1
    parameter \Y_WIDTH 8
    parameter \SIGNED 1'1
    connect \A { \A [3:2] $signal 1'0 \A }
    connect \B 3'x10
  end
  cell \part \first
    connect \i \A [1]
    connect \o -1
  end
  connect \A \elsewhere
end
module \part
end
"""


def test_modules_are_read() -> None:
    modules = read_modules(TEXT)
    assert {name: [cell.kind for cell in cells] for name, cells in modules.items()} == {
        "top": ["$alu", "part"],
        "part": [],
    }
    adder, part = modules["top"]
    assert (adder.number("Y_WIDTH"), adder.number("SIGNED")) == (8, 1)
    a = [(r"\A", place) for place in range(4)]
    assert adder.bits("A") == [*a, "0", ("$signal", 0), *a[2:]]
    assert adder.bits("B") == ["0", "1", "x"]
    assert part.bits("i") == [(r"\A", 1)]
    assert part.bits("o") == ["1"] * 32


WIRES = {r"\a": 8, r"\b": 8, r"\s": 3}
SUM = {"Y_WIDTH": "8", "NADDENDS": "4"}


@pytest.mark.parametrize(
    ("kind", "parameters", "ports", "cells"),
    [
        ("$mux", {}, {"A": r"\a", "B": r"\b", "S": r"\s [0]"}, {"LUT4": 7.36}),
        ("$mux", {}, {"A": r"\a", "B": "8'0", "S": r"\s [0]"}, {"LUT4": 2.64}),
        ("$mux", {}, {"A": r"\a", "B": r"\a", "S": r"\s [0]"}, {"LUT4": 0}),
        ("$mux", {}, {"A": r"\a", "B": "8'xxxxxxxx", "S": r"\s [0]"}, {"LUT4": 0}),
        ("$mux", {}, {"A": r"\a", "B": r"\b", "S": "1'1"}, {"LUT4": 0}),
        ("$pmux", {}, {"A": r"\a", "B": r"{ \b \a 8'0 }", "S": r"\s"}, {"LUT4": 10.08}),
        ("$bmux", {"WIDTH": "2", "S_WIDTH": "2"}, {}, {"LUT4": 5.52}),
        ("$and", {}, {"A": r"\a", "B": r"{ 4'1111 \b [3:0] }"}, {"LUT4": 2}),
        ("$reduce_or", {}, {"A": r"{ \a \a }"}, {"LUT4": 3.85}),
        ("$logic_and", {}, {"A": r"\a", "B": r"\s"}, {"LUT4": 5.5}),
        ("$eq", {}, {"A": r"\a", "B": r"{ 1'1 \s }"}, {"LUT4": 3.46}),
        ("$shl", {"Y_WIDTH": "8"}, {"A": r"\a", "B": r"\s"}, {"LUT4": 28.8}),
        ("$shl", {"Y_WIDTH": "8"}, {"A": "1'1", "B": r"\s"}, {"LUT4": 7.2}),
        ("$alu", {"Y_WIDTH": "4"}, {}, {"LUT4": 2}),
        ("$alu", {"Y_WIDTH": "5"}, {}, {"CCU2C": 3}),
        ("$macc_v2", SUM, {}, {"CCU2C": 4, "LUT4": 14.4}),
        ("$sdffe", {"WIDTH": "9"}, {}, {"TRELLIS_FF": 9}),
        ("$not", {}, {}, {}),
        ("DP16KD", {}, {}, {"DP16KD": 1}),
    ],
)
def test_costs(
    kind: str, parameters: dict[str, str], ports: dict[str, str], cells: dict[str, float]
) -> None:
    assert ecp5_cells([Cell(kind, WIRES, parameters, ports)]) == pytest.approx(cells)

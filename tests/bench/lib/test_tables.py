"""Tables."""

from __future__ import annotations

from rich.console import Console

from bench.lib.tables import Cells

CELLS = Cells(["workload", "D", "cycles"], [["a", "1", "1,000"], ["b", "2", "7"]], names=2)


def test_markdown():
    assert CELLS.to_markdown() == (
        "| workload | D | cycles |\n| --- | --- | ---: |\n| a | 1 | 1,000 |\n| b | 2 | 7 |"
    )


def test_console():
    console = Console(width=60, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(CELLS.for_console("A title"))
    lines = [line.rstrip() for line in console.export_text().splitlines()]
    assert lines == ["A title", "workload  D  cycles", "a         1   1,000", "b         2       7"]


def test_brackets_are_no_markup():
    console = Console(width=60, record=True, markup=False, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(Cells(["before"], [["values[each] == 1"]], names=1).for_console("Survivors"))
    assert "values[each] == 1" in console.export_text()

"""The benchmark of silicon: groups, verdicts, and where there is no library."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.lib.records import Record, Setting, records
from bench.silicon import main
from bench.silicon_parts import components, libraries, pe
from gnarl.sw.runtime.area.component import Cost
from gnarl.sw.runtime.area.report import Row

NOTHING = Setting("", (), "", 0)


def row(name: str, gates: float, *parts: Row) -> Row:
    return Row(0, name, name, 1, Cost(gates=gates), 0, None, None, parts)


def test_groups_add_up() -> None:
    core = row("core", 90.0, row("tree_*", 50.0), row("crossbar", 30.0), row("(own)", 10.0))
    groups = components.gates_by_group(row("dpu", 100.0, core, row("port", 10.0)))
    assert (groups["PEs"], groups["input interconnect"], groups["decoder"]) == (50, 30, 0)
    assert groups[components.REST] == 20
    assert sum(groups.values()) == 100


def stages(mhz: dict[int, float | None]) -> list[Record]:
    return [
        record
        for stage, each in mhz.items()
        for record in records(
            pe.BENCH,
            {"library": "few", "technology": "silicon", "stages": stage},
            {"gates": 100 + stage, "mhz": each},
            pe.METRICS,
            NOTHING,
        )
    ]


def test_verdict() -> None:
    assert pe.verdict(stages({1: 50.0, 2: 100.0, 3: 101.0})) == (
        "few, for silicon, before layout: 50 MHz at 1 stage, 101 at 3 stages, in 1.02 times the "
        "gates; less than 2 % faster than one stage fewer: 3"
    )
    assert pe.verdict(stages({1: None})) == "few, for silicon: longest paths need OpenSTA"


def test_without_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "OSU018", tmp_path / "absent.lib")
    done = CliRunner().invoke(main, ["-o", str(tmp_path / "bench")])
    assert done.exit_code == 0
    assert done.stderr.count("absent.lib is absent: skipped; Debian has it in package") == 2
    assert list((tmp_path / "bench").iterdir()) == []

"""The benchmark's parts at the paper's size: what they measure of small ones, and say of it."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bench.lib.records import records
from bench.lib.request import Request
from bench.sram_compute_parts import breakdown, tiles_at_size
from bench.sram_compute_parts.tiles import NONE, PAPER, RULE
from gnarl.sw.runtime.sram_compute.figures import CYCLES


@pytest.fixture
def quick(tmp_path: Path) -> Request:
    results = tmp_path / "results.json"
    console = Console(file=StringIO())
    return Request(tmp_path, tmp_path, "model", 0, True, console, {}, results=results)


def require_picture(draw: Any, found: Any, folder: Path) -> None:
    draw(found, folder / "picture.png")
    assert (folder / "picture.png").stat().st_size > 1000


def made_breakdown(name: str, cycles: dict[str, int], moved: dict[str, int]):
    job = breakdown.Job(name, {"n": 9}, 0)
    values = dict.fromkeys(breakdown.METRICS, 0) | {"cycles": sum(cycles.values())}
    values |= {CYCLES[part]: count for part, count in cycles.items()}
    values |= {f"bytes_{kind}": count for kind, count in moved.items()} | {"bit_exact": True}
    return records(breakdown.BENCH, job.labels, values, breakdown.METRICS, job.setting())


def test_shares_of_cycles_and_bytes(tmp_path: Path):
    found = made_breakdown(
        "mm",
        {"compute": 60, "move": 30, "commands": 10},
        {"within_tiles": 9, "between_tiles": 1, "other_data": 10},
    )
    found += made_breakdown(
        "conv2d", {"fetch and transpose": 40, "compute": 60}, {"within_tiles": 3, "control": 3}
    )
    assert breakdown.verdict(found) == (
        "cycles, mean shares of 2 workloads: fetch and transpose 20% (the paper's 26%), move 15% "
        "(the paper's 19%), compute 60% (the paper's 32%), commands 5%\n"
        "without fetch and transpose: move 15% (the paper's 26%), compute 80% (the paper's 43%), "
        "commands 5%\n"
        "of bytes that tensors move, within tiles: 90% to 100%\n"
        "bit-exact: 2 of 2 runs"
    )
    cycles, besides, moved = breakdown.tables(found).values()
    assert cycles.body[0] == ["mm", "n 9", "100", "0.0%", "30.0%", "60.0%", "10.0%"]
    assert besides.body[1] == ["conv2d", "n 9", "60", "0.0%", "100.0%", "0.0%"]
    assert moved.body[1] == ["conv2d", "n 9", "6", "50.0%", "0.0%", "0.0%", "0.0%", "50.0%"]
    require_picture(breakdown.draw, found, tmp_path)


def test_all_cycles_are_in_some_part(quick: Request):
    pytest.importorskip("egglog")
    found, is_right = breakdown.run(quick)
    values = {record.metric: record.value for record in found}
    assert is_right
    assert values["cycles"] == sum(values[counter] for counter in CYCLES.values())
    assert values["cycles_compute"] > 0


def test_estimates_in_every_tile(quick: Request, tmp_path: Path):
    pytest.importorskip("egglog")
    found, is_right = tiles_at_size.run(quick)
    assert is_right
    by_metric = {
        flag: [record.labels["tile"] for record in found if record.metric == flag and record.value]
        for flag in (RULE, PAPER, NONE)
    }
    assert [len(each) for each in by_metric.values()] == [1, 1, 1]
    assert by_metric[NONE] == ["1x256"]
    assert "rule over the best tile, geometric mean of 1: 1.0" in tiles_at_size.verdict(found)
    (table,) = tiles_at_size.tables(found).values()
    assert len(table.body) == 1
    require_picture(tiles_at_size.draw, found, tmp_path)

"""The benchmark of FPGA boards: its tables and verdicts, and a small build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bench.fpga import main
from bench.fpga_parts import (
    boards,
    dpu_points,
    dpu_registers,
    page,
    sam_attention,
    sam_registers,
    variants,
)
from bench.lib.records import Record, Setting, load, records
from gnarl.hw.sam.config import SamConfig
from tests.support.machines.yowasp import needs_ecp5

USED = {"luts": 41_820, "flip_flops": 2_000, "dsps": 16, "block_rams": 13}
SHARES = {f"{name}_share": 50.0 for name in USED}
TIMES = {"synthesis_s": 62.0, "build_s": 322.0, "clock_asked": 75.0}
CLOCKS = {"clock": 76.0, "clock_low": 75.2, "clock_high": 80.0}


def figures(config: str, board: str, **values: Any) -> list[Record]:
    found = {**USED, **SHARES, **TIMES, "met": True, **values}
    labels = {"config": config, "board": board}
    return records(boards.BENCH, labels, found, boards.METRICS, Setting("", (), "", 0))


FOUND = [
    *figures("dpu_ecp5", "ulx3s_85f", **CLOCKS),
    *figures("sam_fabric_ecp5", "ulx3s_85f", **CLOCKS, met=False, synthesis_s=250.0),
    *figures("dpu_d3_b64 instruction_words=4096", "kc705"),
]


def test_verdict() -> None:
    assert boards.verdict(FOUND).splitlines() == [
        "dpu_ecp5 on ulx3s_85f: 50 % of the LUTs, 76.0 MHz (75.2 to 80.0), asked 75 ✔, build 322 "
        "CPU s, limit 480 ✔",
        "sam_fabric_ecp5 on ulx3s_85f: 50 % of the LUTs, 76.0 MHz (75.2 to 80.0), asked 50 ✘, "
        "synthesis 250 CPU s, limit 240 ✘",
        "dpu_d3_b64 instruction_words=4096 on kc705: 50 % of the LUTs",
    ]


def test_table_and_picture(tmp_path: Path) -> None:
    (cells,) = boards.tables(FOUND).values()
    assert cells.body[0][:3] == ["dpu_ecp5", "ulx3s_85f", "50.0"]
    assert {len(row) for row in cells.body} == {len(cells.header)}
    assert cells.body[2][cells.header.index("met, MHz")] == ""
    boards.draw(FOUND, tmp_path / "boards.png")
    assert (tmp_path / "boards.png").read_bytes().startswith(b"\x89PNG")


def variant(bench: str, name: str, **values: Any) -> list[Record]:
    found = {**USED, "clock": 50.0, "cycles": 1000.0, "mops": 100.0, "kops_per_lut": 5.0, **values}
    return records(bench, {"variant": name}, found, variants.METRICS, Setting("", (), "", 0))


def test_registers_before_and_after() -> None:
    for part, mops in (
        (dpu_registers, ", 1.20 times the operations per second"),
        (sam_registers, ""),
    ):
        found = [
            *variant(part.BENCH, "stages=1"),
            *variant(part.BENCH, "stages=2", clock=75.0, cycles=1250.0, mops=120.0),
        ]
        line = f"stages=2: 50.0 → 75.0 MHz, 1.250 times the cycles{mops}"
        assert part.verdict(found) == line
        (cells,) = part.tables(found).values()
        assert [row[0] for row in cells.body] == ["stages=1", "stages=2"]


def test_points_of_most_operations() -> None:
    found = [
        *variant(dpu_points.BENCH, "D = 1, B = 8"),
        *variant(dpu_points.BENCH, "D = 3, B = 16", mops=300.0, kops_per_lut=3.0),
    ]
    assert dpu_points.verdict(found).splitlines() == [
        "most operations per second: D = 3, B = 16, 300 M",
        "most per LUT: D = 1, B = 8, 5.0 k",
    ]


def test_attention_against_its_limit() -> None:
    found = [
        *variant(sam_attention.BENCH, "index_bits=16", clock=50.0, cycles=45_000.0),
        *variant(sam_attention.BENCH, "index_bits=32", clock=45.0, cycles=45_000.0),
    ]
    assert sam_attention.verdict(found).splitlines() == [
        "index_bits=16: 41,820 LUTs, 50.0 MHz, limit 50 ✔, the head in 900 µs",
        "index_bits=32: 41,820 LUTs, 45.0 MHz, limit 50 ✘, the head in 1,000 µs",
    ]


def test_attention_is_one_graph(tmp_path: Path) -> None:
    overrides = ("index_bits=16", "array_words=4096", "accumulator_words=1024")
    job = sam_attention.AttentionJob(
        "x", sam_attention.CONFIG, overrides, (), 0, tmp_path, sam_attention.speed
    )
    config = job.hardware.config
    assert isinstance(config, SamConfig) and config.graph is not None
    assert config.index_bits == 16
    assert {"spaccumulator", "reduce", "function"} <= {each.type for each in config.graph.blocks}


@pytest.mark.parametrize("part", [dpu_registers, dpu_points, sam_registers, sam_attention])
def test_pictures_of_variants(part: Any, tmp_path: Path) -> None:
    found = [*variant(part.BENCH, "a=1"), *variant(part.BENCH, "b=2", luts=9, mops=70.0)]
    part.draw(found, tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


@needs_ecp5
@pytest.mark.slow
def test_a_small_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    done = CliRunner().invoke(
        main, ["boards", "--quick", "-o", "build/bench", "--json", "all.json"]
    )
    assert done.exit_code == 0, done.output
    values = {record.metric: record.value for record in load(Path("all.json"))}
    assert values["met"] is True
    assert values["clock_low"] <= values["clock"] <= values["clock_high"]
    assert 0 < values["synthesis_s"] < values["build_s"]

    Path("README.md").write_text("<!-- results:begin -->\n<!-- results:end -->\n")
    assert CliRunner().invoke(main, ["page"]).exit_code == 0
    assert page.INTROS["boards"].text in Path("docs/results/fpga.md").read_text()

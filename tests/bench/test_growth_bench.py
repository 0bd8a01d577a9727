"""The benchmark of growth, on the smallest sizes and on made-up figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.growth import main
from bench.growth_parts import limits, page, stages
from bench.growth_parts.workloads import GROWING
from bench.lib.records import Record, Setting, load, records
from gnarl.sw.runtime.report.stages import TimedStages, quiet


def figures(name: str, size: int, cycles: int | None = None, **seconds: float) -> list[Record]:
    values = {f"{stage}_s": 0.0 for stage in stages.STAGES} | {"peak_bytes": 1000.0 * size}
    values |= {f"{stage}_s": taken for stage, taken in seconds.items()}
    labels = {"workload": name, "size": size}
    made = {**values, "bit_exact": True} | ({} if cycles is None else {"cycles": cycles})
    return records(stages.BENCH, labels, made, stages.METRICS, Setting("", (), "", 0))


@pytest.mark.slow
def test_the_smallest_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    done = CliRunner().invoke(main, ["--quick", "-o", "build/bench", "--json", "all.json"])
    assert done.exit_code == 0, done.output
    values = {record.name: record.value for record in load(Path("all.json"))}
    for name, growing in GROWING.items():
        found = f"{stages.BENCH}/{name}/{growing.sizes[0]}"
        assert values[f"{found}/bit_exact"] is True
        assert values[f"{found}/compile_s"]
        assert values[f"{limits.BENCH}/{name}/0/none found/largest"] == growing.sizes[0]
    for part in ("stages", "limits"):
        picture = Path(f"build/bench/growth_{part}.png")
        assert picture.read_bytes().startswith(b"\x89PNG")

    Path("README.md").write_text("<!-- results:begin -->\n<!-- results:end -->\n")
    assert CliRunner().invoke(main, ["page"]).exit_code == 0
    assert page.INTROS["stages"].text in Path("docs/results/growth.md").read_text()


def test_the_exponent_is_that_of_the_largest_sizes() -> None:
    made = figures("sam.spmv", 10, load=5.0, bind=0.01)
    made += figures("sam.spmv", 100, load=1.0, bind=0.01)
    made += figures("sam.spmv", 1000, load=20.0, bind=0.09)
    ((title, table),) = stages.tables(made).items()
    assert title == "sparse matrix by vector (sam_fp32, model)"
    assert table.header == [f"{title}: entries", "10", "100", "1,000", "exponent"]
    assert table.body == [
        ["load, CPU s", "5.00", "1.00", "20.00", "1.30 ✘"],
        ["bind, CPU s", "0.01", "0.01", "0.09", ""],  # too short
        ["memory, MB", "0", "0", "1", ""],
        ["bytes of it each", "1,000", "1,000", "1,000", ""],
    ]
    assert stages.verdict(made).splitlines() == [
        "time grows with size to the power of 1.30 at most (load of sam.spmv), limit 1.1 ✘: "
        "0 of 1 stages are within it",
        "results with the golden model's bits: 3 of 3",
    ]


def test_time_of_simulation_is_compared_with_cycles() -> None:
    made = figures("dpu.triangular", 10, simulate=1.0, report=1.0, cycles=100)
    made += figures("dpu.triangular", 100, simulate=20.0, report=10.0, cycles=2000)
    (table,) = stages.tables(made).values()
    assert table.body[:3] == [
        ["simulate, CPU s", "1.00", "20.00", "1.00 ✔"],
        ["report, CPU s", "1.00", "10.00", "0.77 ✔"],
        ["cycles", "100", "2,000", ""],
    ]


def test_a_workload_grows_until_it_is_refused() -> None:
    found = limits.measure(limits.Job("sram.statements", 4, 0))
    assert (found.largest, found.refused) == (4, 16)
    assert "memory" in found.message
    assert found.seconds > 0


def test_stages_are_timed_by_any_clock() -> None:
    ticks = iter(range(100))
    timed = TimedStages(quiet, clock=lambda: next(ticks))
    with timed("outer"), timed("inner"):
        pass
    assert timed.seconds == {"inner": 1.0, "outer": 2.0}

"""Cycles by line of the source: each once, and where they belong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError, WorkloadError
from gnarl.sw.runtime.report.source_lines import SourceLines
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sram_compute.figures import CYCLES, FETCH
from gnarl.sw.runtime.sram_compute.phases import in_phases
from gnarl.sw.runtime.sram_compute.source_lines import CORE, KEPT
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.commands import gnarl
from tests.support.sram_compute.random_kernels import random_kernel
from tests.sw.runtime.sram_compute.nests.test_core_nests import SMALL

pytest.importorskip("egglog")

TWO = """
void two(int n, const float a[n], const float b[n], float c[n], float d[n]) {
  for (int i = 1; i < n; i++)
    c[i] = a[i - 1] + b[i];
  for (int i = 0; i < n; i++)
    d[i] = a[i] * b[i] * c[i] * a[i];
}
"""
TWO_PLACES = ("two.c:4:5", "two.c:6:5")


@pytest.fixture(scope="module")
def model() -> Iterator[Device[Any]]:
    with Device("sram_b4", "model") as device:
        yield device


def two(n: int) -> LoopWorkload:
    chance = np.random.default_rng(n)
    arrays = {name: chance.standard_normal(n, np.float32) for name in "abcd"}
    return LoopWorkload("two", read_source(TWO, "two.c"), arrays)


def found(device: Device[Any], workload: LoopWorkload, **options: Any) -> tuple[SourceLines, Any]:
    result = device.run(device.compile(workload, **options), workload.inputs)
    return device.target.presenter.source_lines(result.program, result), result


def require_whole(lines: SourceLines, result: Any) -> None:
    """Each cycle and each line of memory is there once."""
    assert not lines.note
    for label, name in CYCLES.items():
        assert sum(each.kinds[label] for each in lines.lines) == result.counters[name], label
    assert lines.cycles == result.cycles
    names = ("lines_loaded", "lines_stored", "core_lines_read", "core_lines_written")
    moved = [array for each in lines.lines for array in each.arrays.values()]
    assert sum(each.lines for each in moved) == sum(result.counters[name] for name in names)
    for each in lines.lines:
        assert sum(array.cycles for array in each.arrays.values()) <= each.kinds[FETCH]


@pytest.mark.parametrize("place", ["memory", "near", "core", "auto"])
def test_cycles_are_those_of_the_run(model: Device[Any], place: str):
    for n in (0, 1, 300) if place == "near" else (1, 300):
        require_whole(*found(model, two(n), place=place))


@pytest.mark.parametrize("seed", range(6))
def test_cycles_of_random_kernels(model: Device[Any], seed: int):
    try:
        kernel = random_kernel(seed)
        stores = [f"kernel.c:{line}" for line in range(1, 20)]
        for place in ("memory", "near"):
            lines, result = found(model, kernel, place=place, reassociate=False)
            require_whole(lines, result)
            assert all(each.place.startswith(tuple(stores)) for each in lines.lines)
    except GnarlError:
        return  # C leaves it undefined, or the place does not take it.


def test_statements_in_memory_have_their_own(model: Device[Any]):
    lines, _ = found(model, two(200), place="memory")
    by_place = {each.place: each for each in lines.lines}
    first, second = (by_place[place] for place in TWO_PLACES)
    assert set(by_place) == set(TWO_PLACES)
    assert first.kinds["move"] > 0
    assert second.kinds["compute"] > first.kinds["compute"]
    assert {*first.arrays} == {"a", "b", "c"}
    assert {*second.arrays} == {"d"}
    assert second.arrays["d"].lines == -(-200 // 16)


def test_engines_and_the_core_have_their_own(model: Device[Any]):
    near, _ = found(model, two(200), place="near")
    assert {each.place for each in near.lines} == set(TWO_PLACES)
    assert all(each.kinds["near-memory"] for each in near.lines)
    core, _ = found(model, two(200), place="core")
    (line,) = core.lines
    assert (line.place, {*line.arrays}) == (TWO_PLACES[0], {CORE})
    assert core.limit.startswith(f"core at {TWO_PLACES[0]}: {line.kinds['core']:,} of ")


def test_what_is_shared_is_the_first_stores(model: Device[Any]):
    """``a[i] * b[i]`` is computed once, for both."""
    text = """
void both(int n, const float a[n], const float b[n], float c[n], float d[n]) {
  for (int i = 0; i < n; i++) {
    c[i] = a[i] * b[i];
    d[i] = a[i] * b[i] + 1;
  }
}
"""
    arrays = {name: np.ones(50, np.float32) for name in "abcd"}
    workload = LoopWorkload("both", read_source(text, "both.c"), arrays)
    lines, result = found(model, workload, place="memory")
    require_whole(lines, result)
    first, second = lines.lines
    assert (first.place, {*first.arrays}) == ("both.c:4:5", {"a", "b", "c"})
    assert (second.place, {*second.arrays}) == ("both.c:5:5", {"d"})


def test_fetches_know_their_least(model: Device[Any]):
    lines, _ = found(model, two(4000), place="memory")
    config = load_configuration("sram_b4").config
    for each in lines.lines:
        for name, array in each.arrays.items():
            assert name in "abcd"
            assert array.least == (array.lines - 1) * config.line_cycles
            assert 0 < array.least <= each.kinds[FETCH]
    assert "fetch and transpose of" in lines.limit


def test_values_that_leave_rows_are_named():
    """More values than rows: some are kept in memory for a while."""
    names = [f"x{at}" for at in range(5)]
    sums = " + ".join(f"{each}[i]" for each in names)
    text = f"void many(int n, {', '.join(f'int {each}[n]' for each in names)}, int y[n]) {{\n"
    text += "  for (int i = 0; i < n; i++) {\n    "
    text += f"int s = {sums}; int t = {sums.replace(' + ', ' ^ ')};\n    "
    text += " ".join(f"{each}[i] = ({each}[i] & s) + (t | {each}[i]);" for each in names)
    text += " y[i] = s ^ t;\n  }\n}\n"
    values = {each: np.arange(20, dtype=np.int32) for each in names}
    workload = LoopWorkload("many", read_source(text, "many.c"), values)
    with Device("sram_b2", "model") as device:
        lines, result = found(device, workload, place="memory")
    require_whole(lines, result)
    assert {name for each in lines.lines for name in each.arrays} == {KEPT, "y", *names}


def test_commands_alone_have_no_lines(tmp_path: Path):
    path = tmp_path / "end.sram"
    path.write_text("end\n")
    run = gnarl("run", "sram_b4", path, "--backend", "model", "--lines")
    assert run.exit_code == 2
    assert "--lines" in run.stderr and "must be a loop nest" in run.stderr


def test_other_targets_have_none(tmp_path: Path):
    run = gnarl("run", "dpu_d1_b8", tmp_path / "x.psdd", "--lines")
    assert run.exit_code == 2
    assert "--lines: not supported by target dpu" in run.stderr


def test_a_program_of_phases_is_refused(model: Device[Any]):
    workload = two(40)
    result = model.run(model.compile(workload, place="memory"), workload.inputs)
    phases = in_phases(result.program, loads_first=True)
    assert phases is not None
    again = model.run(phases, workload.inputs)
    with pytest.raises(WorkloadError, match="one launch"):
        model.target.presenter.source_lines(again.program, again)


def test_the_rtl_s_cycles(tmp_path: Path):
    source = tmp_path / "two.c"
    source.write_text(TWO)
    small = [word for each in SMALL for word in ("--set", each)]
    given = ("run", "sram_b2", *small, source, "--size", "n=20", "--place", "near", "--lines")
    run = gnarl(*given, "--json")
    assert run.exit_code == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["backend"] == "rtl" and report["lines"]["note"] == ""
    assert sum(each["cycles"] for each in report["lines"]["places"]) == report["cycles"]
    page = gnarl(*given)
    assert "Cycles by line of the source" in page.stdout
    assert f"Limited by {report['lines']['limit'].split(' ')[0]}" in page.stdout

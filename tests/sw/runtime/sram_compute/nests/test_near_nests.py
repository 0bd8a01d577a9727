"""Nests on stream engines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError, ProgramError, WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sram_compute.figures import figures
from gnarl.sw.runtime.sram_compute.model.system import System
from gnarl.sw.runtime.sram_compute.target import TARGET
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.sources import file_workload
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.sram_compute.lowered_nests import lowered
from tests.support.sram_compute.near_nests import NESTS, floats

SMALL = ("banks=1", "arrays=2", "formats=[]")
"""What makes of ``sram_b2`` one that is soon built, as for nests on the core."""

EXAMPLES = Path(__file__).parents[5] / "examples"


@pytest.fixture(scope="module")
def model() -> Iterator[Device]:
    with Device("sram_b2", "model") as device:
        yield device


def workload(text: str, values: dict[str, Any], folder: Path) -> LoopWorkload:
    path = folder / ("nest.py" if text.startswith("from") else "nest.c")
    path.write_text(text)
    found = file_workload(str(path), {})
    return LoopWorkload(found.name, found.nest, values)


def run(device: Device, given: LoopWorkload, **options: Any) -> Any:
    return device.run(device.compile(given, place="near", **options), given.inputs)


@pytest.mark.parametrize("name", NESTS)
@pytest.mark.parametrize("reassociate", [False, True])
def test_results_are_those_of_the_source(
    model: Device, tmp_path: Path, name: str, reassociate: bool
):
    """But for the order of float32 sums."""
    text, values = NESTS[name]
    given = workload(text, values(np.random.default_rng(7)), tmp_path)
    result = run(model, given, reassociate=reassociate)
    assert model.verify(result).bit_exact
    assert model.verify(result).max_rel_error < 1e-3
    if reassociate and name in ("one sum", "a local sum"):
        return
    for array, wanted in GoldenLoops(given.nest).run(given.binding).items():
        assert result.outputs[array].tobytes() == wanted.tobytes()
    assert result.counters["cycles_near"] > 0 or name == "nothing"
    assert result.counters["cycles_compute"] == 0


@pytest.mark.parametrize(
    "name", ["matrix", "wide product", "gather", "one sum", "place of the least", "histogram"]
)
def test_the_rtl_runs_what_the_model_does(tmp_path: Path, name: str):
    text, values = NESTS[name]
    given = workload(text, values(np.random.default_rng(8)), tmp_path)
    config = load_configuration("sram_b2", SMALL)
    with Device(config, "model") as model, Device(config, "rtl") as rtl:
        expected, found = run(model, given), run(rtl, given)
        assert rtl.verify(found).bit_exact
    assert found.cycles == expected.cycles
    assert found.counters == expected.counters


def test_iterations_that_read_the_same_are_done_together(model: Device, tmp_path: Path):
    """Seven rows and two; in each step of a row's sum a product and an addition, before it a 0,
    behind it what is stored; ``b`` is read once for all rows, ``c`` never."""
    chance = np.random.default_rng(9)
    values = {"a": floats(chance, 9, 3), "b": floats(chance, 3, 50)}
    given = workload(NESTS["wide product"][0], values, tmp_path)
    counters = run(model, given).counters
    assert counters["near_strips"] == 3 * (1 + 7 * 2) + 3 * (1 + 2 * 2) + 9 * 2
    assert counters["lines_loaded"] == 9 + 3 * 4


def test_what_is_local_stays_in_its_bank(model: Device):
    """And of what is written nothing is loaded."""
    result = run(model, model.workload(str(EXAMPLES / "vec_add.c")))
    assert result.counters["bits_between_banks"] == 0
    assert result.counters["lines_loaded"] == 2
    assert result.counters["lines_stored"] == 1
    assert result.counters["near_strips"] == 3
    found = figures(result.program, result)
    assert ("near-memory", result.counters["cycles_near"]) in found.charts[0].bars


@pytest.mark.parametrize(
    "text",
    [
        "float a[n][n]) {\n  for (int i = 0; i < n; i++) a[i][i] = x[i];\n}",
        "float a[n], int p[n]) {\n  for (int i = 0; i < n; i++) a[p[i]] = x[i];\n"
        "  for (int i = 0; i < n; i++) p[i] = i;\n}",
    ],
)
def test_banks_that_were_used_before_change_nothing(
    model: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
):
    """What is not written as a whole before it is read begins as 0, as the source has it."""

    class Used(System):
        def __init__(self, config: SramConfig) -> None:
            super().__init__(config)
            self.arrays.planes[:] = ~np.uint64(0)

    monkeypatch.setattr("gnarl.sw.runtime.sram_compute.executor.System", Used)
    source = f"void f(int n, float x[n], {text}"
    given = workload(source, {"x": floats(np.random.default_rng(7), 5)}, tmp_path)
    assert model.verify(run(model, given)).bit_exact


def test_an_index_outside_its_array_ends_the_run(model: Device, tmp_path: Path):
    """The error names the stream, behind those of what is added and of the index, and the source's
    access."""
    text, values = NESTS["gather"]
    given = workload(text, values(np.random.default_rng(7)), tmp_path)
    given.inputs["index"][11] = 9
    place = r".*nest\.c:\d+:\d+: table: index 9 in dimension 0: must be at least 0 and less than 9$"
    with pytest.raises(ProgramError, match=f"model stops with STREAM at stream 2; {place}"):
        run(model, given)


@pytest.mark.parametrize(
    "text, reason",
    [
        ("a[i - 1] = 1; b[i] = a[i]", "4:54: a is written at "),
        ("a[b[i]] = i; b[i] = 3", "4:33: a: the index of what is written must be affine"),
        ("b[i] = a[i + 1]", "4:40: a: index 40 in dimension 0: must be from 0 to 39"),
        ("b[i] = a[i] % 3", "4:33: needs 84 operations: must be at most 32"),
    ],
)
def test_what_engines_do_not_run_is_refused(model: Device, tmp_path: Path, text, reason):
    source = (
        "void f(int n, int a[n],\n       int b[n])\n{\n"
        f"  for (int i = 1; i < n; i++) {{ {text}; }}\n}}"
    )
    given = workload(source, {name: np.zeros(40, np.int32) for name in "ab"}, tmp_path)
    with pytest.raises(WorkloadError) as caught:
        run(model, given)
    assert str(caught.value).startswith(f"{tmp_path / 'nest.c'}:{reason}")


@pytest.mark.parametrize(
    "fields, size, kind, text",
    [
        (
            {"near_lanes": 0},
            16,
            WorkloadError,
            "--place near: near_lanes = 0: the configuration has no stream engines",
        ),
        (
            {},
            400,
            CapacityError,
            "vec_add: banks x arrays x wordlines x bitlines = 2 x 2 x 128 x 64: must be at least "
            "45056, for 1408 words of arrays and sums",
        ),
    ],
)
def test_what_does_not_fit_is_refused(fields, size, kind, text):
    config = replace(load_configuration("sram_b2").config, **fields)
    found = TARGET.reader.workload(str(EXAMPLES / "vec_add.c"))
    values = {name: np.zeros(size, np.float32) for name in "ab"}
    with pytest.raises(kind) as caught:
        lowered(LoopWorkload("vec_add", found.nest, values), config, place="near")
    assert str(caught.value) == text

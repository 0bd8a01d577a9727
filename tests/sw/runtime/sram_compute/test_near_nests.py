"""Nests on stream engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hw.lib.errors import CapacityError, ProgramError, WorkloadError
from hw.sram_compute.config import SramConfig
from sw.golden.loops import GoldenLoops
from sw.runtime.configuration import load_configuration
from sw.runtime.device import Device
from sw.runtime.sram_compute.figures import figures
from sw.runtime.sram_compute.model.system import System
from sw.runtime.sram_compute.target import TARGET
from sw.workloads.loops.sources import file_workload
from sw.workloads.loops.workload import LoopWorkload
from tests.support.lowered_nests import lowered

pytestmark = pytest.mark.usefixtures("interpreted_golden")

SMALL = ("banks=1", "arrays=2", "formats=[]")
"""What makes of ``sram_b2`` one that is soon built, as for nests on the core."""

EXAMPLES = Path(__file__).parents[4] / "examples"

Values = Callable[[np.random.Generator], dict[str, Any]]


def integers(chance: np.random.Generator, *shape: int) -> np.ndarray:
    return chance.integers(-(1 << 31), 1 << 31, shape, np.int64).astype(np.int32)


def floats(chance: np.random.Generator, *shape: int) -> np.ndarray:
    return chance.standard_normal(shape, np.float32)


NESTS: dict[str, tuple[str, Values]] = {
    "interior": (
        "void f(int n, float a[n], float b[n]) {\n"
        "  for (int i = 1; i < n - 1; i++) b[i] = (a[i - 1] + a[i + 1]) * 0.5f;\n}",
        lambda chance: {"a": floats(chance, 100)},
    ),
    "strided": (
        "void f(int n, int a[n], int b[2 * n]) {\n"
        "  for (int i = 0; i < n; i += 3) b[2 * i + 1] = a[i] < 0 ? -a[i] : 3 * a[n - 1 - i];\n}",
        lambda chance: {"a": integers(chance, 77)},
    ),
    "matrix": (
        "void f(int n, int m, float a[n][m], float b[n][m], float c[n][m], float s) {\n"
        "  for (int i = 0; i < n; i++)\n"
        "    for (int j = 0; j < m; j++) c[i][j] = a[i][j] * s - b[i][j] / 3.0f;\n}",
        lambda chance: {
            "a": floats(chance, 3, 37),
            "b": floats(chance, 3, 37),
            "s": np.float32(1.5),
        },
    ),
    "product": (
        "void f(int n, int m, int k, float a[n][k], float b[k][m], float c[n][m]) {\n"
        "  for (int i = 0; i < n; i++)\n    for (int j = 0; j < m; j++)\n"
        "      for (int l = 0; l < k; l++) c[i][j] += a[i][l] * b[l][j];\n}",
        lambda chance: {
            "a": floats(chance, 3, 5),
            "b": floats(chance, 5, 20),
            "c": floats(chance, 3, 20),
        },
    ),
    "wide product": (
        "void f(int n, int m, int k, float a[n][k], float b[k][m], float c[n][m]) {\n"
        "  for (int i = 0; i < n; i++)\n    for (int j = 0; j < m; j++)\n"
        "      for (int l = 0; l < k; l++) c[i][j] += b[l][j] * a[i][l];\n}",
        lambda chance: {"a": floats(chance, 7, 4), "b": floats(chance, 4, 30)},
    ),
    "largest": (
        "from sw.workloads.loops.notation import float32, nest, sizes\n\n"
        "n, m = sizes('n, m')\n\n\n@nest\n"
        "def f(a: float32[n, m], b: float32[m]):\n    for j in range(m):\n"
        "        most = float32(-1)\n        for i in range(n):\n"
        "            most = max(most, a[i, j])\n        b[j] = 2.0 * most + float32(j)\n",
        lambda chance: {"a": floats(chance, 6, 40)},
    ),
    "gather": (
        "void f(int n, int m, int k, int index[n], float table[m][k], float out[k][n]) {\n"
        "  for (int j = 0; j < k; j++)\n"
        "    for (int i = 0; i < n; i++) out[j][i] = table[index[i]][j] + out[j][i];\n}",
        lambda chance: {
            "index": chance.integers(0, 9, 50, np.int32),
            "table": floats(chance, 9, 4),
            "out": floats(chance, 4, 50),
        },
    ),
    "embedding": (
        "void f(int n, int m, int index[n], int offset, float table[m], float out[n]) {\n"
        "  for (int i = 0; i < n; i++) out[i] = table[2 * index[i] + offset] * 0.25f;\n}",
        lambda chance: {
            "index": chance.integers(0, 20, 50, np.int32),
            "offset": np.int32(3),
            "table": floats(chance, 60),
        },
    ),
    "chosen": (
        "void f(int n, float a[n], int b[n], int c[n]) {\n"
        "  for (int i = 0; i < n; i++)\n"
        "    if (a[i] >= 0.0f && b[i] != i) c[i] = b[i] == 7 || b[i] <= -1 ? i : b[i] >> 3;\n}",
        lambda chance: {
            "a": floats(chance, 70),
            "b": chance.integers(-9, 70, 70, np.int32),
            "c": integers(chance, 70),
        },
    ),
    "numbers": (
        "void f(int n, float a[n], int b[n], float c[n]) {\n"
        "  for (int i = 0; i < n; i++) {\n"
        "    float x = fabsf(a[i]) - (float)b[i];\n    c[i] = x * x - (float)(a[i] < x);\n  }\n}",
        lambda chance: {"a": floats(chance, 40), "b": integers(chance, 40)},
    ),
    "steps": (
        "void f(int n, float a[n], float b[n], int steps) {\n"
        "  for (int t = 0; t < steps; t++) {\n"
        "    for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i + 1];\n"
        "    for (int i = 1; i < n - 1; i++) a[i] = b[i] * 0.5f;\n  }\n}",
        lambda chance: {"a": floats(chance, 50), "steps": np.int32(3)},
    ),
    "two sums": (
        "void f(int n, int m, int a[n][m], int total[1]) {\n"
        "  for (int i = 0; i < n; i++)\n    for (int j = 0; j < m; j++) total[0] += a[i][j];\n}",
        lambda chance: {"a": integers(chance, 3, 11), "total": integers(chance, 1)},
    ),
    "one sum": (
        "void f(int n, float a[n], float b[n], float total[2]) {\n"
        "  for (int i = 3; i < n; i++) total[1] += a[i] * b[i - 3];\n}",
        lambda chance: {
            "a": floats(chance, 203),
            "b": floats(chance, 203),
            "total": floats(chance, 2),
        },
    ),
    "a local sum": (
        "void f(int n, float a[n], float mean[1], float b[n]) {\n  float total = 1.0f;\n"
        "  for (int i = 0; i < n; i++) total += a[i];\n  mean[0] = total / (float)n;\n"
        "  for (int i = 0; i < n; i++) b[i] = a[i] * mean[0];\n}",
        lambda chance: {"a": floats(chance, 70)},
    ),
    "an integer sum": (
        "void f(int n, int a[n], int total[1]) {\n"
        "  for (int i = 0; i < n; i += 2) total[0] += a[i];\n}",
        lambda chance: {"a": integers(chance, 301), "total": integers(chance, 1)},
    ),
    "the least": (
        "from sw.workloads.loops.notation import float32, nest, sizes\n\n"
        "(n,) = sizes('n')\n\n\n@nest\ndef f(a: float32[n], b: float32[1]):\n"
        "    least = float32(9)\n    for i in range(n):\n        least = min(least, a[i])\n"
        "    b[0] = least\n",
        lambda chance: {"a": floats(chance, 90)},
    ),
    "place of the least": (
        "void f(int n, int m, float a[n][m], int place[m], float least[m]) {\n"
        "  for (int j = 0; j < m; j++) {\n    int best = 0;\n    float value = a[0][j];\n"
        "    for (int i = 1; i < n; i++)\n"
        "      if (a[i][j] < value) {\n        value = a[i][j];\n        best = i;\n      }\n"
        "    place[j] = best;\n    least[j] = value * 2.0f;\n  }\n}",
        lambda chance: {"a": chance.integers(-3, 3, (5, 40)).astype(np.float32)},
    ),
    "place of the largest of all": (
        "void f(int n, int a[n], int place[2]) {\n  int best = 0, most = a[0];\n"
        "  for (int i = 1; i < n; i++)\n    if (a[i] > most) {\n      most = a[i];\n"
        "      best = i;\n    }\n  place[0] = best;\n  place[1] = most;\n}",
        lambda chance: {"a": integers(chance, 30)},
    ),
    "polynomial": (
        "void f(int n, int m, float c[m], float x[n], float y[n]) {\n"
        "  for (int i = 0; i < n; i++) {\n    float total = 0.0f;\n"
        "    for (int j = 0; j < m; j++) total = total * x[i] + c[j] * (float)(j + i);\n"
        "    y[i] = total;\n  }\n}",
        lambda chance: {"c": floats(chance, 4), "x": floats(chance, 45)},
    ),
    "histogram": (
        "void f(int n, int m, int index[n], float weight[n], float sums[m], int counts[m]) {\n"
        "  for (int i = 0; i < n; i++) sums[index[i]] += weight[i];\n"
        "  for (int i = 0; i < n; i++) counts[index[i]] += 1;\n}",
        lambda chance: {
            "index": chance.integers(0, 9, 50, np.int32),
            "weight": floats(chance, 50),
            "sums": floats(chance, 9),
            "counts": integers(chance, 9),
        },
    ),
    "scan": (
        "void f(int n, int m, float a[n][m]) {\n"
        "  for (int i = 1; i < n; i++)\n"
        "    for (int j = 1; j < m; j++) a[i][j] = 0.5f * a[i][j - 1] + a[i - 1][j];\n}",
        lambda chance: {"a": floats(chance, 4, 13)},
    ),
    "nothing": (
        "void f(int n, float a[n], float b[n], int k) {\n"
        "  for (int i = 0; i < k; i++) a[i] = 1.0f;\n"
        "  for (int i = 0; i < n; i++)\n    for (int j = 0; j < k; j++) b[i] += a[j];\n}",
        lambda chance: {"a": floats(chance, 9), "b": floats(chance, 9), "k": np.int32(0)},
    ),
}


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

    monkeypatch.setattr("sw.runtime.sram_compute.target.System", Used)
    source = f"void f(int n, float x[n], {text}"
    given = workload(source, {"x": floats(np.random.default_rng(7), 5)}, tmp_path)
    assert model.verify(run(model, given)).bit_exact


def test_an_index_outside_its_array_ends_the_run(model: Device, tmp_path: Path):
    """The error names the stream: behind those of what is added and of the index."""
    text, values = NESTS["gather"]
    given = workload(text, values(np.random.default_rng(7)), tmp_path)
    given.inputs["index"][11] = 9
    with pytest.raises(ProgramError, match="stops with STREAM at stream 2$"):
        run(model, given)


@pytest.mark.parametrize(
    "text, reason",
    [
        ("a[i] = 1; b[i] = a[i - 1]", "4:50: a is written at "),
        ("a[b[i]] = i; b[i] = 3", "4:33: a: the index of what is written is loaded"),
        ("b[i] = a[i + 1]", "4:40: a: index 40 in dimension 0: must be from 0 to 39"),
        ("b[i] = a[i] % 3", "4:40: // of int32: not supported by stream engines"),
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
        ({}, 400, CapacityError, "vec_add: its arrays and sums are 1408 words: banks have 1024"),
    ],
)
def test_what_does_not_fit_is_refused(fields, size, kind, text):
    config = replace(load_configuration("sram_b2").config, **fields)
    found = TARGET.workload(str(EXAMPLES / "vec_add.c"))
    values = {name: np.zeros(size, np.float32) for name in "ab"}
    with pytest.raises(kind) as caught:
        lowered(LoopWorkload("vec_add", found.nest, values), config, place="near")
    assert str(caught.value) == text

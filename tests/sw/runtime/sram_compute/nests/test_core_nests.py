"""Nests that memory does not compute run on the core, those that it does on either."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.encoding.execute_isa import Instruction
from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.sw.compiler.sram_compute.cost.core import part_cycles
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sram_compute.target import TARGET
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.sources import file_workload
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.commands import gnarl

pytest.importorskip("egglog")


SMALL = ("banks=1", "arrays=2", "formats=[]")
"""What makes of ``sram_b2`` one that is soon built."""

EXAMPLES = Path(__file__).parents[5] / "examples"


def spmv(chance: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        "offsets": np.array([0, 3, 3, 10, 17, 20], np.int32),
        "indices": chance.integers(0, 11, 20, np.int32),
        "values": chance.standard_normal(20, np.float32),
        "x": chance.standard_normal(11, np.float32),
    }


def gather(chance: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        "index": chance.integers(0, 9, 6, np.int32),
        "features": chance.standard_normal((9, 5), np.float32),
        "weights": chance.standard_normal((5, 21), np.float32),
    }


def recurrence(chance: np.random.Generator) -> dict[str, np.ndarray]:
    return {"a": chance.standard_normal((3, 20), np.float32), "factor": np.float32(-0.75)}


def strided(chance: np.random.Generator) -> dict[str, np.ndarray]:
    return {"a": chance.integers(-(1 << 31), 1 << 31, 33, np.int64).astype(np.int32)}


def dots(chance: np.random.Generator) -> dict[str, np.ndarray]:
    return {name: chance.standard_normal((4, 37), np.float32) for name in "ab"}


def both(chance: np.random.Generator) -> dict[str, np.ndarray]:
    return {"a": chance.integers(-(1 << 31), 1 << 31, 120, np.int64).astype(np.int32)}


Values = Callable[[np.random.Generator], dict[str, np.ndarray]]

NESTS: dict[str, tuple[Values, str]] = {
    "spmv": (
        spmv,
        "void spmv(int n, int m, int k, int offsets[n + 1], int indices[m], float values[m],\n"
        "          float x[k], float y[n]) {\n"
        "  for (int i = 0; i < n; i++)\n"
        "    for (int j = offsets[i]; j < offsets[i + 1]; j++)\n"
        "      y[i] += values[j] * x[indices[j]];\n"
        "}\n",
    ),
    "gather": (
        gather,
        "void gather(int p, int t, int n, int m, int index[p], float features[t][n],\n"
        "            float weights[n][m], float out[p][m]) {\n"
        "  for (int q = 0; q < p; q++)\n"
        "    for (int o = 0; o < m; o++)\n"
        "      for (int i = 0; i < n; i++)\n"
        "        out[q][o] += features[index[q]][i] * weights[i][o];\n"
        "}\n",
    ),
    "recurrence": (
        recurrence,
        "void recurrence(int n, int m, float a[n][m], float factor) {\n"
        "  for (int i = 0; i < n; i++)\n"
        "    for (int j = 1; j < m; j++)\n"
        "      a[i][j] += factor * a[i][j - 1];\n"
        "}\n",
    ),
    "strided": (
        strided,
        "void strided(int n, int a[n], int b[2 * n]) {\n"
        "  for (int i = 0; i < n; i++)\n"
        "    b[2 * i + 1] = a[i] < 0 ? -a[i] : 3 * a[i];\n"
        "}\n",
    ),
    "dots": (
        dots,
        "void dots(int n, int m, float a[n][m], float b[n][m], float c[n]) {\n"
        "  for (int i = 0; i < n; i++) {\n"
        "    float total = 0.0f;\n"
        "    for (int j = 0; j < m; j++)\n"
        "      total += a[i][j] * b[i][j];\n"
        "    c[i] = total;\n"
        "  }\n"
        "}\n",
    ),
    "both": (
        both,
        "void both(int n, int a[n], int b[n], int c[n]) {\n"
        "  for (int step = 0; step < 32; step++)\n"
        "    for (int i = 0; i < n; i++)\n"
        "      b[i] += a[i];\n"
        "  for (int i = 1; i < n; i++)\n"
        "    b[i] += b[i - 1];\n"
        "  for (int i = 1; i < n; i++)\n"
        "    c[i] = b[i] - b[i - 1];\n"
        "}\n",
    ),
}

ALL = pytest.mark.parametrize("name", NESTS)

AFFINE = ("recurrence", "strided", "dots")
"""Those of which the compiler can tell how long they take on the core."""

MIXED = """
void mixed(int n, float a[n], float b[n], float c[n], float sums[2], float scale) {
  for (int step = 0; step < 32; step++)
    for (int i = 0; i < n; i++)
      b[i] = a[i] > b[i] ? a[i] : -b[i];
  for (int i = 0; i < n; i++)
    sums[0] += b[i];
  for (int i = 1; i < n; i++)
    b[i] = b[i] - scale * b[i - 1];
  for (int step = 0; step < 32; step++)
    for (int i = 1; i < n; i++)
      c[i] = b[i - 1] > c[i] ? b[i] : -c[i];
  for (int i = 0; i < n; i++)
    sums[1] += c[i];
}
"""


@pytest.fixture(scope="module")
def model() -> Iterator[Device]:
    with Device("sram_b2", "model") as device:
        yield device


def workload(name: str, folder: Path) -> LoopWorkload:
    values, text = NESTS[name]
    path = folder / f"{name}.c"
    path.write_text(text)
    found = file_workload(str(path), {})
    return LoopWorkload(found.name, found.nest, values(np.random.default_rng(5)))


def run(device: Device, given: LoopWorkload, **options: Any) -> Any:
    return device.run(device.compile(given, **options), given.inputs)


def spent(counters: dict[str, int]) -> list[int]:
    """Cycles by what they are spent on."""
    return [count for counter, count in counters.items() if counter.startswith("cycles_")]


def estimate(program: Program) -> int:
    """Cycles on the core, as the compiler thinks."""
    words = program.launches[0].sections["instructions"].tolist()
    instructions = [Instruction.decoded(tuple(each)) for each in words]
    return part_cycles(instructions, SramConfig.from_dict(program.config), 1 << 30)


@ALL
@pytest.mark.parametrize("reassociate", [True, False])
def test_results_are_those_of_the_compiled_order(
    model: Device, tmp_path: Path, name: str, reassociate: bool
):
    given = workload(name, tmp_path)
    result = run(model, given, place="core", reassociate=reassociate)
    assert model.verify(result).bit_exact
    assert sum(spent(result.counters)) == result.cycles
    assert result.counters["core_instructions"] > 0
    if not reassociate:
        for array, wanted in GoldenLoops(given.nest).run(given.binding).items():
            assert result.outputs[array].tobytes() == wanted.tobytes()


@ALL
def test_the_rtl_runs_what_the_model_does(tmp_path: Path, name: str):
    """Where the nest runs, nobody says: all but ``dots`` are none of memory's, or not as a
    whole."""
    given = workload(name, tmp_path)
    place = "core" if name == "dots" else "auto"
    with Device(load_configuration("sram_b2", SMALL), "model") as model:
        modelled = run(model, given, place=place)
    tensors: list[str] = []
    for array, value in given.inputs.items():
        np.save(tmp_path / f"{array}.npy", value)
        tensors += ["--tensor", f"{array}={tmp_path / array}.npy"]
    small = [word for each in SMALL for word in ("--set", each)]
    path = str(tmp_path / f"{name}.c")
    found = gnarl("run", "sram_b2", *small, path, *tensors, "--place", place, "--json")
    assert found.exit_code == 0, found.stderr
    report = json.loads(found.stdout)
    counters = report["counters"]
    assert report["bit_exact"]
    assert report["backend"] == "rtl"
    assert (counters, report["cycles"]) == (modelled.counters, modelled.cycles)
    assert (counters["cycles_compute"] > 0) == (name == "both")
    assert sum(spent(counters)) == report["cycles"]
    assert counters["cycles_core"] > counters["core_instructions"]
    if name in AFFINE:
        assert estimate(modelled.program) == report["cycles"]


def test_both_places_give_the_same(model: Device):
    given = model.workload(str(EXAMPLES / "vec_add.c"))
    results = [run(model, given, place=place) for place in ("memory", "core", "auto")]
    assert results[0].outputs["c"].tobytes() == results[1].outputs["c"].tobytes()
    assert results[0].counters["core_instructions"] == 0 < results[1].counters["core_instructions"]
    assert results[2].counters == results[1].counters


def mixed(folder: Path) -> LoopWorkload:
    path = folder / "mixed.c"
    path.write_text(MIXED)
    nest, chance = file_workload(str(path), {}).nest, np.random.default_rng(6)
    values = {name: chance.standard_normal(1000, np.float32) for name in "ac"}
    return LoopWorkload("mixed", nest, {**values, "scale": np.float32(1.25)})


@pytest.mark.parametrize("reassociate", [True, False])
def test_statements_run_where_they_take_the_fewest_cycles(tmp_path: Path, reassociate: bool):
    """Memory takes up what the core has written, and the reverse."""
    given = mixed(tmp_path)
    fields = ["wordlines=256", "bitlines=256", "core_instructions=256", "near_lanes=0"]
    with Device(load_configuration("sram_b2", fields), "model") as device:
        result = run(device, given, reassociate=reassociate)
        assert device.verify(result).bit_exact
        commands = [line.split()[0] for line in TARGET.presenter.listing(result.program)]
        dot = TARGET.presenter.dot(result.program)
    core = commands.index("core")
    assert "compute" in commands[:core]
    assert "compute" in commands[core:]
    assert commands.count("core") == (1 if reassociate else 2)  # sums in the source's order
    assert dot.startswith("digraph {\n")
    if not reassociate:
        for array, wanted in GoldenLoops(given.nest).run(given.binding).items():
            assert result.outputs[array].tobytes() == wanted.tobytes()


def test_a_saved_program_runs_on_the_core(model: Device, tmp_path: Path):
    given, path = workload("gather", tmp_path), tmp_path / "gather.npz"
    model.compile(given, place="core").save(path)
    program = Program.load(path, lambda target: TARGET.compiler.schema)
    result = model.run(program, given.inputs)
    assert model.verify(result).bit_exact
    listing = list(TARGET.presenter.listing(result.program))
    assert listing[:2] == ["core", "end"]
    assert listing[-1] == "#     halt"
    for each in (program, result.program):
        with pytest.raises(WorkloadError, match="has no graph: it does not run in memory$"):
            TARGET.presenter.dot(each)


def test_indices_outside_of_arrays_are_refused(model: Device, tmp_path: Path):
    given = workload("gather", tmp_path)
    program = model.compile(given, place="core")
    with pytest.raises(WorkloadError, match="features: index 9 in dimension 0"):
        model.run(program, {**given.inputs, "index": np.full(6, 9, np.int32)})


def test_iterations_outside_of_arrays_do_not_go_to_the_core(model: Device, tmp_path: Path):
    path = tmp_path / "next.c"
    path.write_text(
        "void f(int n, float a[n], float b[n]) {\n for (int i = 0; i < n; i++) b[i] = a[i + 1];\n}"
    )
    with pytest.raises(WorkloadError, match=r"next\.c:2:\d+: a: index 16 in dimension 0"):
        run(model, model.workload(str(path)))


def test_without_egglog_nothing_goes_to_the_core_unsaid(
    model: Device, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "egglog", None)
    with pytest.raises(WorkloadError, match=r"^egglog is not installed: .* gnarl\[sram\]$"):
        model.compile(model.workload(str(EXAMPLES / "vec_add.c")))


@pytest.mark.parametrize(
    "fields, options, kind, text",
    [
        (
            {"core_lanes": 0},
            {"place": "core"},
            WorkloadError,
            "--place core: core_lanes = 0: the configuration has no core",
        ),
        (
            {},
            {"place": "far"},
            WorkloadError,
            "--place far: not supported: must be one of auto, memory, core, near",
        ),
        (
            {"core_instructions": 16},
            {"place": "core"},
            CapacityError,
            "core_instructions = 16: must be at least 43",
        ),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, fields, options, kind, text):
    named = load_configuration("sram_b2")
    small = replace(named, config=replace(named.config, **fields))
    with Device(small, "model") as device, pytest.raises(kind) as caught:
        run(device, workload("gather", tmp_path), **options)
    assert str(caught.value) == text


def test_what_neither_runs_is_refused(model: Device, tmp_path: Path):
    path = tmp_path / "cut.c"
    path.write_text(
        "void f(int n, const float x[n], int8_t a[n]) {\n"
        " for (int i = 0; i < n; i++) a[i] = x[i];\n}"
    )
    with pytest.raises(WorkloadError) as caught:
        run(model, model.workload(str(path)))
    memory, core = str(caught.value).split("; on the core: ")
    assert memory.startswith(f"{path}:2:")
    assert core == f"{path}:2:37: float32 as int8: not supported by the execute unit"

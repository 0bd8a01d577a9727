"""One program file of a nest on any shapes and configurations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.sw.compiler.sram_compute.lower.lower import CodeGenerator
from gnarl.sw.compiler.sram_compute.meaning import SpecialisedProgram
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.c import source as c_source
from gnarl.sw.workloads.loops.ir.binding import bind
from tests.support.commands import gnarl
from tests.sw.runtime.sram_compute.nests.saved import saved
from tests.sw.runtime.sram_compute.nests.test_core_nests import SMALL

pytest.importorskip("egglog")

EXAMPLES = Path(__file__).parents[5] / "examples"
CONFIGURATIONS = ("sram_b4", "sram_b4_512")

MIXED = """
void mixed(int n, int m, const int8_t a[n][m], const uint16_t b[n][1], int c[n][m], int most) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      c[i][j] += (int) a[i][j] * 3 - (int) b[i][0];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      c[i][j] = c[i][j] > most ? most : c[i][j];
}
"""

OPEN = """
void spread(int n, int rows, const int a[n], int b[rows][n]) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < n; j++)
      b[i][j] = a[j] + i;
}
"""
"""``rows`` is in no shape but that of the result."""


@pytest.fixture(scope="module")
def devices() -> Iterator[dict[str, Device]]:
    found = {name: Device(name, "model") for name in CONFIGURATIONS}
    yield found
    for device in found.values():
        device.close()


def values_of(name: str, rows: int, columns: int) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(rows * 1000 + columns)

    def floats(*shape: int) -> np.ndarray:
        return chance.standard_normal(shape, np.float32)

    match name:
        case "vec_add":
            return {"a": floats(columns), "b": floats(columns)}
        case "conv2d":
            scalars = {each: floats() for each in ("corner", "edge", "middle")}
            return {"a": floats(rows, columns), **scalars}
        case "mm":
            return {"a": floats(rows, 3), "b": floats(3, columns)}
        case "scan":
            return {"a": floats(columns)}
    raise KeyError(name)


@pytest.mark.parametrize("name", ["vec_add", "conv2d", "mm", "scan"])
def test_a_file_runs_on_any_shapes_and_configurations(
    devices: Mapping[str, Device], tmp_path: Path, name: str
):
    text = (EXAMPLES / f"{name}.c").read_text()
    program = saved(text, tmp_path, f"{name}.c")
    for device in devices.values():
        for rows, columns in ((3, 5), (9, 70), (20, 33)):
            values = values_of(name, rows, columns)
            result = device.run(program, values)
            assert device.verify(result).bit_exact
            shapes = [result.outputs[each.name].shape[-1] for each in result.program.outputs]
            assert shapes == [columns] * len(shapes)
            assert result.program.digest == device.configuration.config.digest


def test_a_configuration_has_the_graph_of_the_fewest_cycles(
    devices: Mapping[str, Device], tmp_path: Path
):
    """What adds up in another order has fewer products, if rows suffice for it."""
    text = (EXAMPLES / "conv2d.c").read_text()
    program = saved(text, tmp_path, "conv2d.c", place="memory")
    in_order = saved(text, tmp_path, "conv2d.c", place="memory", reassociate=False)
    values = values_of("conv2d", 12, 20)
    for device in devices.values():
        found, other = (device.run(each, values) for each in (program, in_order))
        assert found.cycles is not None and other.cycles is not None
        assert found.cycles < other.cycles
        assert isinstance(found.program, SpecialisedProgram)
        assert isinstance(other.program, SpecialisedProgram)
        assert found.program.meaning.order != other.program.meaning.order


@given(
    shape=st.tuples(st.integers(1, 20), st.integers(1, 70)),
    most=st.integers(-(1 << 31), (1 << 31) - 1),
    is_given=st.booleans(),
    config=st.sampled_from(CONFIGURATIONS),
)
def test_each_array_has_its_own_type_and_any_shape(
    devices: Mapping[str, Device],
    mixed_in_memory: Program,
    shape: tuple[int, int],
    most: int,
    is_given: bool,
    config: str,
):
    chance = np.random.default_rng(shape)
    values: dict[str, Any] = {
        "a": chance.integers(-128, 128, shape, np.int8),
        "b": chance.integers(0, 1 << 16, (shape[0], 1), np.uint16),
        "most": np.int32(most),
    }
    before = chance.integers(-(1 << 30), 1 << 30, shape, np.int32)
    wanted = values["a"].astype(np.int32) * 3 - values["b"].astype(np.int32)
    if is_given:
        values["c"] = before
        wanted += before
    found = devices[config].run(mixed_in_memory, values)
    assert found.outputs["c"].tobytes() == np.minimum(wanted, np.int32(most)).tobytes()


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return saved(MIXED, tmp_path_factory.mktemp("mixed"), "mixed.c")


@pytest.fixture(scope="module")
def mixed_in_memory(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return saved(MIXED, tmp_path_factory.mktemp("mixed"), "mixed.c", place="memory")


def test_the_rtl_runs_a_file_on_any_shapes(tmp_path: Path, mixed: Program):
    path = tmp_path / "mixed.npz"
    mixed.save(path)
    small = [word for each in SMALL for word in ("--set", each)]
    for shape in ((2, 9), (1, 50)):
        chance = np.random.default_rng(shape)
        values = {
            "a": chance.integers(-128, 128, shape, np.int8),
            "b": chance.integers(0, 1 << 16, (shape[0], 1), np.uint16),
            "c": chance.integers(-(1 << 30), 1 << 30, shape, np.int32),
            "most": np.int32(5),
        }
        tensors: list[str] = []
        for name, value in values.items():
            np.save(tmp_path / f"{name}.npy", value)
            tensors += ["--tensor", f"{name}={tmp_path / name}.npy"]
        with Device(load_configuration("sram_b2", SMALL), "model") as device:
            expected = device.run(mixed, values)
        results = tmp_path / "results.npz"
        run = ("run", "sram_b2", *small, path, *tensors, "--json", "-o", results)
        found = gnarl(*run)
        assert found.exit_code == 0, found.stderr
        report = json.loads(found.stdout)
        assert (report["backend"], report["bit_exact"]) == ("rtl", True)
        assert report["cycles"] == expected.cycles
        assert report["compile_s"] == 0
        assert report["lower_s"] == report["seconds"]["lower"] > 0
        golden = GoldenLoops(c_source.read_source(MIXED, "mixed.c"))
        wanted = golden.run(bind(c_source.read_source(MIXED, "mixed.c"), values))
        with np.load(results) as file:
            assert file["c"].tobytes() == wanted["c"].tobytes()


def test_programs_are_remembered_by_shapes_and_scalars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mixed: Program
):
    """And by which results are given: the core begins from zeros where they are not."""
    calls: list[str] = []
    generate = CodeGenerator.generate

    def counted(self: CodeGenerator, *arguments: Any) -> Any:
        calls.append("generate")
        return generate(self, *arguments)

    monkeypatch.setattr(CodeGenerator, "generate", counted)
    a, b = np.ones((4, 13), np.int8), np.ones((4, 1), np.uint16)
    values: dict[str, Any] = {"a": a, "b": b, "most": np.int32(3)}
    with Device("sram_b4", "model") as device:
        first = device.run(mixed, values)
        one = len(calls)
        again = device.run(mixed, {**values, "a": a + 1})
        assert (len(calls), again.program is first.program) == (one, True)
        assert (again.outputs["c"] != first.outputs["c"]).all()
        for change in (
            {"most": np.int32(4)},
            {"a": np.ones((4, 14), np.int8)},
            {"c": np.zeros((4, 13), np.int32)},
        ):
            before = len(calls)
            other = device.run(mixed, {**values, **change})
            assert len(calls) == before + one
            assert other.program is not first.program
        assert device.run(mixed, values).program is first.program


def test_sizes_that_no_array_has_are_given(devices: Mapping[str, Device], tmp_path: Path):
    program = saved(OPEN, tmp_path, "spread.c")
    a, device = np.arange(30, dtype=np.int32), devices["sram_b4"]
    for rows in (1, 4):
        found = device.run(program, {"a": a, "rows": rows}).outputs["b"]
        assert (found == a + np.arange(rows)[:, None]).all()
    for sizes, text in (
        ({}, "rows: does not follow from the arrays: must be given"),
        ({"rows": 2.5}, "rows = 2.5, given: must be a whole number"),
        ({"rows": -1}, "rows = -1, given: must be from 0 to 2147483647"),
        ({"rows": 2, "n": 31}, "a: is [30]: must be [n] = [31], with n = 31 (given)"),
    ):
        with pytest.raises(WorkloadError) as caught:
            device.run(program, {"a": a, **sizes})
        assert str(caught.value) == text


def test_errors_of_a_run_name_the_source(tmp_path: Path, devices: Mapping[str, Device]):
    text = "void f(int n, const int a[n], int b[n]) {\n for (int i = 0; i < n; i++)\n  "
    program = saved(f"{text}b[i] = a[i + 1];\n}}", tmp_path, "next.c")
    with pytest.raises(WorkloadError) as caught:
        devices["sram_b4"].run(program, {"a": np.zeros(5, np.int32)})
    assert str(caught.value) == (
        f"{tmp_path}/next.c:3:10: a: index 5 in dimension 0: must be at least 0 and less than 5"
    )
    gather = f"{text}b[i] = a[b[i]];\n}}"
    program = saved(gather, tmp_path, "gather.c")
    with pytest.raises(WorkloadError, match=rf"^{tmp_path}/gather\.c:3:10: a: index 7 "):
        devices["sram_b4"].run(program, {"a": np.zeros(5, np.int32), "b": np.full(5, 7, np.int32)})


def test_what_a_configuration_cannot_hold_at_once_is_done_by_slabs(
    tmp_path: Path, devices: Mapping[str, Device]
):
    nest = "void f(int n, const int8_t a[n], int8_t b[n]) {\n for (int i = 1; i < n; i++)\n  "
    program = saved(f"{nest}b[i] = a[i] + a[i - 1];\n}}", tmp_path, "add.c", place="memory")
    a = np.random.default_rng(0).integers(-60, 60, 20000, np.int8)
    found = devices["sram_b4"].run(program, {"a": a}).outputs["b"]
    assert (found == np.concatenate([[0], a[1:] + a[:-1]])).all()


def test_what_a_configuration_cannot_hold_is_refused(tmp_path: Path):
    nest = "void f(int n, const int8_t a[n], int8_t b[n]) {\n for (int i = 0; i < n; i++)\n  "
    adding = saved(f"{nest}b[i] = a[i] + a[i];\n}}", tmp_path, "add.c")
    begin = "void f(int n, int8_t a[n]) {\n for (int i = 0; i < n - 1; i++)\n  "
    moving = saved(f"{begin}a[i] = a[i + 1];\n}}", tmp_path, "move.c")
    scan = saved((EXAMPLES / "scan.c").read_text(), tmp_path, "scan.c")
    with Device(load_configuration("sram_b4", ["core_lanes=0", "near_lanes=0"]), "model") as device:
        assert device.run(adding, {"a": np.zeros(200, np.int8)}).cycles
        message = (
            r"move\.c:2:2: banks x arrays = 4 x 16: must be at least 128, .*; nor by slabs: "
            "a: rows are read that another slab writes$"
        )
        with pytest.raises(CapacityError, match=message):
            device.run(moving, {"a": np.zeros(20000, np.int8)})
        with pytest.raises(WorkloadError, match=r"scan\.c:\d+:\d+: .* carried from one "):
            device.run(scan, {"a": np.zeros(20, np.float32)})

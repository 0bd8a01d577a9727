"""What a report says of where statements ran, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.sw.runtime.report.report import Figures
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sram_compute.figures import figures
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.sources import file_workload
from gnarl.sw.workloads.loops.workload import LoopWorkload

pytest.importorskip("egglog")


def workload(text: str, folder: Path, **values: Any) -> LoopWorkload:
    path = folder / "nest.c"
    path.write_text(text)
    found = file_workload(str(path), {})
    return LoopWorkload(found.name, found.nest, values)


def found(given: LoopWorkload, *fields: str, **options: Any) -> Figures:
    with Device(load_configuration("sram_b2", fields), "model") as device:
        result = device.run(device.compile(given, **options), given.inputs)
        assert device.verify(result).bit_exact
        return figures(result.program, result)


def places(given: LoopWorkload, *fields: str, **options: Any) -> Sequence[str]:
    return found(given, *fields, **options).places


def test_what_memory_refuses_is_named_with_the_place_that_takes_it(tmp_path: Path):
    """A dependence that a loop carries, a gather, and an access that is not affine."""
    text = (
        "void f(int n, int a[n], int b[n], int c[n], int x[n], int d[n * n]) {\n"
        " for (int i = 1; i < n; i++) a[i] += a[i - 1];\n"
        " for (int i = 0; i < n; i++) b[i] = c[x[i]];\n"
        " for (int i = 0; i < n; i++) c[i] = d[i * i];\n}"
    )
    values = {name: np.arange(6, dtype=np.int32) for name in "ax"}
    given = workload(text, tmp_path, **values, d=np.arange(36, dtype=np.int32))
    path = tmp_path / "nest.c"
    carried = (
        f"{path}:2:38: a is read here and written at {path}:2:30 by another iteration: its value "
        "is carried from one to the next"
    )
    gathered = (
        "is gathered: must be read where its indices, from the last one on, are those of what is "
        "written, each with a number, or fixed"
    )
    not_affine = f"{path}:1:61: a size of d is not affine in sizes"
    assert places(given, "near_lanes=0") == [
        f"{path}:2:2: 3 statements on the core; not in memory: {carried}; "
        f"{path}:3:37: c {gathered}; {not_affine}"
    ]


def test_sizes_without_room_are_named_with_the_place_that_takes_them(tmp_path: Path):
    text = "void f(int n, int a[n], int b[n]) {\n for (int i = 0; i < n; i++) b[i] = a[i] + 1;\n}"
    path = tmp_path / "nest.c"
    small, large = (workload(text, tmp_path, a=np.arange(n, dtype=np.int32)) for n in (100, 1000))
    assert places(large, place="memory") == [f"{path}:2:2: in memory"]
    assert places(small, place="memory") == [f"{path}:2:2: in memory"]
    assert places(small, place="near") == [f"{path}:2:2: near memory"]
    assert places(small, place="core") == [f"{path}:2:2: on the core"]
    text = "void f(int n, int a[n]) {\n for (int i = 1; i < n; i++) a[i - 1] = a[i];\n}"
    (place,) = places(workload(text, tmp_path, a=np.arange(1000, dtype=np.int32)))
    assert place.endswith(
        "; not in memory: banks x arrays = 2 x 2: must be at least 16, for a lattice of 1008 in "
        "16 tiles of 64 bitlines; nor by slabs: a: rows are read that another slab writes"
    )


def test_remarks_have_what_was_found_of_each_place(tmp_path: Path):
    text = (
        "void f(int n, int a[n], int b[n], int c[n], int x[n]) {\n"
        " for (int i = 0; i < n; i++) b[i] = a[i] + 1;\n"
        " for (int i = 0; i < n; i++) c[i] = a[x[i]] * 3;\n}"
    )
    values = {name: np.arange(1, 7, dtype=np.int32) for name in "abc"}
    given = workload(text, tmp_path, **values, x=np.arange(6, dtype=np.int32))
    (remark,) = found(given).remarks
    place = f"{tmp_path}/nest.c"
    assert remark.startswith(f"{place}:2:2: estimated near ")
    assert " cycles, core " in remark
    assert f" cycles; not in memory: {place}:3:37: a is gathered" in remark
    assert not found(given, "near_lanes=0", place="core").remarks


def test_remarks_have_what_rows_and_banks_have_no_room_for(tmp_path: Path):
    text = "void f(int n, int a[n], int b[n]) {\n for (int i = 0; i < n; i++) b[i] = a[i] + 1;\n}"
    given = workload(text, tmp_path, a=np.arange(1000, dtype=np.int32))
    (slabs,) = found(given, place="memory").remarks
    assert slabs.startswith(f"{tmp_path}/nest.c:2:2: in ")
    assert slabs.endswith(" slabs: banks have no room for its arrays at once")
    names = [f"x{at}" for at in range(5)]
    stores = " ".join(f"{each}[i] = {each}[i] ^ t;" for each in names)
    text = (
        f"void f(int n, {', '.join(f'int {each}[n]' for each in names)}) {{\n"
        f" for (int i = 0; i < n; i++) {{ int t = {' + '.join(f'{each}[i]' for each in names)};\n"
        f"  {stores} }}\n}}"
    )
    arrays = {each: np.arange(20, dtype=np.int32) for each in names}
    (again,) = found(workload(text, tmp_path, **arrays), place="memory").remarks
    assert again.startswith(f"{tmp_path}/nest.c:2:2: ")
    assert "loaded again: wordlines = 128: do not hold all values" in again


def test_commands_without_room_are_named(tmp_path: Path):
    """On the core, a loop has few instructions; in memory, commands for each iteration."""
    text = (
        "void f(int n, int steps, int a[n]) {\n for (int step = 0; step < steps; step++)\n"
        "  for (int i = 0; i < n; i++) a[i] = a[i] + 1;\n}"
    )
    given = workload(text, tmp_path, a=np.arange(40, dtype=np.int32), steps=np.int32(1200))
    place = f"{tmp_path}/nest.c:2:2"
    problem = (
        "memory_bytes = 16384: must be at least 32768, for 1207 units of commands and 3 lines of "
        "arrays"
    )
    with pytest.raises(CapacityError) as caught:
        places(given, "memory_bytes=16384", place="memory")
    assert str(caught.value) == f"{place}: {problem}"
    elsewhere = places(given, "memory_bytes=16384", "near_lanes=0")
    assert elsewhere == [f"{place}: on the core; not in memory: {problem}"]


@pytest.mark.parametrize("place", ["auto", "core", "near"])
def test_arrays_may_have_no_elements(tmp_path: Path, place: str):
    text = (
        "void f(int n, int m, int a[n][m], int b[m], int c[n]) {\n"
        " for (int i = 0; i < n; i++) c[i] = 3;\n"
        " for (int i = 0; i < n; i++)\n  for (int j = 0; j < m; j++)\n   b[j] += a[i][j];\n}"
    )
    given = workload(text, tmp_path, a=np.zeros((4, 0), np.int32))
    with Device("sram_b2", "model") as device:
        result = device.run(device.compile(given, place=place), given.inputs)
    assert result.outputs["b"].shape == (0,)
    assert result.outputs["c"].tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("body", ["", "for (int i = 0; i < n; i++) { int t = a[i]; }"])
def test_nests_without_results_are_refused(tmp_path: Path, body: str):
    given = workload(f"void f(int n, int a[n]) {{ {body} }}", tmp_path, a=np.zeros(4, np.int32))
    with Device("sram_b2", "model") as device, pytest.raises(WorkloadError) as caught:
        device.compile(given)
    assert str(caught.value) == f"{tmp_path}/nest.c:1:6: f writes no array: must write one"

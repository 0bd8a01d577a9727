"""Nests whose statements run in memory, near it and on the core."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sram_compute.target import TARGET
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.sources import file_workload
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.sram_compute.lowered_nests import lowered

pytest.importorskip("egglog")


SMALL = ("banks=1", "arrays=2", "formats=[]")
"""What makes of ``sram_b2`` one that is soon built."""

THREE = """
void three(int n, int a[n], int b[n], int c[n], int index[n]) {
  for (int i = 0; i < n; i++)
    c[i] = a[index[i]] > 0 ? a[index[i]] : 2 * index[i];
  for (int step = 0; step < 32; step++)
    for (int i = 0; i < n; i++)
      b[i] += c[i];
  for (int i = 1; i < n; i++)
    b[i] += c[i - 1] + b[i - 1];
}
"""
"""Each statement reads what the one before has written."""

CORE_ONLY = "void scan(int n, int8_t a[n]) {\n for (int i = 1; i < n; i++) a[i] += a[i - 1];\n}\n"


def workload(text: str, folder: Path, **values: Any) -> LoopWorkload:
    path = folder / "nest.c"
    path.write_text(text)
    found = file_workload(str(path), {})
    return LoopWorkload(found.name, found.nest, values)


def three(folder: Path) -> LoopWorkload:
    chance = np.random.default_rng(4)
    a, index = chance.integers(-99, 99, 120, np.int32), chance.integers(0, 120, 120, np.int32)
    return workload(THREE, folder, a=a, index=index)


def chosen(given: LoopWorkload, config: Any, **options: Any) -> tuple[list[str], list[str]]:
    """All lines of what places cost, and the places that were chosen."""
    texts: list[str] = []
    trace = Trace(write=lambda name, found: texts.append(found["txt"]), only=["place"])
    lowered(given, config, trace, **options)
    lines = texts[0].splitlines()
    return lines, [line.rsplit(" ", 1)[1] for line in lines if line.startswith("chosen: ")]


def engines(commands: Sequence[str]) -> list[str]:
    """What computes, in order, each once in a row."""
    found = [each for each in commands if each in ("compute", "near", "core")]
    return [each for at, each in enumerate(found) if found[at - 1 : at] != [each]]


def test_each_statement_runs_in_a_place_of_its_own(tmp_path: Path):
    given, config = three(tmp_path), load_configuration("sram_b2", SMALL)
    results = []
    for backend in ("model", "rtl"):
        with Device(config, backend) as device:
            result = device.run(device.compile(given), given.inputs)
            assert device.verify(result).bit_exact
            results.append(result)
    commands = [line.split()[0] for line in TARGET.presenter.listing(results[0].program)]
    assert engines(commands) == ["near", "compute", "core"]
    found = results[1].counters
    assert {name: found[name] for name in results[0].counters} == results[0].counters
    for array, wanted in GoldenLoops(given.nest).run(given.binding).items():
        for result in results:
            assert result.outputs[array].tobytes() == wanted.tobytes()


def test_decisions_say_what_each_place_costs(tmp_path: Path):
    lines, places = chosen(three(tmp_path), load_configuration("sram_b2", SMALL).config)
    assert places == ["near", "memory", "core"]
    by_statement = {line.split(": ")[1]: line for line in lines if "chosen" not in line}
    assert "not in memory: " in by_statement["statement 0"]
    assert ", near " in by_statement["statement 0"]
    assert all("core " in line for line in by_statement.values())


def test_without_a_core_stream_engines_take_what_memory_does_not(tmp_path: Path):
    given, named = three(tmp_path), load_configuration("sram_b2", [*SMALL, "core_lanes=0"])
    with Device(named, "model") as device:
        result = device.run(device.compile(given), given.inputs)
        assert device.verify(result).bit_exact
    assert min(result.counters["cycles_near"], result.counters["cycles_compute"]) > 0
    assert result.cycles is not None
    scan = workload(CORE_ONLY, tmp_path, a=np.zeros(20, np.int8))
    with pytest.raises(WorkloadError, match=r"nest\.c:2:"):
        lowered(scan, named.config)


def test_auto_is_the_place_of_the_fewest_cycles(tmp_path: Path):
    """The choice is between memory and stream engines, whose cycles the model has."""
    named = load_configuration("sram_b2", ["core_lanes=0", "wordlines=256", "bitlines=256"])
    text = (
        "void f(int n, int steps, float a[n], float b[n]) {\n"
        " for (int step = 0; step < steps; step++)\n"
        "  for (int i = 0; i < n; i++) b[i] = a[i] + b[i] * 1.5f;\n}"
    )
    places = []
    for n, steps in ((20, 1), (100, 3), (1000, 3), (1000, 12)):
        given = workload(text, tmp_path, a=np.ones(n, np.float32), steps=np.int32(steps))
        cycles = {}
        with Device(named, "model") as device:
            for place in ("memory", "near", "auto"):
                cycles[place] = device.run(device.compile(given, place=place), given.inputs).cycles
        best = min("memory", "near", key=cycles.__getitem__)
        assert cycles["auto"] <= 1.02 * cycles[best]
        places.append(best)
    assert {*places} == {"memory", "near"}


def test_tiles_are_those_of_the_arrays_that_memory_uses(tmp_path: Path):
    """An array that only the core uses does not count: a bitline an element would be too many."""
    path = tmp_path / "more.c"
    path.write_text(
        "void more(int n, int m, int a[n], const int many[m]) {\n"
        "  for (int i = 0; i < n; i++)\n    a[i] += 1;\n}\n"
    )
    nest = file_workload(str(path), {}).nest
    values = {"a": np.arange(20, dtype=np.int32), "many": np.zeros(1000, np.int32)}
    with Device("sram_b2", "model") as device:
        program = device.compile(LoopWorkload("more", nest, values), place="memory")
        result = device.run(program, values)
        assert device.verify(result).bit_exact
    assert result.outputs["a"].tolist() == list(range(1, 21))

"""Programs of several launches, later ones of which read what earlier ones wrote."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.tmu.compile import compile
from gnarl.sw.compiler.tmu.interpreting.interpret import interpret
from gnarl.sw.compiler.tmu.record import read_dump
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.commands import gnarl
from tests.support.tmu.manners import MANNERS

SOURCE = """\
from gnarl.sw.workloads.loops.notation import float32, int32, nest, sizes

rows, lookups, bags, dim = sizes("rows", "lookups", "bags", "dim")


@nest
def steps(
    table: float32[rows, dim],
    indices: int32[lookups],
    offsets: int32[bags + 1],
    scale: float32[dim],
    pooled: float32[bags, dim],
    out: float32[bags, dim],
):
    for b in range(bags):
        for p in range(offsets[b], offsets[b + 1]):
            for e in range(dim):
                pooled[b, e] += table[indices[p], e]
    for b in range(bags):
        for e in range(dim):
            out[b, e] += pooled[b, e] * scale[e]
    for b in range(bags):
        for e in range(dim):
            out[b, e] = max(out[b, e], 0.0)
"""


def workload(seed: int = 0, dim: int = 8, *temporaries: str) -> LoopWorkload:
    rng = np.random.default_rng(seed)
    values = {
        "table": rng.standard_normal((10, dim)).astype(np.float32),
        "indices": rng.integers(0, 10, 6).astype(np.int32),
        "offsets": np.array([0, 2, 2, 6], np.int32),
        "scale": rng.standard_normal(dim).astype(np.float32),
        "out": rng.standard_normal((3, dim)).astype(np.float32),
    }
    nest = read_source(SOURCE, "steps.py")
    return LoopWorkload("steps", nest, values, temporaries=frozenset(temporaries))


def golden(made: LoopWorkload) -> dict[str, np.ndarray]:
    """Results of the whole nest, which has no sum that lanes would add up in another order."""
    return GoldenLoops(made.nest).run(made.binding)


@settings(max_examples=9, deadline=None)
@given(
    st.integers(0, 99),
    st.integers(1, 20),
    st.sampled_from([*MANNERS.values()]),
)
def test_all_levels(seed: int, dim: int, options: dict[str, int]):
    made = workload(seed, dim)
    with Device("tmu_l2", "model") as device:
        program = device.compile(made, **options)
        program.check()
        assert len(program.launches) == (1 if "coupled" in options else 2)
        result = device.run(program, made.inputs)
        verification = device.verify(result)
    assert verification.bit_exact and verification.max_rel_error < 1e-3
    assert {*result.outputs} == {"pooled", "out"}
    for name, array in golden(made).items():
        np.testing.assert_array_equal(result.outputs[name], array)


def test_what_launches_take_and_give():
    made = workload(0, 8, "pooled")
    program = compile(made, TmuConfig(), trace=Trace())
    assert [(each.name, [spec.name for spec in each.inputs]) for each in program.launches] == [
        ("0: pooled", ["table", "indices", "offsets"]),
        ("1: out", ["scale", "pooled", "out"]),
    ]
    assert [spec.name for spec in program.inputs] == [
        "table",
        "indices",
        "offsets",
        "scale",
        "out",
    ]
    assert [spec.name for spec in program.outputs] == ["out"]


@pytest.mark.slow
def test_dumps_go_on_to_the_same_program(tmp_path: Path):
    """Behind every pass; in the interpreter, what they are makes the golden model's bits."""
    config = TmuConfig(lanes=4)
    made = workload(0, 8, "pooled")
    texts: dict[str, str] = {}
    trace = Trace(write=lambda name, found: texts.update({name: found["mlir"]}))
    program = compile(made, config, trace=trace)
    program.save(tmp_path / "p.npz")
    wanted = golden(made)
    for name, text in texts.items():
        dump = read_dump(text, name)
        compile(dump, config, trace=Trace()).save(tmp_path / "q.npz")
        assert (tmp_path / "q.npz").read_bytes() == (tmp_path / "p.npz").read_bytes()
        known = dict(made.inputs)
        for step in dump.steps:
            nest = step.meaning.nest
            own = {each: array for each, array in known.items() if each in nest.arrays}
            arrays = {each: a.copy() for each, a in bind(nest, own).arrays.items()}
            interpret(step.module, arrays, config.lanes)
            known |= {each: arrays[each] for each in nest.results}
        assert known["out"].tobytes() == wanted["out"].tobytes(), name


def test_on_rtl(tmp_path: Path):
    made, out = workload(), tmp_path / "out.npz"
    (tmp_path / "steps.py").write_text(SOURCE)
    tensors = []
    for name, array in made.inputs.items():
        np.save(tmp_path / f"{name}.npy", array)
        tensors += ["--tensor", f"{name}={tmp_path / name}.npy"]
    run = gnarl("run", "tmu_l2", tmp_path / "steps.py", *tensors, "--json", "-o", out)
    assert run.exit_code == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["bit_exact"] and [*report["launches"]] == ["0: pooled", "1: out"]
    assert report["cycles"] == sum(each["cycles"] for each in report["launches"].values())
    for name, array in golden(made).items():
        np.testing.assert_array_equal(np.load(out)[name], array)

"""Dumps and models as workloads of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.tmu.compile import compile
from gnarl.sw.compiler.tmu.record import DumpedWorkload
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.reader import RunArguments
from gnarl.sw.runtime.tmu.sources import source, workload
from tests.support.errors import refused

ROOT = Path(__file__).parents[4]
EXPRESSION = "x(i)=B(i,j)*c(j) -f=x:d -f=B:ds -f=c:d"


def dump(path: Path, text: str, tensors: Mapping[str, str] = {}) -> Path:
    """Behind the first pass."""

    def write(name: str, texts: Mapping[str, str]) -> None:
        path.write_text(texts["mlir"])

    trace = Trace(write=write, only=("scf",))
    compile(workload(source(text, tensors)), TmuConfig(lanes=2), trace=trace)
    return path


def saved(path: Path, array: np.ndarray) -> str:
    np.save(path, array)
    return str(path)


def given(path: Path, tensors: Mapping[str, str]) -> DumpedWorkload:
    found = workload(source(str(path), tensors))
    assert isinstance(found, DumpedWorkload)
    return found


def test_tensors_of_a_dump_are_those_of_its_program(tmp_path: Path) -> None:
    path = dump(tmp_path / "bags.mlir", "embedding_bag:tiny")
    step = given(path, {}).steps[0]
    (spec,) = (each for each in step.meaning.inputs(step.given) if each.name == "table")
    table = saved(tmp_path / "table.npy", np.zeros(spec.shape, np.float32))
    assert given(path, {"table": table}).name == "embedding_bag:tiny"
    row = saved(tmp_path / "row.npy", np.zeros(3, np.float32))
    with refused("tensor table: has 1 dimensions: must have 2"):
        given(path, {"table": row})
    with refused("tensor tables: unknown; the program has table, indices, offsets"):
        given(path, {"tables": table})
    with refused(f"{tmp_path / 'none.npy'}: no such file"):
        given(path, {"table": str(tmp_path / "none.npy")})


def test_operands_of_a_dumped_expression(tmp_path: Path) -> None:
    matrix = np.array([[0, 2, 0], [1, 0, 3]], np.float32)
    tensors = {
        "B": saved(tmp_path / "B.npy", matrix),
        "c": saved(tmp_path / "c.npy", np.ones(3, np.float32)),
    }
    path = dump(tmp_path / "x.mlir", EXPRESSION, tensors)
    assert given(path, tensors).name == given(path, {}).name
    fuller = saved(tmp_path / "fuller.npy", matrix + 1)
    with refused("tensor B_coordinates1: dimension 0 has size 6: must be 3"):
        given(path, {**tensors, "B": fuller})


def test_a_dumped_model_takes_no_tensors(tmp_path: Path) -> None:
    path = dump(tmp_path / "blog.mlir", str(ROOT / "examples" / "float32_model.py:model"))
    with refused("--tensor reader: not supported for models: --values gives tables and inputs"):
        given(path, {"reader": "reader.npy"})


@pytest.mark.parametrize("options", ({}, {"coupled": True}))
def test_the_example_of_a_model(options: Mapping[str, bool]) -> None:
    with Device("tmu_l2", "model") as device:
        model = device.workload(str(ROOT / "examples" / "float32_model.py:model"))
        program = device.compile(model, batch=2, **options)
        inputs = device.target.reader.inputs(program, model, RunArguments())
        assert device.verify(device.run(program, inputs)).bit_exact

"""Loop nests as workloads of in-SRAM computing: from files to compared results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sram_compute.target import TARGET
from gnarl.sw.workloads.loops.workload import LoopWorkload

pytest.importorskip("egglog")

EXAMPLES = Path(__file__).parents[5] / "examples"


def vector(length: int = 40) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(length, np.float32)


@pytest.mark.parametrize("suffix", ["py", "c"])
def test_a_file_runs_on_arrays_of_any_size(tmp_path: Path, suffix: str):
    np.save(tmp_path / "a.npy", vector())
    source = (str(EXAMPLES / f"vec_add.{suffix}"), {"a": str(tmp_path / "a.npy")})
    with Device("sram_b2", "model") as device:
        workload = device.workload(source)
        result = device.run(device.compile(workload), workload.inputs)
    wanted = workload.inputs["a"] + workload.inputs["b"]
    assert result.outputs["c"].tobytes() == wanted.tobytes()


def test_a_saved_program_knows_what_it_means(tmp_path: Path):
    path = tmp_path / "sum.npz"
    with Device("sram_b2", "model") as device:
        workload = device.workload(str(EXAMPLES / "array_sum.py"))
        device.compile(workload, place="memory").save(path)
        program = Program.load(path, lambda target: TARGET.compiler.schema)
        result = device.run(program, {"a": vector(16)})
        assert device.verify(result).bit_exact
    for each in (program, result.program):
        assert TARGET.presenter.dot(each).startswith("digraph {\n")


def test_a_seed_gives_the_same_values():
    source = str(EXAMPLES / "vec_add.c")
    one, other = (TARGET.reader.workload(source, seed=4) for _ in range(2))
    assert one.inputs["a"].tobytes() == other.inputs["a"].tobytes()
    assert one.inputs["a"].shape == (16,)


def test_scalars_are_random_and_results_begin_as_zeros():
    found = TARGET.reader.workload(str(EXAMPLES / "stencil1d.c"))
    assert 1 <= found.inputs["steps"] <= 3
    assert found.inputs["a"].shape == (16,) and not found.inputs["a"].any()
    assert not found.binding.arrays["a"].any()


def test_what_is_no_tensor_computation_is_refused(tmp_path: Path):
    path = tmp_path / "scan.c"
    path.write_text(
        "void scan(int n, const int b[n], float a[n]) {\n"
        " for (int i = 1; i < n; i++) a[b[i]] = 1.0f;\n}"
    )
    with Device("sram_b2", "model") as device:
        workload = device.workload(str(path))
        assert isinstance(workload, LoopWorkload)
        with pytest.raises(WorkloadError) as caught:
            device.compile(workload, place="memory")
    assert str(caught.value) == (
        f"{path}:2:30: a is written where its index in dimension 0 says: must be a loop's variable "
        "and a number, or a number"
    )

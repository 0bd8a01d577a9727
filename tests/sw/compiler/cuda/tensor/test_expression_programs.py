"""Programs of expressions: what they are made for, their files, and their kernels' machine code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import ProgramError
from gnarl.sw.compiler.cuda.compile import compile
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.sections import decode
from gnarl.sw.compiler.cuda.templates.template import INCLUDE
from gnarl.sw.compiler.cuda.tensor.pooled_sum import PooledSumProgram
from gnarl.sw.compiler.cuda.tensor.sampled_product import KERNEL, SampledProductProgram
from gnarl.sw.program.archive import read_archive, write_archive
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.programs import load_program
from gnarl.sw.workloads.tensor.operands import operand
from gnarl.sw.workloads.tensor.workload import TensorWorkload, read_expression
from tests.support.errors import refused

CONFIG = CudaConfig()
POOLED = "X(i,j)=B(i,k)*C(k,j) -f=B:ds"
SAMPLED = "X(i,j)=B(i,j)*C(i,k)*D(j,k) -f=X:ds -f=B:ds"
SUM = "X(i,j)=B(i,k)*C(k,j)+D(i,l)*E(l,j) -f=B:ds -f=D:ds"


def workload(text: str, **shapes: tuple[int, ...]) -> TensorWorkload:
    return read_expression(text, {name: operand(np.ones(shapes[name])) for name in shapes})


def program(text: str, config: CudaConfig = CONFIG, **shapes: tuple[int, ...]) -> Program:
    return compile(workload(text, **shapes), config)


def pooled() -> Program:
    return program(POOLED, C=(30, 8))


def sampled(config: CudaConfig = CONFIG, inner: int = 12) -> Program:
    return program(SAMPLED, config, D=(1, inner))


def test_a_pooled_sum_is_a_model_of_one_feature() -> None:
    compiled = decode(program(SUM, C=(30, 8), E=(5, 8)).launches[0])
    assert isinstance(compiled, PooledSumProgram)
    (feature,) = compiled.embedding.model.features
    assert (feature.name, feature.rows, feature.dim, feature.weighted) == ("X", 35, 8, True)


def test_tables_that_appear_twice_are_there_once() -> None:
    text = "X(i,j)=B(i,k)*C(k,j)+D(i,l)*C(l,j) -f=B:ds -f=D:ds"
    compiled = decode(program(text, C=(30, 8)).launches[0])
    assert isinstance(compiled, PooledSumProgram)
    # Its second name, l, has the same size.
    assert compiled.embedding.model.features[0].rows == 30


def test_rows_are_open_and_other_sizes_fixed() -> None:
    shapes = {spec.name: spec.shape for spec in (*pooled().inputs, *pooled().outputs)}
    assert shapes == {"B": ("i", 30), "C": (30, 8), "X": ("i", 8)}
    shapes = {spec.name: spec.shape for spec in (*sampled().inputs, *sampled().outputs)}
    assert shapes == {"B": ("i", "j"), "C": ("i", 12), "D": ("j", 12), "X": ("i", "j")}


def test_long_rows_get_another_schedule_than_short_ones() -> None:
    def template(row: int) -> str:
        compiled = decode(program(POOLED, B=(200, row), C=(row, 64)).launches[0])
        assert isinstance(compiled, PooledSumProgram)
        return str(compiled.embedding.schedules.schedule(0))

    assert template(1) != template(2000)


@pytest.mark.parametrize(
    ("text", "shapes", "problem"),
    [
        (
            POOLED,
            {},
            "expression, column 15: the size of index k is not known, and the kernel is made for "
            "it: --tensor C=PATH gives it",
        ),
        (
            POOLED,
            {"B": (4, 30)},
            "expression, column 15: the size of index j is not known, and the kernel is made for "
            "it: --tensor C=PATH gives it",
        ),
        (
            SAMPLED,
            {"B": (4, 30)},
            "expression, column 15: the size of index k is not known, and the kernel is made for "
            "it: --tensor C=PATH gives it",
        ),
        (
            POOLED,
            {"C": (30, 4097)},
            "expression, column 15: index j of C(k,j) has size 4,097: must be from 1 to 4,096",
        ),
        (
            POOLED,
            {"C": (30, 0)},
            "expression, column 15: index j of C(k,j) has size 0: must be from 1 to 4,096",
        ),
        (
            SAMPLED,
            {"C": (30, 4097)},
            "expression, column 15: index k of C(i,k) has size 4,097: must be from 1 to 4,096",
        ),
        (
            POOLED,
            {"B": (4, 31), "C": (30, 8)},
            "expression, column 15: index k has size 30 in mode 0 of C, but 31 in mode 1 of B; "
            "it must have one size",
        ),
        (POOLED, {"C": (30, 8), "Q": (1,)}, "tensor Q is not in the expression; it has B, C, X"),
    ],
)
def test_sizes_that_are_wrong(text: str, shapes: dict[str, tuple[int, ...]], problem: str) -> None:
    with refused(problem):
        program(text, **shapes)


def test_schedules_are_for_models() -> None:
    with refused("mine.json: schedules are for models: must be left out"):
        compile(workload(POOLED, C=(30, 8)), CONFIG, schedules=Path("mine.json"))


@pytest.mark.parametrize("make", [pooled, sampled])
def test_a_file_is_the_program(tmp_path: Path, make: Callable[[], Program]) -> None:
    make().save(tmp_path / "a.npz")
    loaded = load_program(tmp_path / "a.npz")
    assert decode(loaded.launches[0]) is decode(make().launches[0])
    assert (loaded.inputs, loaded.outputs) == (make().inputs, make().outputs)


def refusal(folder: Path, make: Callable[[], Program], change: Callable[[Any, Any], None]) -> str:
    """Why a file is refused whose plan, or sections, were changed."""
    path = folder / "changed.npz"
    make().save(path)
    manifest, sections = read_archive(path.read_bytes())
    plan = json.loads(sections["plan"].tobytes())
    change(plan, sections)
    sections["plan"] = np.frombuffer(json.dumps(plan).encode(), np.uint8)
    write_archive(path, manifest, sections)
    with pytest.raises(ProgramError) as caught:
        load_program(path)
    return str(caught.value).removeprefix(f"{path}: ")


def test_plans_that_are_not_as_written(tmp_path: Path) -> None:
    def because(make: Callable[[], Program], **fields: Any) -> str:
        return refusal(tmp_path, make, lambda plan, _: plan.update(fields))

    sizes = "section 'plan': sizes: must be whole numbers, of k, j"
    assert because(pooled, sizes={"k": 30}) == sizes
    assert because(pooled, sizes={"k": 30, "j": 8.0}) == sizes
    assert because(pooled, sizes={"k": 30, "j": 8, "i": 5}) == sizes
    assert because(pooled, statement="X(i,j)=B(i,j)") == (
        "section 'plan': expression, column 8: term B(i,j): not supported by target cuda: must be "
        "a sum of products B(i,k)*C(k,j) or B(i,k)*c(k), or one B(i,j)*C(i,k)*D(j,k)"
    )
    assert because(sampled, statement="X(") == (
        "section 'plan': expression, column 3: the expression ends too early"
    )
    assert because(sampled, statement=7).startswith("section 'plan': cannot be understood: ")
    assert because(sampled, sizes={"k": 16}) == (
        "tensors: must be those of the expression in section 'plan'"
    )
    assert because(pooled, schedules={}).startswith("section 'plan': ")


def test_a_source_that_is_not_what_the_plan_gives(tmp_path: Path) -> None:
    def other(plan: Any, sections: Any) -> None:
        source = sections["source"].tobytes().replace(b"12, 128", b"16, 128")
        sections["source"] = np.frombuffer(source, np.uint8)

    found = refusal(tmp_path, sampled, other)
    assert found.startswith("section 'source': line 5 is ")


def test_codes_of_a_sampled_product(tmp_path: Path) -> None:
    def more(plan: Any, sections: Any) -> None:
        sections["codes"] = np.zeros(1, np.int32)

    assert refusal(tmp_path, sampled, more) == (
        "codes has 1 features: must be 0, as section 'plan'"
    )


@pytest.mark.parametrize(
    ("inner", "format", "vector", "lanes"),
    [
        (1, "float32", 1, 1),
        (2, "float32", 2, 1),
        (12, "float32", 4, 4),
        (64, "float32", 4, 16),
        (4096, "float32", 4, 32),
        (64, "bfloat16", 8, 8),
        (33, "float16", 1, 32),
    ],
)
def test_lanes_of_an_entry(inner: int, format: str, vector: int, lanes: int) -> None:
    compiled = decode(sampled(CudaConfig(format=format), inner).launches[0])
    assert isinstance(compiled, SampledProductProgram)
    assert (compiled.vector, compiled.lanes) == (vector, lanes)
    # Each lane has four entries.
    assert [compiled.blocks(entries) for entries in (0, 1, 512 // lanes, 512 // lanes + 1)] == [
        *(1, 1, 1, 2),
    ]


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize("format", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("inner", [7, 256])
def test_sampled_products_compile_without_spills(arch: str, format: str, inner: int) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="needs gnarl[cuda]")
    from gnarl.sw.compiler.cuda.nvrtc import compile_kernel

    config = CudaConfig(arch=arch, format=format)
    compiled = decode(sampled(config, inner).launches[0])
    assert isinstance(compiled, SampledProductProgram)
    built = compile_kernel(compiled.source, arch, include=[INCLUDE], kernel=KERNEL)
    assert (built.spill_bytes, built.shared_bytes) == (0, 0)
    # Eight loads in flight, 16 bytes each, are half of them.
    assert built.registers <= 80

"""Tensors that are stored once more, to suit an order of loops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.sections import plan_of
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.einsum.text import parse_program
from tests.support.sam.models import compiled, golden, run

TEXT = "A(i,j)=sum[k](B(i,k)*B(k,j)); E(i,j)=A(i,j)*B(j,i) -f=B:ds -f=E:ds"


def matrix(seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed)
    return np.where(noise.random((5, 5)) < 0.5, noise.integers(-8, 9, (5, 5)) / 8, 0)


def remarks(program: Program) -> list[str]:
    return [each for launch in program.launches for each in plan_of(launch.sections).remarks]


def check(program: Program, text: str, tensors: dict[str, np.ndarray]) -> None:
    done = run(program, tensors)
    for name, words in golden(parse_program(text), tensors).items():
        np.testing.assert_array_equal(done.got[name], words)


def test_a_copy_of_a_sparse_tensor_is_sparse() -> None:
    _, launch = compiled(TEXT, {"B": matrix()}).launches
    assert plan_of(launch.sections).kernel.formats["B_1"].notation == "ds:1,0"


@pytest.mark.parametrize("regions", [[], [("A", "E")]])
def test_an_input_that_is_taken_in_both_orders(regions: list[tuple[str, ...]]) -> None:
    tensors = {"B": matrix()}
    program = compiled(TEXT, tensors, regions)
    assert [step.text for step in program.steps] == ["B_1(j,i)=reshape(B(j,i))"]
    assert remarks(program) == ["B_1 is B, stored ds:1,0"]
    check(program, TEXT, tensors)


def test_what_a_region_has_written() -> None:
    text = "T(i,j)=B(i,j)*C(i,j); E(i,j)=T(i,j)+T(j,i) -f=B:ds -f=C:ds -f=E:ds"
    tensors = {"B": matrix(), "C": matrix(1)}
    program = compiled(text, tensors)
    assert remarks(program) == ["T_1 is T, stored ds:1,0"]
    check(program, text, tensors)
    fused = compiled(text, tensors, [("T", "E")])
    assert remarks(fused) == [
        "B_1 is B, stored ds:1,0",
        "C_1 is C, stored ds:1,0",
        "T is computed at each of (i,j), (j,i)",
    ]
    check(fused, text, tensors)


def test_regions_share_a_copy() -> None:
    text = "D(i,j)=B(i,j)+B(j,i); E(i,j)=D(i,j)*B(j,i) -f=B:ds -f=D:ds -f=E:ds -r=D,E"
    program = compiled(text, {"B": matrix()})
    assert [step.output.name for step in program.steps] == ["B_1"]
    assert remarks(program) == ["B_1 is B, stored ds:1,0"] * 2
    check(program, text, {"B": matrix()})


def test_regions_need_copies_in_several_orders() -> None:
    text = (
        "D(i,j,k)=B(i,j,k)+B(j,i,k); E(i,j,k)=D(i,j,k)+B(k,j,i) -f=B:sss -f=D:sss -f=E:sss -r=D,E"
    )
    noise = np.random.default_rng(0)
    tensors = {"B": np.where(noise.random((3, 3, 3)) < 0.5, noise.integers(1, 9, (3, 3, 3)), 0)}
    program = compiled(text, tensors)
    assert remarks(program) == ["B_1 is B, stored sss:1,0,2", "B_2 is B, stored sss:2,1,0"]
    check(program, text, tensors)


def test_a_dense_input_is_stored_once_to_suit_all_places() -> None:
    text = "y(i,j)=sum[k](x(k,i)*x(k,j))"
    tensors = {"x": matrix()}
    program = compiled(text, tensors, [Region(("y",), ("i", "j", "k"))])
    assert remarks(program) == []
    check(program, text, tensors)


def test_an_order_of_the_schedule() -> None:
    text = "y(i,j)=sum[k](B(i,k)*C(k,j)) -f=B:ds -f=C:ss -f=y:ss"
    tensors = {"B": matrix(), "C": matrix(1)}
    program = compiled(text, tensors, [Region(("y",), ("k", "i", "j"))])
    assert remarks(program) == ["B_1 is B, stored ds:1,0"]
    check(program, text, tensors)


def test_names_that_are_taken() -> None:
    text = "E(i,j)=B(i,j)*B(j,i)*B_1(i,j) -f=B:ds -f=B_1:ds -f=E:ds"
    tensors = {"B": matrix(), "B_1": matrix(1)}
    program = compiled(text, tensors)
    assert [step.output.name for step in program.steps] == ["B_2"]
    check(program, text, tensors)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        # Columns that are dense have other points where they are outside.
        ("E(i,j)=B(i,j)+B(j,i) -f=B:sd -f=E:ds", r"j outside of i, as B\(j,i\) is stored sd01"),
        ("E(i,j)=sum[k](B(i,k)*B(k,j)) -f=B:ds -f=E:ds -s=reorder(E:k,i,j)", ""),
    ],
)
def test_what_is_not_copied(text: str, what: str) -> None:
    if what:
        with pytest.raises(WorkloadError, match=f"no order of loops fits: .*{what}"):
            compiled(text, {"B": matrix()})
    with pytest.raises(WorkloadError, match="no order of loops fits: "):
        compiled(text, {"B": matrix()}, copies=False)


def test_the_schedule_that_was_used_gives_the_same_program(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    tensors = {"B": matrix()}
    with Device("sam_fp32", "model") as device:
        workload = device.workload((TEXT, tensors))
        program = device.compile(workload, fuse="full", schedule_out=path)
        again = device.compile(workload, schedule=path)
    assert "# B_1 is B, stored ds:1,0\n" in path.read_text()
    assert [step.text for step in again.steps] == [step.text for step in program.steps]
    assert [each.digest for each in again.launches] == [each.digest for each in program.launches]


@pytest.mark.parametrize("fuse", ["none", "full"])
def test_a_memory_that_launches_share(fuse: str) -> None:
    small = load_configuration("sam_fp32", ("memory=shared",))
    text = "T(i,j)=B(i,j)*C(i,j); E(i,j)=T(i,j)+T(j,i) -f=B:ds -f=C:ds -f=E:ds"
    tensors = {"B": matrix(), "C": matrix(1)}
    with Device(small, "model") as device:
        workload = device.workload((text, tensors))
        program = device.compile(workload, fuse=fuse)
        for seed in (0, 2):
            result = device.run(program, {"B": matrix(seed), "C": matrix(seed + 1)})
            assert device.verify(result).bit_exact
            figures = device.target.presenter.figures(program, result)
    assert len(figures.remarks) == {"none": 2, "full": 4}[fuse]

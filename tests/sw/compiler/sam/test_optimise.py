"""Passes on programs of Einsums: by FileCheck, and that they mean the same."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import numpy as np
import pytest
from hypothesis import settings

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.fuse.choices import PROGRAM_PASSES
from gnarl.sw.compiler.sam.fuse.program_passes import in_one_space, iterated_globally, ordered
from gnarl.sw.compiler.sam.optimise import optimise
from gnarl.sw.golden.einsum import Entries, evaluate, reference
from gnarl.sw.workloads.einsum.check import check as check_program
from gnarl.sw.workloads.einsum.mlir.read import read_mlir
from gnarl.sw.workloads.einsum.mlir.write import program_mlir
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.pure import inlined, pure
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.einsums import FINITE, Case, cases
from tests.support.errors import refused
from tests.support.file_check import check

FILES = sorted((Path(__file__).parent / "filecheck").glob("*.mlir"))


def passes_of(source: str) -> list[str]:
    """Those that the file's first line names."""
    return source.partition("\n")[0].removeprefix("// PASSES: ").split(",")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_pass(file: Path) -> None:
    source = file.read_text()
    result = optimise(source, file.name, passes_of(source), SamConfig())
    assert check(source, result), result
    assert optimise(result, "again.mlir", [], SamConfig()) == result


def test_every_pass_has_a_file() -> None:
    assert {file.stem for file in FILES} == {name.partition("=")[0] for name in PROGRAM_PASSES}


def given(program: EinsumProgram, case: Case) -> dict[str, Tensor]:
    """Tensors for what a pass has left of a case's program."""
    names = {*program.inputs, *(each.name for each in program.statements)}
    return {name: each for name, each in case.tensors.items() if name in names}


@settings(max_examples=25, deadline=None)
@hypothesis.given(cases(3))
def test_exact_passes_leave_every_bit(case: Case) -> None:
    wanted = evaluate(case.program, case.tensors, "float32")
    for run in (pure, inlined, in_one_space):
        program = check_program(run(case.program))
        found = evaluate(program, given(program, case), "float32")
        for result, (coordinates, words) in wanted.items():
            np.testing.assert_array_equal(found[result][0], coordinates)
            np.testing.assert_array_equal(found[result][1], words)


def dense(entries: Entries, size: int = 4) -> np.ndarray:
    """All numbers of a tensor of at most so many coordinates in each dimension."""
    coordinates, values = entries
    found = np.zeros((1, *(size,) * coordinates.shape[1]))
    found[(np.zeros(len(values), np.int64), *coordinates.T)] = values
    return found


@settings(max_examples=25, deadline=None)
@hypothesis.given(cases(3, FINITE, odd=False))
def test_other_passes_only_round_otherwise(case: Case) -> None:
    wanted = reference(case.program, case.tensors)
    for run in (iterated_globally, ordered):
        try:
            program = check_program(run(case.program))
        except WorkloadError as error:
            assert str(error).startswith("no order of loops fits: ")
            continue
        found = reference(program, given(program, case))
        for result, entries in wanted.items():
            np.testing.assert_allclose(dense(found[result]), dense(entries), rtol=1e-9, atol=1e-9)


@settings(max_examples=30, deadline=None)
@hypothesis.given(cases())
def test_what_is_in_one_space_stays_as_it_is(case: Case) -> None:
    once = in_one_space(case.program)
    assert in_one_space(once) == once


def test_orders_that_are_chosen_stay_in_one_space() -> None:
    orders = "-s=reorder(t:j,i) -s=reorder(y:l,k)"
    once = in_one_space(parse_program(f"t(i,j)=B(i,j)*2; y=sum[k,l](t(k,l)) {orders}"))
    assert {each.order for each in once.einsums} == {("l", "k")}


def test_passes_one_after_the_other() -> None:
    program = parse_program("t(i,m)=sum[k](A(i,k)*X(k,m)); y(i,j)=relu(sum[m](t(i,m)*W(m,j)))")
    names = ["associate=A*(X*W)", "pure", "views"]
    text = optimise(program_mlir(program), "x.mlir", names, SamConfig())
    assert program_text(read_mlir(text)).startswith(
        "t(k,j)=sum[m](X(k,m)*W(m,j)); y_sum(i,j)=sum[k](A(i,k)*t(k,j)); y(i,j)=relu(y_sum(i,j)) "
    )


MOVED = (
    "t(i,j)=exp(A(i,j)); r(k)=reshape(t(i,j)); u(k)=relu(r(k)); y(k)=u(k)*exp(sum[l](B(l,k))) "
    "-f=A:ss -f=B:ss"
)


def test_what_is_moved_stays_as_it_is() -> None:
    program = parse_program(MOVED)
    split = pure(program)
    assert [each.name for each in split.statements] == ["t", "r", "u", "y_sum", "y"]
    assert [each.name for each in inlined(split).statements] == ["t", "r", "y_sum", "y"]
    assert split.rearrangements == inlined(split).rearrangements == program.rearrangements
    text = program_mlir(program)
    for name in ("views", "global", "order"):
        with pytest.raises(
            WorkloadError,
            match=r"^x\.mlir:\d+:\d+: r is a reshape, which shares no loops with others: must be",
        ):
            optimise(text, "x.mlir", [name], SamConfig())
    moved = read_mlir(optimise(text, "x.mlir", ["pure", "inline"], SamConfig()))
    assert moved.rearrangements == program.rearrangements


TRANSPOSED = program_mlir(parse_program("y(i,j)=A(i,j)+A(j,i) -f=A:ss"))


@pytest.mark.parametrize(
    ("text", "name", "problem"),
    [
        (
            "",
            "frob",
            f"pass frob: must be one of {', '.join(PROGRAM_PASSES)}",
        ),
        ("", "associate", f"pass associate: must be one of {', '.join(PROGRAM_PASSES)}"),
        ("", "pure=3", f"pass pure=3: must be one of {', '.join(PROGRAM_PASSES)}"),
        (
            TRANSPOSED,
            "associate=A*(X*W)",
            "x.mlir: associate 'A*(X*W)': the model has no product of just A, W, X",
        ),
        (
            TRANSPOSED,
            "order",
            "x.mlir: no order of loops fits: i outside of j, as A(i,j) is stored ss01; j outside "
            "of i, as A(j,i) is stored ss01; cut the region",
        ),
        ("", "pure", "x.mlir: must have one function, which has a body"),
    ],
)
def test_refusals(text: str, name: str, problem: str) -> None:
    with refused(problem):
        optimise(text or "builtin.module {\n}\n", "x.mlir", [name], SamConfig())


def test_an_error_in_a_program_names_its_line() -> None:
    text = """func.func @f(%a: tensor<?x?xf32>, %e: tensor<?xf32>) -> tensor<?xf32> {
  %t = linalg.exp ins(%a : tensor<?x?xf32>) outs(%a : tensor<?x?xf32>) -> tensor<?x?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i, i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%t : tensor<?x?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
"""
    with refused(
        "x.mlir:3:3: statement y: index i appears twice in t(i,i); a diagonal cannot be read or "
        "written, use an index for each mode"
    ):
        optimise(text, "x.mlir", ["views"], SamConfig())

"""Patterns: statements that say where elements of a tensor compare with a number."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.workloads.einsum.mlir.read import read_mlir
from gnarl.sw.workloads.einsum.mlir.write import program_mlir
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from tests.support.errors import refused
from tests.support.sam.models import compiled, run

T = np.array([[1.0, 0, 2], [0, 0, -3]])
X = np.arange(1.0, 7).reshape(2, 3)


@pytest.mark.parametrize(
    ("how", "kept"),
    [
        ("ne:0", T != 0),
        ("eq:0", T == 0),
        ("gt:-0.1", T > -0.1),
        ("le:0", T <= 0),
        ("ge:2", T >= 2),
        ("lt:-5", T < -5),
    ],
)
def test_texts_mlir_and_machines(how: str, kept: np.ndarray) -> None:
    program = parse_program(f"p(j,i)=pattern[{how}](t(i,j)); y(j,i)=p(j,i)*x(i,j)")
    assert parse_program(program_text(program)) == program
    assert read_mlir(program_mlir(program)).statements == program.statements
    for place in ([], [("y",)]):
        done = run(compiled(program, {"t": T, "x": X}, place), {"t": T, "x": X})
        np.testing.assert_array_equal(done.got["p"], done.meant["p"])
        np.testing.assert_array_equal(done.got["y"].view(np.float32), (kept * X).T)


@pytest.mark.parametrize(
    ("how", "kept"),
    [("gt:0.1", [0, 1, 0]), ("eq:0.1", [1, 0, 0]), ("le:0.1", [1, 0, 1]), ("lt:1e300", [1, 1, 1])],
)
def test_numbers_are_compared_as_machines_have_them(how: str, kept: list[int]) -> None:
    """0.1 in float32 is above 0.1, and equals what float32 has for it."""
    program = parse_program(f"p(i)=pattern[{how}](t(i)); y(i)=p(i)*x(i)")
    inputs = {"t": np.array([0.1, 0.2, -0.1]), "x": np.ones(3)}
    done = run(compiled(program, inputs), inputs)
    np.testing.assert_array_equal(done.got["p"], done.meant["p"])
    np.testing.assert_array_equal(done.got["y"].view(np.float32), kept)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("p(j)=pattern[eq:0](t(i,j))", "column 1: p(j) and t(i,j) must have the same indices"),
        (
            "p(i)=pattern[zz:0](t(i))",
            "column 20: pattern[zz:0]: must compare by one of eq, ne, lt, le, gt, ge",
        ),
        ("p(i)=pattern[eq](t(i))", "column 16: expected :, found ']'"),
        ("p(i)=pattern[eq:x](t(i))", "column 17: expected a number, found 'x'"),
        ("p(i)=pattern[eq:0](t(i),s(i))", "column 1: pattern is of 2 tensors: must be of one"),
    ],
)
def test_what_is_no_pattern_is_refused(statement: str, problem: str) -> None:
    with refused(f"statement p, {problem}"):
        parse_program(f"{statement}; y=sum[i](p(i))")

"""Einsum programs as MLIR: what is written, and that it is read as the same."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.mlir.read import read_mlir
from gnarl.sw.workloads.einsum.mlir.write import program_mlir
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from gnarl.sw.workloads.tensor.expression_parser import MAX_OPERANDS
from tests.support.einsums import Case, cases
from tests.support.file_check import check

LAYER = """
// CHECK: func.func @h(%A: tensor<?x?xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense,
// CHECK-SAME: d1 : compressed) }>>, %F: tensor<?x?xf32>) -> tensor<?x?xf32, #sparse_tensor.encoding
// CHECK-SAME: <{ map = (d0, d1) -> (d1 : bitvector, d0 : dense) }>>
// CHECK-SAME: attributes {inputs = ["A", "F"]}
// CHECK-NEXT: %[[C1:[^ ]*]] = arith.constant 1 : index
// CHECK-NEXT: %[[C0:[^ ]*]] = arith.constant 0 : index
// CHECK: %[[I:.*]] = tensor.dim %A, %[[C0]] :
// CHECK: %[[M:.*]] = tensor.dim %F, %[[C1]] :
// CHECK: %[[EMPTY:.*]] = tensor.empty(%[[I]], %[[M]])
// CHECK: %[[INIT:.*]] = linalg.fill ins(%[[ZERO:.*]] : f32) outs(%[[EMPTY]] :
// CHECK: %[[SUM:.*]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
// CHECK-SAME: affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
// CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]} ins(%A, %F :
// CHECK-SAME: outs(%[[INIT]] :
// CHECK-SAME: attrs = {statement = "h", indices = ["i", "m", "k"]}
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[X:.*]], %[[Y:.*]] : f32
// CHECK-NEXT: %[[TOTAL:.*]] = arith.addf %[[ACC:.*]], %[[PRODUCT]] : f32
// CHECK-NEXT: linalg.yield %[[TOTAL]]
// CHECK: %h = linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel"]} ins(%[[SUM]] :
// CHECK-SAME: attrs = {statement = "h", indices = ["i", "m"], order = ["i", "k", "m"]}
// CHECK: %[[Z:.*]] = arith.constant 0.0
// CHECK-NEXT: arith.maximumf %[[S:.*]], %[[Z]] : f32
// CHECK: func.return %h
"""


def test_a_layer() -> None:
    program = parse_program(
        "h(i,m)=relu(sum[k](A(i,k)*F(k,m))) -f=A:ds -f=h:bd:1,0 -s=reorder(h:i,k,m)"
    )
    text = program_mlir(program).replace("attrs =  {", "attrs = {")
    checks = LAYER.replace("encoding\n// CHECK-SAME: <", "encoding\n// CHECK-SAME: <")
    assert check(checks, text), text
    assert read_mlir(text) == program


@settings(max_examples=40)
@given(cases(3, moving=True, stored=True))
def test_programs_are_read_as_they_are_written(case: Case) -> None:
    assert read_mlir(program_mlir(case.program)) == case.program


@pytest.mark.parametrize(
    "expression",
    [
        *(f"{name}(a)" for name in ("relu", "exp", "sqrt", "tanh", "log")),
        *("reciprocal(a)", "sigmoid(a)", "gelu(a)", "gelu(0.5)", "sigmoid(gelu(a))", "-a/b"),
        "max(a,0)",
        "max(0,a)",
        "1/a",
        "1/(1+exp(-a))",
        "reciprocal(1+exp(-a))",
        "max[k](relu(c(k)))+sum[k](c(k))",
        "0.1*a",
        "a*a",
        "(-0.0)+2",
    ],
)
def test_functions_that_look_alike_stay_apart(expression: str) -> None:
    program = parse_program(f"x={expression}")
    assert read_mlir(program_mlir(program)) == program


@pytest.mark.parametrize(
    ("expression", "others"), [("{}", 0), ("gelu({})", 1), ("sigmoid({})", 1), ("max({},0)", 2)]
)
def test_expressions_are_as_long_as_in_texts(expression: str, others: int) -> None:
    text = f"x={expression.format('+'.join(['a'] * (MAX_OPERANDS - others)))}"
    assert program_text(read_mlir(program_mlir(parse_program(text)))).startswith(
        text.replace(",0)", ",0.0)")
    )


def test_numbers_are_f64_where_f32_does_not_have_them() -> None:
    assert "f64" not in program_mlir(parse_program("x=a*0.5"))
    assert "f32" not in program_mlir(parse_program("x=a*0.1"))


def test_names_may_be_any() -> None:
    program = replace(parse_program("x_1=a_2*a_3; y_1=x_1"), name="my model, twice")
    assert read_mlir(program_mlir(program)) == program


def test_sizes_that_no_operand_has_are_those_of_an_argument() -> None:
    program = parse_program("x(i,j)=sum[k](B(i,k)); y(j)=2")
    text = program_mlir(program)
    assert 'inputs = ["B", "x", "y"]' in text
    assert read_mlir(text) == program


def test_sizes_of_what_is_moved_are_written() -> None:
    """Readers of the project's go by names alone."""
    program = parse_program("x(i,j)=concat(A(i,k),b(i)); y(i)=reshape(s); z(i,j)=x(i,j)*y(i)")
    text = program_mlir(program)
    checks = """
    // CHECK: %[[SIZE:[0-9]+]] = tensor.dim %b, %
    // CHECK: %[[ONE:[0-9]+]] = arith.constant 1 : index
    // CHECK: tensor.expand_shape %{{.*}} output_shape [%[[SIZE]], %[[ONE]]]
    // CHECK: tensor.from_elements %{{.*}} : tensor<1xf32>
    """
    assert check(checks, text), text
    assert read_mlir(text) == program


def test_what_is_moved_is_copied_in_another_order() -> None:
    program = parse_program("r(j,i)=reshape[j:2](t(i,k)); y=sum[i,j](r(i,j))")
    text = program_mlir(program)
    assert read_mlir(text) == program
    copy = r"(\(%\w+: f32, (%\w+): f32\):\s*linalg.yield) %\w+"
    of_output, count = re.subn(copy, r"\1 \2", text)
    assert count == 1
    with pytest.raises(
        WorkloadError,
        match="linalg.generic: must copy what was moved, with its dimensions in another order$",
    ):
        read_mlir(of_output)


def test_layers_are_kept() -> None:
    program = parse_program("x=a; y=x")
    statements = tuple(replace(each, layer=f"conv{each.name}") for each in program.statements)
    found = read_mlir(program_mlir(replace(program, statements=statements)), "m.mlir")
    assert [each.layer for each in found.statements] == ["convx", "convy"]
    assert [each.place.split(":")[0] for each in found.statements] == ["m.mlir", "m.mlir"]

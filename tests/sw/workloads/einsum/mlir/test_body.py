"""Bodies of structured operations that others wrote, and those that are no expressions."""

from __future__ import annotations

import pytest

from gnarl.sw.workloads.einsum.mlir.read import read_mlir
from gnarl.sw.workloads.einsum.text import program_text
from tests.support.errors import refused

ELEMENTWISE = """\
func.func @f(%a: tensor<4x4xf32>, %v: tensor<4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {{
  %e = tensor.empty() : tensor<4x4xf32>
  %p = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
      affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}}
      ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) attrs = {{{part}}} {{
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  }} -> tensor<4x4xf32>
  %y = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
      affine_map<(d0, d1) -> ({map})>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "{kind}"]}}
      ins({ins}, %v : tensor<4x4xf32>, tensor<4xf32>) outs({outs} : tensor<4x4xf32>)
      attrs = {{{whole}}} {{
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    {body}
  }} -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}}
"""
OF_OUTPUT = "%0 = arith.addf %in, %out : f32 linalg.yield %0 : f32"
ADDED = "%0 = arith.addf %in, %in_1 : f32 linalg.yield %0 : f32"


def elementwise(
    body: str = ADDED,
    map: str = "d0",
    kind: str = "parallel",
    ins: str = "%a",
    outs: str = "%e",
    part: str = "",
    whole: str = "",
) -> str:
    return ELEMENTWISE.format(
        body=body, map=map, kind=kind, ins=ins, outs=outs, part=part, whole=whole
    )


REDUCTION = """\
func.func @f(%a: tensor<4x4xf32>) -> tensor<4xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %y = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
      affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}}
      ins(%a : tensor<4x4xf32>) outs({outs} : tensor<4xf32>) {{
  ^bb0(%in: f32, %out: f32):
    {body}
  }} -> tensor<4xf32>
  return %y : tensor<4xf32>
}}
"""
REDUCES = "a reduction must yield arith.addf or arith.maximumf of its output"
DOUBLED = "%x0 = arith.addf %in, %in : f32" + "".join(
    f" %x{number + 1} = arith.addf %x{number}, %x{number} : f32" for number in range(60)
)
LONG = "%x0 = arith.addf %in, %c : f32" + "".join(
    f" %x{number + 1} = arith.addf %x{number}, %in : f32" for number in range(299)
)
"""Sums of 2 ** 61 operands, and of 301."""
SUM = "%0 = arith.addf %in, %out : f32 linalg.yield %0 : f32"


def read(text: str) -> str:
    return program_text(read_mlir(text, "a.mlir")).partition(" -")[0]


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        (elementwise(), "p(i,j)=exp(a(i,j)); y(i,j)=a(i,j)+v(i)"),
        (elementwise(map="d1"), "p(i,j)=exp(a(i,j)); y(i,j)=a(i,j)+v(j)"),
        (
            elementwise(OF_OUTPUT, outs="%b"),
            "p(i,j)=exp(a(i,j)); y(i,j)=a(i,j)+b(i,j)",
        ),
        (  # a number that is no real one may be there, if nothing takes it
            elementwise("%c = arith.constant 3 : i32 " + ADDED),
            "p(i,j)=exp(a(i,j)); y(i,j)=a(i,j)+v(i)",
        ),
        (
            elementwise(
                ins="%p", part='statement = "y"', whole='statement = "y", indices = ["i", "j"]'
            ),
            "y(i,j)=exp(a(i,j))+v(i)",
        ),
    ],
)
def test_bodies_that_are_expressions(text: str, statements: str) -> None:
    assert read(text) == statements


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            elementwise(map="0"),
            "affine_map<(d0, d1) -> (0)> must have loops, not what is computed of them",
        ),
        (elementwise(kind="reduction"), "loop j must be parallel, as the output's map has it"),
        (elementwise(ins="%e"), "an operand must be a tensor or a number that is known"),
        (
            elementwise(OF_OUTPUT),
            "what its output holds must be known, and only be reduced with",
        ),
        (
            elementwise(
                ins="%p",
                part='statement = "y", indices = ["i", "j"]',
                whole='statement = "y", indices = ["j", "i"]',
            ),
            "parts of a statement must have indices of the same names",
        ),
        (elementwise("linalg.yield %in, %in : f32, f32"), "its body must yield one number"),
        (elementwise("tensor.yield %in : f32"), "its body must yield one number"),
        (
            elementwise(
                "%0 = arith.constant 0x7F800000 : f32 %1 = arith.addf %in, %0 : f32 "
                "linalg.yield %1 : f32"
            ),
            "inf must be finite",
        ),
        (
            elementwise("%c = arith.constant 3 : i32 linalg.yield %c : i32"),
            "an operand must be a tensor or a number that is known",
        ),
        (
            elementwise(f"{DOUBLED} %y = math.absf %x60 : f32 linalg.yield %y : f32"),
            "its expression has more than 300 operands",
        ),
        (
            elementwise(f"%c = arith.constant 3.0 : f32 {LONG} linalg.yield %x299 : f32"),
            "its expression has more than 300 operands",
        ),
        (
            elementwise(
                '%0 = arith.addf %in, %in_1 {function = "relu"} : f32 linalg.yield %0 : f32'
            ),
            "arith.addf is not relu, as its attribute has it",
        ),
        (
            elementwise("%0 = math.erf %in : f32 %1 = math.exp %0 : f32 linalg.yield %1 : f32"),
            "math.erf is only supported in x * 0.5 * (1 + erf(x / sqrt(2)))",
        ),
    ],
)
def test_bodies_that_are_no_expressions(text: str, problem: str) -> None:
    with refused(f"a.mlir:10:3: linalg.generic: {problem}"):
        read(text)


@pytest.mark.parametrize(
    ("body", "outs", "problem"),
    [
        ("linalg.yield %in : f32", "%zeros", REDUCES),
        ("%0 = arith.addf %in, %in : f32 linalg.yield %0 : f32", "%zeros", REDUCES),
        ("%0 = arith.subf %in, %out : f32 linalg.yield %0 : f32", "%zeros", REDUCES),
        (SUM, "%empty", "a reduction must begin with a number or tensor that is known"),
    ],
)
def test_what_is_no_reduction(body: str, outs: str, problem: str) -> None:
    assert read(REDUCTION.format(body=SUM, outs="%zeros")) == "y(i)=sum[j](a(i,j))"
    with refused(f"a.mlir:5:3: linalg.generic: {problem}"):
        read(REDUCTION.format(body=body, outs=outs))

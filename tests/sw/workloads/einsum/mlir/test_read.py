"""MLIR that others wrote, and what is no Einsum program."""

from __future__ import annotations

import random
import re

import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.mlir.read import read_mlir
from gnarl.sw.workloads.einsum.mlir.write import program_mlir
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from tests.support.errors import refused

MODEL = """\
#CSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed), posWidth = 32 }>
#id = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @layer(%arg0: tensor<8x16xf32, #CSR>, %w: tensor<16x4xf32>, %i: tensor<8x4xf32>)
      -> tensor<8x4xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x4xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
    %mm = linalg.matmul ins(%arg0, %w : tensor<8x16xf32, #CSR>, tensor<16x4xf32>)
        outs(%init : tensor<8x4xf32>) -> tensor<8x4xf32>
    %acc = linalg.matmul ins(%arg0, %w : tensor<8x16xf32, #CSR>, tensor<16x4xf32>)
        outs(%i : tensor<8x4xf32>) -> tensor<8x4xf32>
    %s = linalg.add ins(%mm, %acc : tensor<8x4xf32>, tensor<8x4xf32>)
        outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%s : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %r = arith.maximumf %in, %zero : f32
      linalg.yield %r : f32
    } -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
"""


def test_a_model_without_names() -> None:
    program = read_mlir(MODEL)
    assert program_text(program) == (
        "mm(j,k)=sum[l](arg0(j,l)*w(l,k)); acc(j,k)=i(j,k)+sum[l](arg0(j,l)*w(l,k)); "
        "s(j,k)=mm(j,k)+acc(j,k); t0(j,k)=relu(s(j,k)) "
        "-f=arg0:ds:0,1 -f=w:dd:0,1 -f=i:dd:0,1 -f=t0:dd:0,1"
    )
    assert program.name == "layer"
    assert {each.layer for each in program.statements} == {""}


GENERIC = """\
func.func @f(%a: tensor<?x?xf32>, %o: tensor<?xf32>, %s: f32) -> tensor<?xf32> {{
  %one = arith.constant 1.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %full = linalg.fill ins(%low : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %start = tensor.cast %full : tensor<4xf32> to tensor<?xf32>
  %x = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> ({map})>,
      affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}}
      ins(%a : tensor<?x?xf32>) outs({outs} : tensor<?xf32>) {{
  ^bb0(%in: f32, %out: f32):
    {body}
  }} -> tensor<?xf32>
  return {result} : tensor<?xf32>
}}
"""
LONG = "%x0 = arith.addf %in, %in : f32" + "".join(
    f" %x{number + 1} = arith.addf %x{number}, %in : f32" for number in range(299)
)
"""A sum of 301 operands."""
MAX = "%1 = arith.maximumf %in, %out : f32 linalg.yield %1 : f32"
SUM = "%1 = arith.addf %out, %in : f32 linalg.yield %1 : f32"


def generic(body: str, outs: str = "%o", map: str = "d0, d1", result: str = "%x") -> str:
    return GENERIC.format(body=body, outs=outs, map=map, result=result)


@pytest.mark.parametrize(
    ("body", "outs", "expression"),
    [
        (MAX, "%start", "max[j](a(i,j))"),
        (MAX, "%o", "max(o(i),max[j](a(i,j)))"),
        (SUM, "%o", "o(i)+sum[j](a(i,j))"),
        (
            "%1 = arith.mulf %in, %s : f32 %2 = arith.addf %1, %out : f32 linalg.yield %2 : f32",
            "%o",
            "o(i)+sum[j](a(i,j)*s)",
        ),
        (
            "%1 = math.exp %one : f32 %2 = arith.addf %out, %1 : f32 linalg.yield %2 : f32",
            "%o",
            None,
        ),
    ],
)
def test_reductions_begin_with_what_the_output_holds(
    body: str, outs: str, expression: str | None
) -> None:
    text = generic(body, outs)
    if expression is None:
        with pytest.raises(WorkloadError, match="index j is not in what is reduced"):
            read_mlir(text)
    else:
        assert program_text(read_mlir(text)).startswith(f"x(i)={expression} ")


def test_maxima_of_what_is_stored_alone_have_an_attribute() -> None:
    def read(attribute: str) -> str:
        text = "#CSR = #sparse_tensor.encoding<{map = (a, b) -> (a : dense, b : compressed)}>\n"
        text += generic(MAX, "%start").replace("x?xf32>", "x?xf32, #CSR>")
        text = text.replace(" {\n  ^bb0", f' attrs = {{reduction = "{attribute}"}} {{\n  ^bb0')
        return program_text(read_mlir(text))

    assert read("greatest").startswith("x(i)=greatest[j](a(i,j)) -f=a:ds")
    problem = "<text>:8:3: linalg.generic: reduction least: must be greatest, of a maximum"
    with pytest.raises(WorkloadError, match=problem):
        read("least")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("module {}", "a.mlir: must have one function, which has a body"),
        ("func.func private @f()", "a.mlir: must have one function, which has a body"),
        (
            generic(SUM.replace("arith.addf", "arith.mulf")),
            "a.mlir:7:3: linalg.generic: a reduction must yield arith.addf or arith.maximumf of "
            "its output",
        ),
        (
            generic("%1 = math.erf %in : f32 %2 = arith.addf %out, %1 : f32 linalg.yield %2 : f32"),
            "a.mlir:7:3: linalg.generic: math.erf is only supported in "
            "x * 0.5 * (1 + erf(x / sqrt(2)))",
        ),
        *(
            (
                generic(
                    f"%0 = arith.constant {half} : f32 %1 = arith.mulf %in, %0 : f32 "
                    f"%2 = arith.constant {root} : f32 %3 = arith.divf %in, %2 : f32 "
                    "%4 = math.erf %3 : f32 %5 = arith.addf %4, %one : f32 "
                    "%6 = arith.mulf %1, %5 : f32 %7 = arith.addf %out, %6 : f32 "
                    "linalg.yield %7 : f32"
                ),
                "a.mlir:7:3: linalg.generic: math.erf is only supported in "
                "x * 0.5 * (1 + erf(x / sqrt(2)))",
            )
            for half, root in (("0.25", "1.41421354"), ("0.5", "1.5"))
        ),
        (
            "func.func @f(%a: tensor<4xf32>, %x: f32) -> tensor<4xf32> {\n"
            "  %i = arith.constant 0 : index\n"
            "  %r = tensor.insert %x into %a[%i] : tensor<4xf32>\n"
            "  return %r : tensor<4xf32>\n}",
            "a.mlir:3:3: tensor.insert: is not supported in an Einsum program",
        ),
        (
            generic("%1 = math.sin %in : f32 %2 = arith.addf %out, %1 : f32 linalg.yield %2 : f32"),
            "a.mlir:7:3: linalg.generic: math.sin is not supported in its body",
        ),
        (
            generic("%1 = arith.addf %out, %out : f32 linalg.yield %1 : f32"),
            "a.mlir:7:3: linalg.generic: what its output holds must be known, and only be reduced "
            "with",
        ),
        (
            generic(SUM, result="%o"),
            "program: result o is not computed",
        ),
        (
            generic(SUM, result="%start"),
            "a.mlir:13:3: func.return: must return what linalg operations compute",
        ),
        (
            "func.func @f(%a: tensor<?xf32, #sparse_tensor.encoding<{ map = (d0) -> (d0 : singleton"
            ") }>>) { return }",
            None,
        ),
        (
            generic(f"{LONG} %1 = arith.addf %x299, %out : f32 linalg.yield %1 : f32"),
            "a.mlir:7:3: linalg.generic: its expression has more than 300 operands",
        ),
        (generic("%1 = arith.constant"), None),
        ("#", None),
    ],
)
def test_what_is_no_program(text: str, problem: str | None) -> None:
    if problem is None:
        with pytest.raises(WorkloadError, match=r"^a\.mlir:\d+:\d+: \S[^\n]*$"):
            read_mlir(text, "a.mlir")
    else:
        with refused(problem):
            read_mlir(text, "a.mlir")


def test_damaged_texts_are_read_or_refused_in_one_line() -> None:
    rng = random.Random(1)
    written = program_mlir(parse_program("t(i)=gelu(sum[k](A(i,k)/b)); x=max[i](t(i)) -f=A:ds"))
    for _ in range(60):
        words = re.findall(r"\s+|\w+|[^\w\s]", rng.choice((MODEL, written)))
        at = rng.randrange(len(words))
        words[at : at + rng.randint(0, 1)] = rng.choices(words, k=rng.randint(0, 1))
        try:
            read_mlir("".join(words), "a.mlir")
        except WorkloadError as error:
            assert "\n" not in str(error)


MOVING = """\
func.func @f(%a: tensor<4x3x6xf32>, %b: tensor<2x3x6xf32>, %s: tensor<f32>) -> tensor<4x18xf32> {
  %one = arith.constant 1 : index
  %joined = tensor.collapse_shape %a [[0], [1, 2]] : tensor<4x3x6xf32> into tensor<4x18xf32>
  %split = tensor.expand_shape %joined [[0], [1, 2]] output_shape [4, 6, 3]
      : tensor<4x18xf32> into tensor<4x6x3xf32>
  %both = tensor.concat dim(0) %a, %b : (tensor<4x3x6xf32>, tensor<2x3x6xf32>) -> tensor<6x3x6xf32>
  %part = tensor.extract_slice %both[0, 0, 1] [6, 3, 2] [1, 1, 3]
      : tensor<6x3x6xf32> to tensor<6x3x2xf32>
  %row = tensor.extract_slice %part[5, 0, 0] [1, 3, 2] [1, 1, 1]
      : tensor<6x3x2xf32> to tensor<3x2xf32>
  %element = tensor.extract %s[] : tensor<f32>
  %spread = tensor.from_elements %element : tensor<1x1xf32>
  return %joined : tensor<4x18xf32>
}
"""


def test_what_moves_elements() -> None:
    program = read_mlir(MOVING)
    assert {each.layer for each in program.statements} == {""}
    assert program_text(program).partition(" -")[0] == (
        "joined(i,l)=reshape(a(i,j,k)); split(i,k,l)=reshape[k:6,l:3](joined(i,j)); "
        "both(i,j,k)=concat(a(l,j,k),b(m,j,k)); part(i,j,l)=slice[k:1:5:3](both(i,j,k)); "
        "row(j,k)=slice[i:5:6](part(i,j,k)); spread(i,j)=reshape[j:1](s)"
    )


@pytest.mark.parametrize(
    ("operation", "problem"),
    [
        (
            "tensor.collapse_shape %a [[0, 1], [2, 3]] : tensor<?x?x?x?xf32> into tensor<?x?xf32>",
            "tensor.collapse_shape: must join dimensions to one",
        ),
        (
            "tensor.expand_shape %a [[0, 1], [2, 3], [4], [5]] output_shape [2, %n, 2, %n, %n, %n] "
            ": tensor<?x?x?x?xf32> into tensor<2x?x2x?x?x?xf32>",
            "tensor.expand_shape: must split one dimension",
        ),
        (
            "tensor.extract_slice %a[0, 0, 0, 0] [2, %n, %n, %n] [1, 2, 1, 1] "
            ": tensor<?x?x?x?xf32> to tensor<2x?x?x?xf32>",
            "tensor.extract_slice: must take a part of one dimension, whose bounds are numbers",
        ),
        (
            "tensor.extract_slice %a[0, 0, 0, 0] [1, 2, %n, %n] [1, 1, 1, 1] "
            ": tensor<?x?x?x?xf32> to tensor<1x2x?x?xf32>",
            "tensor.extract_slice: must take a part of one dimension, whose bounds are numbers",
        ),
        (
            "tensor.extract_slice %a[%n, 0, 0, 0] [2, %n, %n, %n] [1, 1, 1, 1] "
            ": tensor<?x?x?x?xf32> to tensor<2x?x?x?xf32>",
            "tensor.extract_slice: must take a part of one dimension, whose bounds are numbers",
        ),
        (
            "tensor.extract_slice %a[1, 0, 0, 0] [%n, 2, %n, %n] [1, 1, 1, 1] "
            ": tensor<?x?x?x?xf32> to tensor<?x2x?x?xf32>",
            "tensor.extract_slice: must take a part of one dimension, whose bounds are numbers",
        ),
        (
            "tensor.from_elements %x, %x : tensor<2xf32>",
            "tensor.from_elements: must be of one element",
        ),
        (
            "tensor.collapse_shape %e [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>",
            "tensor.collapse_shape: must take a tensor",
        ),
    ],
)
def test_what_moves_too_much_is_refused(operation: str, problem: str) -> None:
    text = (
        "func.func @f(%a: tensor<?x?x?x?xf32>, %x: f32, %n: index) -> f32 {\n"
        "  %e = tensor.empty(%n, %n) : tensor<?x?xf32>\n"
        f"  %r = {operation}\n  return %x : f32\n}}\n"
    )
    with pytest.raises(WorkloadError, match=rf"^<text>:3:\d+: {re.escape(problem)}$"):
        read_mlir(text)


COMPARED = """\
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {{
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %p = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]}} ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) {{
  ^bb0(%in: f32, %out: f32):
    %0 = arith.constant 0.5 : f32
    %1 = arith.cmpf ogt, {compared} : f32
    %2 = arith.uitofp {there} : i1 to f32
    linalg.yield {yielded} : f32
  }} -> tensor<4xf32>
  %y = linalg.exp ins(%p : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}}
"""


def test_a_pattern_that_others_wrote() -> None:
    text = COMPARED.format(compared="%in, %0", there="%1", yielded="%2")
    assert program_text(read_mlir(text)).startswith("p(i)=pattern[gt:0.5](a(i)); y(")


@pytest.mark.parametrize(
    ("compared", "there", "yielded"),
    [
        ("%0, %in", "%1", "%2"),
        ("%out, %0", "%1", "%2"),
        ("%in, %one", "%1", "%2"),
        ("%in, %0", "%true", "%2"),
        ("%in, %0", "%1", "%in"),
    ],
)
def test_what_compares_and_is_no_pattern_is_refused(
    compared: str, there: str, yielded: str
) -> None:
    with refused(
        "<text>:5:3: linalg.generic: a pattern must be of a tensor, and yield arith.uitofp of "
        "arith.cmpf of an element and a number"
    ):
        read_mlir(COMPARED.format(compared=compared, there=there, yielded=yielded))

"""What others wrote that moves elements, and copies them in another order."""

from __future__ import annotations

import pytest

from gnarl.sw.workloads.einsum.mlir.read import read_mlir
from gnarl.sw.workloads.einsum.mlir.write import program_mlir
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from tests.support.errors import refused

COPIED = """\
func.func @f(%a: tensor<6x4xf32>, %b: tensor<2x3x4xf32>) -> tensor<{shape}xf32> {{
  %e = tensor.empty() : tensor<{shape}xf32>
  %r = tensor.expand_shape %a [[0, 1], [2]] output_shape [2, 3, 4]
      {{statement = "r", indices = ["i", "j", "k"], from = ["l", "k"]}}
      : tensor<6x4xf32> into tensor<2x3x4xf32>
  %y = linalg.generic {{indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>,
      {others}affine_map<(d0, d1, d2) -> ({output})>],
      iterator_types = ["parallel", "parallel", "parallel"]}}
      ins({ins} : tensor<2x3x4xf32>{types}) outs(%e : tensor<{shape}xf32>)
      attrs = {{statement = "r"}} {{
  ^bb0(%in: f32, {arguments}%out: f32):
    {body}
  }} -> tensor<{shape}xf32>
  return %y : tensor<{shape}xf32>
}}
"""


def copied(
    shape: str = "2x3x4",
    output: str = "d0, d1, d2",
    body: str = "linalg.yield %in : f32",
    more: bool = False,
) -> str:
    return COPIED.format(
        shape=shape,
        output=output,
        body=body,
        ins="%r, %b" if more else "%r",
        types=", tensor<2x3x4xf32>" if more else "",
        others="affine_map<(d0, d1, d2) -> (d0, d1, d2)>, " if more else "",
        arguments="%in_1: f32, " if more else "",
    )


@pytest.mark.parametrize(
    ("shape", "output", "result"),
    [
        ("2x3x4", "d0, d1, d2", "r(i,j,k)"),
        ("4x2x3", "d2, d0, d1", "r(k,i,j)"),
        ("3x4x2", "d1, d2, d0", "r(j,k,i)"),
    ],
)
def test_what_was_moved_is_copied_to_where_the_output_s_map_says(
    shape: str, output: str, result: str
) -> None:
    program = read_mlir(copied(shape, output))
    assert program_text(program).startswith(f"{result}=reshape[i:2,j:3](a(l,k)) ")
    assert [each.layer for each in program.statements] == [""]


@pytest.mark.parametrize(
    "text",
    [
        copied("2x4", "d0, d2"),
        copied(body="%0 = math.exp %in : f32 linalg.yield %0 : f32"),
        copied(body="linalg.yield %out : f32"),
        copied(body="tensor.yield %in : f32"),
        copied(more=True),
    ],
)
def test_what_was_moved_and_is_not_just_copied_is_refused(text: str) -> None:
    with refused(
        "<text>:6:3: linalg.generic: must copy what was moved, with its dimensions in another order"
    ):
        read_mlir(text)


def test_a_dimension_of_no_loop_is_refused() -> None:
    with refused(
        "<text>:6:3: linalg.generic: affine_map<(d0, d1, d2) -> (d0, d1, d2, 0)> must have loops, "
        "not what is computed of them"
    ):
        read_mlir(copied("2x3x4x1", "d0, d1, d2, 0"))


PATTERN = """\
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4x3xf32>) -> {type} {{
  %e = tensor.empty() : {type}
  %p = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      {ins}outs({outs} : {type}) {{
  ^bb0({arguments}%out: f32):
    %0 = arith.constant 0.5 : f32
    %1 = arith.cmpf ogt, {compared}, %0 : f32
    %2 = arith.uitofp %1 : i1 to f32
    linalg.yield %2 : f32
  }} -> {type}
  return %p : {type}
}}
"""
MAP = "affine_map<(d0) -> (d0)>"


@pytest.mark.parametrize("operands", [["%a"], [], ["%a", "%b"], ["%e"]])
def test_a_pattern_is_of_one_tensor(operands: list[str]) -> None:
    arguments = [f"%in_{place}" for place in range(len(operands))]
    types = ", ".join("tensor<4xf32>" for _ in operands)
    text = PATTERN.format(
        maps=", ".join([MAP] * (len(operands) + 1)),
        ins=f"ins({', '.join(operands)} : {types}) " if operands else "",
        outs="%e" if operands else "%a",
        arguments="".join(f"{each}: f32, " for each in arguments),
        compared=[*arguments, "%out"][0],
        kinds='"parallel"',
        type="tensor<4xf32>",
    )
    if operands == ["%a"]:
        assert program_text(read_mlir(text)).startswith("p(i)=pattern[gt:0.5](a(i)) ")
        return
    with refused(
        "<text>:3:3: linalg.generic: a pattern must be of a tensor, and yield arith.uitofp of "
        "arith.cmpf of an element and a number"
    ):
        read_mlir(text)


def pattern_of(operand: str, there: str, result: str, shape: str) -> str:
    return PATTERN.format(
        maps=", ".join(f"affine_map<(d0, d1) -> ({each})>" for each in (there, result)),
        kinds='"parallel", "parallel"',
        ins=f"ins({operand}) ",
        outs="%e",
        arguments="%in: f32, ",
        compared="%in",
        type=f"tensor<{shape}xf32>",
    )


def test_a_pattern_has_the_dimensions_of_its_tensor_in_any_order() -> None:
    c = "%c : tensor<4x3xf32>"
    for there, result in (("d1, d0", "d0, d1"), ("d0, d1", "d1, d0")):
        found = program_text(read_mlir(pattern_of(c, there, result, "3x4")))
        assert found.startswith("p(i,j)=pattern[gt:0.5](c(j,i)) ")
    named = pattern_of(c, "d1, d0", "d0, d1", "3x4").replace(
        " {\n  ^bb0", ' attrs = {indices = ["m", "n"]} {\n  ^bb0'
    )
    assert program_text(read_mlir(named)).startswith("p(m,n)=pattern[gt:0.5](c(n,m)) ")
    for text in (
        pattern_of("%a : tensor<4xf32>", "d0", "d0, d1", "4x3"),
        pattern_of(c, "d0, d1", "d0", "4"),
    ):
        with refused(
            "<text>:3:3: linalg.generic: a pattern must have each dimension of its tensor once"
        ):
            read_mlir(text)


@pytest.mark.parametrize(
    "text",
    [
        "r(z)=reshape(A(x,y))",
        "r(z,w)=reshape(A(x,y,w))",
        "r=reshape(v(x))",
        "r=reshape(A(x,y))",
        "r(x,y)=reshape(A(y,x))",
        "r(x,y,z)=reshape[x:2](A(u,z))",
        "r(y,x,z)=reshape[x:2](A(u,z))",
        "r(z,y)=reshape[z:3](A(x,w))",
        "r(z)=reshape[z:1](s)",
        "r(z,w)=reshape[z:1,w:1](s)",
        "r(z,w)=reshape[z:1,w:1](v(x))",
        "r(x,z)=reshape[z:1](v(x))",
        "r(z,w)=concat(A(x,w),B(y,w))",
        "r(w,z)=concat(A(w,x),B(w,y))",
        "r(z,w)=concat(A(w),B(y,w))",
        "r(z,w)=slice[x:0:4:2](A(x,w))",
        "r(z,w)=slice[x:1:4](A(x,w))",
        "r(w)=slice[x:1:2](A(x,w))",
        "r=slice[x:1:2](v(x))",
        "r(z,x)=slice[w:1:2](A(z,w,x))",
    ],
)
def test_indices_that_were_written_are_read(text: str) -> None:
    program = parse_program(text)
    assert read_mlir(program_mlir(program)) == program


@pytest.mark.parametrize(
    "operation",
    [
        "tensor.collapse_shape %r [[0], [1, 2]] "
        '{statement = "r"} : tensor<2x3x4xf32> into tensor<2x12xf32>',
        "tensor.expand_shape %r [[0], [1], [2, 3]] output_shape [2, 3, 2, 2] "
        '{statement = "r"} : tensor<2x3x4xf32> into tensor<2x3x2x2xf32>',
    ],
)
def test_what_was_moved_is_no_tensor(operation: str) -> None:
    start = COPIED.partition("  %y")[0].format(
        shape=operation.rpartition("tensor<")[2][: -len("xf32>")]
    )
    type = operation.rpartition(" into ")[2]
    text = f"{start}  %y = {operation}\n  return %y : {type}\n}}\n"
    name = operation.partition(" ")[0]
    with refused(f"<text>:6:3: {name}: must take a tensor"):
        read_mlir(text)


NAMED = """\
func.func @f(%a: tensor<4x6x1xf32>, %b: tensor<1x1xf32>, %s: tensor<f32>) -> tensor<f32> {
  %x = tensor.collapse_shape %a [[0], [1, 2]] {indices = ["i", "v"], from = ["i", "j", "k"]}
      : tensor<4x6x1xf32> into tensor<4x6xf32>
  %y = tensor.expand_shape %a [[0], [1, 2], [3]] output_shape [4, 2, 3, 1]
      {indices = ["i", "u", "v", "k"], from = ["i", "j", "k"]}
      : tensor<4x6x1xf32> into tensor<4x2x3x1xf32>
  %element = tensor.extract %s[] : tensor<f32>
  %z = tensor.from_elements %element {indices = ["u", "v"]} : tensor<1x1xf32>
  %n = tensor.collapse_shape %b [] : tensor<1x1xf32> into tensor<f32>
  return %n : tensor<f32>
}
"""


def test_indices_that_others_named() -> None:
    assert program_text(read_mlir(NAMED)).partition(" -")[0] == (
        "x(i,v)=reshape(a(i,j,k)); y(i,u,v,k)=reshape[u:2,v:3](a(i,j,k)); "
        "z(u,v)=reshape[v:1](s); n=reshape(b(i,j))"
    )

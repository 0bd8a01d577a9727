"""The notation of the TACO and SAM command lines, and every way to get it wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.sw.workloads.tensor.expression import Access, Call, Constant, Expression
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.storage import TensorFormat
from tests.support.errors import refused


def expression_of(text: str) -> Expression:
    return parse(f"x={text}").expression


def test_a_line_of_the_sam_tools() -> None:
    text = "X(i,j)=B(i,k)*C(k,j) -f=X:ss -f=B:ss:0,1 -f=C:ss:1,0 -s=reorder(i,k,j)"
    statement = parse(text)
    assert statement.result == Access("X", ("i", "j"))
    assert statement.expression == Call("mul", (Access("B", ("i", "k")), Access("C", ("k", "j"))))
    assert statement.formats == {
        "X": TensorFormat(("compressed", "compressed"), (0, 1)),
        "B": TensorFormat(("compressed", "compressed"), (0, 1)),
        "C": TensorFormat(("compressed", "compressed"), (1, 0)),
    }
    assert statement.order == ("i", "k", "j")
    assert [access.column for access in (statement.result, *statement.operands)] == [1, 8, 15]


def test_defaults_are_dense_and_in_order_of_appearance() -> None:
    statement = parse("X(j,i) = b * C(k,i) * d(j)")
    assert statement.formats == {
        "X": TensorFormat(("dense", "dense"), (0, 1)),
        "b": TensorFormat((), ()),
        "C": TensorFormat(("dense", "dense"), (0, 1)),
        "d": TensorFormat(("dense",), (0,)),
    }
    assert statement.order == ("j", "i", "k")


def test_options_may_be_quoted_and_scalars_may_have_an_empty_format() -> None:
    statement = parse('x(i)=b*f(i) -s="reorder(i)" -f=b: -f=f:b')
    assert statement.order == ("i",)
    assert statement.formats["b"] == TensorFormat((), ())
    assert statement.formats["f"] == TensorFormat(("bitvector",), (0,))


A, B, C = (Access(name, ()) for name in "abc")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a+b*c", Call("add", (A, Call("mul", (B, C))))),
        ("(a+b)*c", Call("mul", (Call("add", (A, B)), C))),
        ("a-b-c", Call("sub", (Call("sub", (A, B)), C))),
        ("a-(b-c)", Call("sub", (A, Call("sub", (B, C))))),
        ("-a*b", Call("mul", (Call("neg", (A,)), B))),
        ("a - -b", Call("sub", (A, Call("neg", (B,))))),
        ("2*a", Call("mul", (Constant(2.0), A))),
        ("-2*a", Call("mul", (Constant(-2.0), A))),
        ("--2", Call("neg", (Constant(-2.0),))),
        ("1.5e-3", Constant(0.0015)),
        (".5+3.", Call("add", (Constant(0.5), Constant(3.0)))),
        ("relu(a+b)", Call("relu", (Call("add", (A, B)),))),
        (
            "max(a, min(b,0))",
            Call("max", (Access("a", ()), Call("min", (Access("b", ()), Constant(0))))),
        ),
        ("long_name2(i1, k)", Access("long_name2", ("i1", "k"))),
        ("a()", Access("a", ())),
    ],
)
def test_trees(text: str, tree: Expression) -> None:
    assert expression_of(text) == tree


def test_blanks_may_stand_in_brackets() -> None:
    for quote in ("", '"', "'"):
        text = f"X(i,j)=B(i,j) -s={quote}reorder(j, i){quote} -s=parallelize( i , 4 )"
        statement = parse(text)
        assert (statement.order, statement.lanes) == (("j", "i"), (("i", 4),))
    with refused("expression, column 29: index 'k' is not in the expression; it has i, j"):
        parse("X(i,j)=B(i,j) -s=reorder(j, k)")


def test_loops_may_have_lanes() -> None:
    statement = parse("X(i,j)=B(i,j) -s=parallelize(i,4) -s=reorder(j,i)")
    assert (statement.order, statement.lanes) == (("j", "i"), (("i", 4),))
    statement = parse("X(i,j)=B(i,j) -s=parallelize(j,16) -s=parallelize(i,2)")
    assert statement.lanes == (("i", 2), ("j", 16))
    assert parse("X(i,j)=B(i,j)").lanes == ()


def test_a_tensor_may_stand_twice() -> None:
    statement = parse("X(i,j)=B(i,k)*B(k,j) -f=B:ss")
    assert statement.operands == (Access("B", ("i", "k")), Access("B", ("k", "j")))
    assert [access.column for access in statement.operands] == [8, 15]


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("", 1, "expected a result such as X(i,j), found the end"),
        ("3=a", 1, "expected a result such as X(i,j), found '3'"),
        ("exp(i)=a(i)", 1, "exp is a function and cannot be the result's name"),
        ("x", 2, "expected =, found the end"),
        ("x=", 3, "the expression ends too early"),
        ("x=a+", 5, "the expression ends too early"),
        ("x=a  +  ", 7, "the expression ends too early"),
        ("x=*a", 3, "expected an operand, found '*'"),
        ("x=a b", 5, "expected an operator or the end, found 'b'"),
        ("x=(a", 5, "expected + or - or * or ), found the end"),
        ("x=a)", 4, "expected an operator or the end, found ')'"),
        ("x=a/b", 4, "division is not supported; multiply by reciprocal(…)"),
        ("x=a $ b", 5, "unexpected character '$'"),
        ("x=B(i,3)", 7, "expected an index, found '3'"),
        ("x=B(i,)", 7, "expected an index, found ')'"),
        ("x=B(i k)", 7, "expected , or ), found 'k'"),
        ("x=relu", 7, "expected (, found the end"),
        ("x=max(a)", 3, "max has 1 argument and must have 2"),
        ("x=relu(a,b)", 3, "relu has 2 arguments and must have 1"),
        (
            "x(i)=B(i,i)",
            6,
            "index i appears twice in B(i,i); a diagonal cannot be read or written, "
            "use an index for each mode",
        ),
        (
            "X(i,i)=b(i)",
            1,
            "index i appears twice in X(i,i); a diagonal cannot be read or written, "
            "use an index for each mode",
        ),
        ("x(i)=i*b(i)", 6, "i is an index and cannot also be a tensor"),
        (
            "x(i)=b(i)+x(i)",
            11,
            "result x cannot also be an operand; give the result its own name",
        ),
        (
            "x(i)=b(i)*b",
            11,
            "tensor b has 0 indices here and 1 in column 6; a tensor has one order",
        ),
        (
            "x(i)=b(i) -f=b",
            14,
            "-f=b must be TENSOR:LEVELS or TENSOR:LEVELS:MODES, such as B:ss:1,0",
        ),
        ("x(i)=b(i) -f=c:s", 14, "-f names tensor c, which is not in the expression; it has x, b"),
        (
            "x(i)=b(i) -f=",
            14,
            "-f names an empty name, which is not in the expression; it has x, b",
        ),
        (
            "x(i)=b(i) -f=b:q",
            16,
            "level format 'q' must be one of d (dense), s (compressed), b (bitvector)",
        ),
        (
            "x(i)=b(i) -f=b:sd",
            16,
            "format sd has 2 levels, but tensor b has 1 index; it must have one level for each",
        ),
        (
            "X(i,j)=B(i,j) -f=B:",
            20,
            "format (empty) has 0 levels, but tensor B has 2 indices; "
            "it must have one level for each",
        ),
        ("X(i,j)=B(i,j) -f=B:ss:0", 23, "mode order 0 must name each of 0, 1 once"),
        ("X(i,j)=B(i,j) -f=B:ss:1,1", 23, "mode order 1,1 must name each of 0, 1 once"),
        ("X(i,j)=B(i,j) -f=B:ss:", 23, "mode order (empty) must name each of 0, 1 once"),
        (
            "x(i)=b(i) -f=b:s -f=b:d",
            21,
            "tensor b has a format already; give each tensor one -f",
        ),
        (
            "x(i)=b(i) -s=split(i)",
            14,
            "-s=split(i) must be reorder(…) with every index, outermost first, parallelize(i,N), "
            "or block(j,N)",
        ),
        ("x(i)=B(i,j) -s=reorder(i,k)", 26, "index 'k' is not in the expression; it has i, j"),
        ("x(i)=B(i,j) -s=reorder(i,i)", 26, "index i appears twice in the loop order"),
        (
            "x(i)=B(i,j) -s=reorder(j)",
            26,
            "index i is missing in the loop order; it must name every index",
        ),
        ("x(i)=b(i) -s=reorder(i) -s=reorder(i)", 28, "there is a loop order already; give one -s"),
        *(
            (
                f"x(i)=b(i) -s=parallelize(i,{lanes})",
                14,
                f"-s=parallelize(i,{lanes}) must be parallelize(i,N) with an index and N lanes, "
                "2 to 16, or a product of two such numbers up to 64",
            )
            for lanes in (0, 1, 17, 66)
        ),
        (
            "x(i)=b(i) -s=parallelize(k,2)",
            26,
            "index 'k' is not in the expression; it has i",
        ),
        (
            "x(i)=b(i) -s=parallelize(i,2) -s=parallelize(i,2)",
            34,
            "index i is parallelized already",
        ),
        (
            "x(i)=b(i) -s=reorder(i",
            21,
            "options come last and have the form -f=TENSOR:LEVELS or -s=reorder(i,j)",
        ),
        ("x(i)=b(i) -d=i:3", 11, "unknown option -d; the options are -f and -s"),
        (
            "x(i)=b(i) -f=b:s + c",
            18,
            "options come last and have the form -f=TENSOR:LEVELS or -s=reorder(i,j)",
        ),
        ("x=" + 61 * "(" + "a", 63, "parts are nested deeper than 60"),
        ("x=a" + 300 * "+a", 603, "there are more than 300 operands"),
    ],
)
def test_errors_point_at_the_column(text: str, column: int, problem: str) -> None:
    with refused(f"expression, column {column}: {problem}"):
        parse(text)


@given(st.text(alphabet="xyBi jk(),=+-*/.0123:fs-ds", max_size=40))
def test_any_text_is_parsed_or_refused_in_one_line(text: str) -> None:
    from gnarl.hw.lib.errors import WorkloadError

    try:
        parse("x(i)=" + text)
    except WorkloadError as error:
        assert str(error).startswith("expression, column ")
        assert "\n" not in str(error)

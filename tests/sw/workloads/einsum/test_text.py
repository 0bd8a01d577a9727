"""Einsum programs as text, and every way to get them wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.program import Einsum
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from gnarl.sw.workloads.tensor.expression import Access, Call, Constant, Reduction
from gnarl.sw.workloads.tensor.storage import TensorFormat
from tests.support.einsums import Case, cases
from tests.support.errors import refused

GCN = (
    "t(i,m)=sum[k](A(i,k)*F(k,m)); h(i,j)=relu(sum[m](t(i,m)*W(m,j))+b(j)); "
    "-f=A:ds -f=F:ds -f=h:ds:1,0 -s=reorder(h:i,m,j)"
)


def test_a_layer() -> None:
    program = parse_program(GCN)
    t = Access("t", ("i", "m"))
    product = Call("mul", (Access("A", ("i", "k")), Access("F", ("k", "m"))))
    hidden = Reduction("sum", ("m",), Call("mul", (t, Access("W", ("m", "j")))))
    assert program.statements == (
        Einsum(t, Reduction("sum", ("k",), product)),
        Einsum(
            Access("h", ("i", "j")),
            Call("relu", (Call("add", (hidden, Access("b", ("j",)))),)),
            ("i", "m", "j"),
        ),
    )
    ds = ("dense", "compressed")
    assert program.formats == {
        "A": TensorFormat(ds, (0, 1)),
        "F": TensorFormat(ds, (0, 1)),
        "W": TensorFormat(("dense", "dense"), (0, 1)),
        "b": TensorFormat(("dense",), (0,)),
        "h": TensorFormat(ds, (1, 0)),
    }
    assert (program.name, program.results, program.inputs) == ("h", ("h",), ("A", "F", "W", "b"))
    assert [access.column for access in program["h"].operands] == [50, 57, 65]


@given(cases(moving=True, stored=True))
def test_programs_are_read_as_they_are_written(case: Case) -> None:
    assert parse_program(program_text(case.program), case.program.name) == case.program


A, B, K = Access("a", ()), Access("b", ()), Access("c", ("k",))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a/b/2", Call("div", (Call("div", (A, B)), Constant(2)))),
        ("a*b/a", Call("div", (Call("mul", (A, B)), A))),
        ("-a/-b", Call("div", (Call("neg", (A,)), Call("neg", (B,))))),
        ("log(a)", Call("log", (A,))),
        ("max(a,b)", Call("max", (A, B))),
        ("max[k](c(k))", Reduction("max", ("k",), K)),
        ("-sum [ k ] ( c(k) )", Call("neg", (Reduction("sum", ("k",), K),))),
        (
            "sum[i,k](c(k)*c(i))",
            Reduction("sum", ("i", "k"), Call("mul", (K, Access("c", ("i",))))),
        ),
        ("sum[k](c(k))+sum[k](c(k))", Call("add", (Reduction("sum", ("k",), K),) * 2)),
        ("-2", Constant(-2)),
    ],
)
def test_trees(text: str, tree: object) -> None:
    assert parse_program(f"x={text}")["x"].expression == tree


@pytest.mark.parametrize(
    ("implied", "written"),
    [
        ("x(i)=A(i,k)*b(k)", "x(i)=sum[k](A(i,k)*b(k))"),
        ("x(i)=b(i)-2*(c(i)-A(i,k)*b(l))", "x(i)=b(i)-sum[k,l](2*(c(i)-A(i,k)*b(l)))"),
        ("x=-a(i)+a(i)/b", "x=-sum[i](a(i))+sum[i](a(i)/b)"),
        ("x(i)=a(i)", "x(i)=a(i)"),
        ("x=exp(a(i))*b(i)", "x=sum[i](exp(a(i))*b(i))"),
        ("x(i)=A(i,k)*b(k); -f=A:ds", "x(i)=sum[k](A(i,k)*b(k)) -f=A:ds"),
    ],
)
def test_sums_of_one_statement_may_be_implied(implied: str, written: str) -> None:
    assert parse_program(implied) == parse_program(written)


def test_results_are_what_no_statement_takes_or_what_an_option_says() -> None:
    text = "t=a; u=t; v=t"
    assert parse_program(text).results == ("u", "v")
    assert set(parse_program(text).formats) == {"a", "u", "v"}
    program = parse_program(f"{text} -r=t,u -f=v:")
    assert program.results == ("t", "u")
    assert set(program.formats) == {"a", "t", "u", "v"}
    assert program_text(program).endswith("-r=t,u")


def test_the_order_of_one_statement_needs_no_name() -> None:
    program = parse_program("x(i)=sum[k](A(i,k)) -s=reorder(k,i)")
    assert program["x"].order == ("k", "i")


def test_a_program_may_be_long() -> None:
    text = "; ".join(f"x{n + 1}(i)=relu(x{n}(i)+a(i))" for n in range(400))
    assert len(parse_program(text).statements) == 400


@pytest.mark.parametrize(("first", "end"), [("abcd", ")"), ("abcde", "…")])
def test_what_to_write_is_spelled_out_up_to_200_characters(first: str, end: str) -> None:
    product = "*".join([f"{first}(k)", *["b(k)"] * 37])
    with refused(
        f"statement y, column 3: index k of {first}(k) is neither one of y nor reduced: write "
        f"sum[k]({product}{end}"
    ):
        parse_program(f"y={product}; z=y")


RELU = (
    "index k of A(i,k) is summed inside of relu, which is not linear: for a sum of relu write "
    "sum[k](relu(A(i,k)*B(k,j))); for relu of a sum write relu(sum[k](A(i,k)*B(k,j)))"
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "statement 1, column 1: expected a result such as X(i,j), found the end"),
        ("x=a;;y=x", "statement 2, column 5: expected a result such as X(i,j), found the end"),
        ("x=a; 3=x", "statement 2, column 6: expected a result such as X(i,j), found '3'"),
        (
            "x=a; log=x",
            "statement log, column 6: log is a function and cannot be the result's name",
        ),
        ("x=a; y(i)=b(i)+", "statement y, column 16: the expression ends too early"),
        ("x=a; y=(x", "statement y, column 10: expected + or - or * or / or ), found the end"),
        ("x=a; y=x $", "statement y, column 10: unexpected character '$'"),
        ("x=a; y=max[3](x)", "statement y, column 12: expected an index, found '3'"),
        ("x=a; y=max[k(x)", "statement y, column 13: expected , or ], found '('"),
        ("x=a; y=log(x,x)", "statement y, column 8: log has 2 arguments and must have 1"),
        (
            "x=a; y=sum(k,b(k))",
            "statement y, column 8: a sum must be sum[k](…) in a program, over just what is in it",
        ),
        ("x=a; x=b", "statement x, column 6: tensor x is computed already"),
        ("x=y; y=a", "statement x, column 3: tensor y is used before it is computed"),
        (
            "x=a; y=y+x",
            "statement y, column 8: result y cannot also be an operand; give the result its own "
            "name",
        ),
        (
            "x(i)=a(i); y(i)=x",
            "statement y, column 17: tensor x has 0 indices here and 1 in statement x; a tensor "
            "has one order",
        ),
        ("x=a; y(i)=x*i", "statement y, column 13: i is an index and cannot also be a tensor"),
        (
            "x=a; y=sum[i](B(i,i))",
            "statement y, column 15: index i appears twice in B(i,i); a diagonal cannot be read "
            "or written, use an index for each mode",
        ),
        (
            "x=a; y=sum[k](x*3)",
            "statement y, column 8: index k is not in what is reduced",
        ),
        (
            "x=a; y=sum[k](x*sum[k](c(k)))",
            "statement y, column 8: index k is not in what is reduced",
        ),
        (
            "x=a; y=sum[k](c(k)*sum[k](c(k)))",
            "statement y, column 20: index k is reduced already",
        ),
        ("x=sum[k,k](c(k))", "statement x, column 3: index k is reduced already"),
        (
            "x(i)=sum[i](c(i))",
            "statement x, column 6: index i is one of x(i); a reduction is over another",
        ),
        (
            "x=a; y(i)=b(i)-A(i,k)*c(k)",
            "statement y, column 16: index k of A(i,k) is neither one of y(i) nor reduced: write "
            "sum[k](A(i,k)*c(k))",
        ),
        (
            "y(i)=sum[k](A(i,k))*c(k)",
            "statement y, column 21: index k is also used outside of the reduction over it; give "
            "it another name there",
        ),
        ("X(i,j)=relu(A(i,k)*B(k,j))", f"statement X, column 13: {RELU}"),
        ("X(i,j)=relu(A(i,k)*B(k,j)); y=3", f"statement X, column 13: {RELU}"),
        (
            "x(i)=b(i)/A(i,k)",
            "statement x, column 11: index k of A(i,k) is summed inside of a quotient, which is "
            "not linear: for a sum of a quotient write sum[k](b(i)/A(i,k)); for a quotient of a "
            "sum write b(i)/sum[k](A(i,k))",
        ),
        (
            "x(i)=b(l)*max(max[m](A(i,k,m)),exp(c(k)))",
            "statement x, column 22: index k of A(i,k,m) is summed inside of max, which is not "
            "linear: for a sum of max write sum[l,k](b(l)*max(max[m](A(i,k,m)),exp(c(k)))); for "
            "max of a sum write sum[l](b(l)*max(sum[k](max[m](A(i,k,m))),sum[k](exp(c(k)))))",
        ),
        (
            "x=a -f=b:s",
            "program, column 8: -f names tensor b, which is not in the expression; it has x, a",
        ),
        (
            "x=a -r=y",
            "program, column 8: -r names tensor y, which no statement computes; they compute x",
        ),
        (
            "x=a -r=",
            "program, column 8: -r names an empty name, which no statement computes; they "
            "compute x",
        ),
        ("x=a -r=x,x", "program, column 10: result x is there twice"),
        ("x=a -r=x -r=x", "program, column 13: there are results already; give one -r"),
        (
            "x(i)=a -n=x",
            "program, column 11: -n=x must be T:N,M with the size of each index of a tensor",
        ),
        (
            "x(i)=a -n=x:-1",
            "program, column 11: -n=x:-1 must be T:N,M with the size of each index of a tensor",
        ),
        ("x(i)=a -n=x:2,3", "program: shape of x: has 2 sizes and must have 1"),
        ("x(i)=a -n=x:", "program: shape of x: has 0 sizes and must have 1"),
        (
            "x(i)=a -n=x:2 -n=x:2",
            "program, column 18: there is a shape of x already; give each tensor one -n",
        ),
        (
            "x(i)=a -n=a:",
            "program, column 11: -n names tensor a, which no statement computes; they compute x",
        ),
        (
            "r(i)=slice[k:0:2](a(k)); x=sum[i](r(i)) -n=r:2",
            "program: shape of r: no statement computes it",
        ),
        ("x=a -d=x", "program, column 5: unknown option -d; the options are -f, -s, -n and -r"),
        (
            "x(i)=a(i) -s=reorder(y:i)",
            "program, column 22: -s names tensor y, which no statement computes; they compute x",
        ),
        (
            "x(i)=a(i) -s=reorder(x:k)",
            "program, column 24: index 'k' is not in the expression; it has i",
        ),
        (
            "x(i)=a(i) -s=reorder(x:i) -s=reorder(i)",
            "program, column 30: there is a loop order of x already; give each statement one -s",
        ),
        (
            "x(i)=a(i); y(i)=x(i) -s=reorder(i)",
            "program, column 25: -s=reorder(i) must be reorder(T:…) with a statement's tensor and "
            "every index of it, outermost first",
        ),
        (
            "x(i)=a(i) -s=parallelize(i,4)",
            "program, column 14: -s=parallelize(i,4) must be reorder(T:…) with a statement's "
            "tensor and every index of it, outermost first",
        ),
        (
            "x=a -f=a: + c",
            "program, column 11: options come last and have the form -f=TENSOR:LEVELS or "
            "-s=reorder(i,j)",
        ),
        ("x=" + 63 * "(" + "a", "statement x, column 65: parts are nested deeper than 62"),
        ("x=a" + 300 * "+a", "statement x, column 603: there are more than 300 operands"),
        (
            "x=" + 200_000 * "a",
            "program, column 200001: 200,002 characters are too many; at most 200,000",
        ),
    ],
)
def test_errors_name_the_statement_and_the_column(text: str, problem: str) -> None:
    with refused(problem):
        parse_program(text)


@given(st.text(alphabet="xyBi jk(),=+-*/.01;[]:fs-dsmaxsum", max_size=40))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        program = parse_program("x(i)=" + text)
    except WorkloadError as error:
        assert str(error).startswith(("statement ", "program, column "))
        assert "\n" not in str(error)
    else:
        assert parse_program(program_text(program), program.name) == program

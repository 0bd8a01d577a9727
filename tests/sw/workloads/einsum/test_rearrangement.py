"""Statements that move elements: their text, what is refused of them, and their sizes."""

from __future__ import annotations

import re

import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.rearrangement import (
    Concat,
    Coo,
    Kept,
    Rearrangement,
    Reshape,
    Slice,
    Stored,
)
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import parse_program, program_text
from gnarl.sw.workloads.tensor.expression import Access
from tests.support.errors import refused


@pytest.mark.parametrize(
    ("text", "how", "operands"),
    [
        ("r(i,j,k)=reshape[j:2](t(i,a))", Reshape((("j", 2),)), [Access("t", ("i", "a"))]),
        ("r(i)=reshape(t(i,a))", Reshape(), [Access("t", ("i", "a"))]),
        ("r=reshape(t(a))", Reshape(), [Access("t", ("a",))]),
        (
            "r(i,j)=concat(a(k,j),b(j),c(j,l))",
            Concat(),
            [Access("a", ("k", "j")), Access("b", ("j",)), Access("c", ("j", "l"))],
        ),
        ("r(i,j)=slice[k:2:7](t(k,j))", Slice("k", 2, 7), [Access("t", ("k", "j"))]),
        ("r(j)=slice[k:2:3](t(k,j))", Slice("k", 2, 3), [Access("t", ("k", "j"))]),
        ("r(i)=slice[k:0:9:4](t(k))", Slice("k", 0, 9, 4), [Access("t", ("k",))]),
        (
            f"r(i)=slice[k:0:{10**18 - 1}](t(k))",
            Slice("k", 0, 10**18 - 1),
            [Access("t", ("k",))],
        ),
        (
            "r(i,j)=coo[i:3,j:4](t(d,e),v(e))",
            Coo((("i", 3), ("j", 4))),
            [Access("t", ("d", "e")), Access("v", ("e",))],
        ),
        ("r(i)=coo[i:3](t(d,e))", Coo((("i", 3),)), [Access("t", ("d", "e"))]),
        ("r(j,i)=stored(t(i,j))", Stored(), [Access("t", ("i", "j"))]),
        ("r(j,i)=kept(t(i,j))", Kept(), [Access("t", ("i", "j"))]),
    ],
)
def test_texts(text: str, how: object, operands: list[Access]) -> None:
    program = parse_program(f"{text}; x=sum[z](w(z))")
    (found,) = program.rearrangements
    assert (found.how, list(found.operands)) == (how, operands)
    assert program_text(program).startswith(text)


def test_a_slice_ends_behind_its_last_coordinate() -> None:
    assert Slice("k", 0, 8, 5) == Slice("k", 0, 6, 5)
    assert Slice("k", 1, 4, 7) == Slice("k", 1, 2)
    assert Slice("k", 3, 3, 2) == Slice("k", 3, 3)


def test_blanks_are_allowed() -> None:
    program = parse_program("r(i, j) = slice [ k : 2 : 7 ] ( t(k, j) ) ; x(i)=sum[j](r(i,j))")
    assert program["r"] == Rearrangement(
        Access("r", ("i", "j")), Slice("k", 2, 7), (Access("t", ("k", "j")),)
    )


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("x(i)=relu(slice[k:0:2](a(k)))", "column 11: slice is a statement of its own"),
        ("x(i)=slice[k:0:2](a(k))+b(i)", "column 6: slice is a statement of its own"),
        ("concat(i)=a(i)", "column 1: concat moves elements and cannot be the result's name"),
        ("x(i)=concat(relu(a(k)))", "column 13: expected a tensor, found 'relu'"),
        ("x(i)=concat(2)", "column 13: expected a tensor, found '2'"),
        ("x(i)=slice[k:0](a(k))", "column 15: expected :, found ']'"),
        ("x(i)=slice[k:0:b](a(k))", "column 16: expected a whole number, found 'b'"),
        ("x(i)=slice[k:0:1.5](a(k))", "column 16: expected a whole number, found '1.5'"),
        (f"x(i)=slice[k:0:{10**18}](a(k))", "column 16: expected a whole number, found '1000"),
        ("x(i)=slice(a(k))", "column 11: expected [, found '('"),
        ("x(i)=slice[i:0:2](a(i))", "column 1: index i is one of x(i), where it has other"),
        ("x(i)=slice[j:0:2](a(k))", "column 19: index j is not in a(k)"),
        ("x(i)=slice[k:2:0](a(k))", "slice[k:2:0]: must begin at 0 or later, end not before it"),
        ("x(i)=slice[k:0:2:0](a(k))", "slice[k:0:2:0]: must begin at 0 or later"),
        ("x(i)=slice[k:0:2](a(k,l))", "column 19: index l of a(k,l) is not in x(i): must be"),
        ("x(i,j)=slice[k:0:2](a(k))", "column 1: x(i,j) has i and j of its own: must have one"),
        ("x=slice[k:0:2](a(k))", "column 1: x has no index for k: slice[k:0:2] must be of one"),
        ("x(i)=slice[k:0:2](a(k),b(k))", "column 1: slice is of 2 tensors: must be of one"),
        ("x(i)=reshape(a(i),b(i))", "column 1: reshape is of 2 tensors: must be of one"),
        ("x(i,j)=reshape(a(k))", "column 1: sizes of i and j are not known: write reshape[i:N]"),
        ("x(i,j)=reshape[k:2](a(i,k))", "size of k: must be of an index that only x(i,j) has"),
        ("x(i,j)=reshape[j:2,j:2](a(i,k))", "size of j: is there already"),
        ("x(j)=concat(a(j))", "column 1: x(j) has no index of its own: must have one index that"),
        ("x(i,k)=concat(a(j))", "column 1: x(i,k) has i and k of its own: must have one index"),
        ("x(i,j)=concat(a(k,l,j))", "column 15: a(k,l,j) has k and l of its own: must have one"),
        ("x(i,j,k)=concat(a(l,j,k),b(l,j))", "column 26: b(l,j) lacks index k of x(i,j,k)"),
        ("x(i)=reshape(x(i,j))", "column 14: result x cannot also be an operand"),
        ("x(i)=reshape(a(j,j))", "column 14: index j appears twice in a(j,j)"),
        ("x(i,j)=coo[i:3](a(d,e))", "coo[i:3]: must have the size of each index of x(i,j)"),
        ("x(i,j)=coo[j:3,i:3](a(d,e))", "must have the size of each index of x(i,j), all its own"),
        ("x=coo(a(d,e))", "column 1: coo: must have the size of each index of x, all its own"),
        ("x(d)=coo[d:3](a(d,e))", "coo[d:3]: must have the size of each index of x(d), all its"),
        ("x(i)=coo[i:3](a(e))", "column 15: a(e): must have two indices: of coordinates, and of"),
        ("x(i)=coo[i:3](a(d,e),b(f))", "column 22: b(f): must be the second and last tensor, with"),
        ("x(i)=coo[i:3](a(d,e),b(e),c(e))", "c(e): must be the second and last tensor, with index"),
        ("v(e)=w(e)*2; x(i)=coo[i:3](a(d,e),a(e))", "tensor a has 1 index here and 2 in"),
        ("a(d,e)=b(d,e)*2; x(i)=coo[i:3](a(d,e))", "tensor a is computed: must be an input"),
        ("x(i)=coo[i:3](a(d,e)); u(d,e)=a(d,e)*2", "tensor a lists coordinates: only coo may take"),
        ("x(i)=coo[i:3](a(d,e)); u(d,e)=stored(a(d,e))", "tensor a lists coordinates: only coo"),
        ("x(i)=stored(a(i,j))", "column 13: a(i,j): must have the indices of x(i)"),
        ("a(i)=b(i)*2; x(i)=stored(a(i))", "tensor a is computed: must be an input"),
        ("x(i)=kept(a(i,j))", "column 11: a(i,j): must have the indices of x(i)"),
        ("a(i)=b(i)*2; x(i)=kept(a(i))", "tensor a is computed: must be an input"),
        ("x(i)=kept(a(i)); u(i)=a(i)*2", "tensor a is a mask: only kept may take it"),
        ("x(i)=kept(a(i)); u(i)=stored(a(i))", "tensor a is a mask: only kept may take it"),
        ("x(i)=kept(a(i)); u(i)=pattern[eq:0](a(i))", "tensor a is a mask: only kept may"),
        ("x(i)=stored(a(i),b(i))", "column 1: stored is of 2 tensors: must be of one"),
    ],
)
def test_what_says_not_what_goes_where_is_refused(statement: str, problem: str) -> None:
    with pytest.raises(WorkloadError, match=re.escape(problem)):
        parse_program(f"{statement}; y=sum[z](w(z))")


def test_what_is_moved_has_no_order_of_loops() -> None:
    text = "r(i)=slice[k:0:2](a(k)); x=sum[i](r(i)) -s=reorder(r:i)"
    with pytest.raises(WorkloadError, match="-s names r, which has no loops: its elements are"):
        parse_program(text)


@pytest.mark.parametrize(
    ("statement", "shapes", "wanted"),
    [
        ("r(i,j,k)=reshape[j:2](t(i,a))", {"t": (3, 8)}, (3, 2, 4)),
        ("r(k,i)=reshape(t(i,a,b))", {"t": (3, 2, 4)}, (8, 3)),
        ("r(i,j)=reshape(t(i))", {"t": (3,)}, (3, 1)),
        ("r(i)=reshape(t(i,a))", {"t": (3, 1)}, (3,)),
        ("r(i,j)=reshape[j:0](t(a))", {"t": (0,)}, None),
        ("r(i,j)=reshape[j:3](t(a))", {"t": (0,)}, (0, 3)),
        ("r(i,j)=reshape[i:5,j:0](t(a))", {"t": (0,)}, (5, 0)),
        ("r(i,j)=concat(t(k,j),u(j),t(l,j))", {"t": (2, 4), "u": (4,)}, (5, 4)),
        ("r(i)=concat(t,t)", {"t": ()}, (2,)),
        ("r(i,j)=slice[k:1:8:3](t(k,j))", {"t": (8, 2)}, (3, 2)),
        ("r(j)=slice[k:0:1](t(k,j))", {"t": (8, 2)}, (2,)),
        ("r(j)=slice[k:8:8](t(k))", {"t": (8,)}, (0,)),
        ("r(i,j)=coo[i:3,j:4](t(d,e),v(e))", {"t": (2, 7), "v": (7,)}, (3, 4)),
        ("r(i)=coo[i:3](t(d,e))", {"t": (1, 0)}, (3,)),
        ("r(j,i)=stored(t(i,j))", {"t": (2, 7)}, (7, 2)),
        ("r(j,i)=kept(t(i,j))", {"t": (2, 7)}, (7, 2)),
    ],
)
def test_sizes(
    statement: str, shapes: dict[str, tuple[int, ...]], wanted: tuple[int, ...] | None
) -> None:
    program = parse_program(f"{statement}; y=sum[z](w(z))")
    given = {**shapes, "w": (2,)}
    if wanted is None:
        message = re.escape(
            "statement r, column 1: the size of index i of r(i,j) is not known: write "
            "reshape[i:N] with its size N"
        )
        with pytest.raises(WorkloadError, match=message):
            program_shapes(program, given)
    else:
        assert program_shapes(program, given).tensors["r"] == wanted


@pytest.mark.parametrize(
    ("statement", "shapes", "problem"),
    [
        (
            "r(i,j,k)=reshape[j:5](t(i,a))",
            {"t": (3, 8)},
            "8 coordinates (8 of a) become 5 (5 of j, 1 of k): must be as many",
        ),
        (
            "r(i,j)=reshape[i:5,j:2](t(a,b))",
            {"t": (3, 3)},
            "9 coordinates (3 of a, 3 of b) become 10 (5 of i, 2 of j): must be as many",
        ),
        (
            "r(i)=reshape(t(i,a))",
            {"t": (3, 2)},
            "2 coordinates (2 of a) become 1 (of no index): must be as many",
        ),
        (
            "r(i)=slice[k:2:9](t(k))",
            {"t": (8,)},
            "slice[k:2:9]: index k of t(k) has size 8: must end there or before",
        ),
        (
            "r(i)=slice[k:2:8](t(k)); z(i)=r(i)*u(i)",
            {"t": (8,), "u": (5,)},
            "index i of r(i) has size 5: must be 6",
        ),
        (
            "r(i)=concat(t(k),t(l)); z(i)=r(i)*u(i)",
            {"t": (8,), "u": (5,)},
            "index i of r(i) has size 5: must be 16",
        ),
        (
            "r(i,j)=concat(t(k,j),u(l,j))",
            {"t": (8, 2), "u": (5, 3)},
            "index j has size 3 in mode 1 of u, but 2 in mode 1 of t; it must have one size",
        ),
        (
            "r(i,j)=coo[i:3,j:4](t(d,e))",
            {"t": (3, 7)},
            "t(d,e) has 3 coordinates of each entry: must have 2",
        ),
        (
            "r(i,j)=coo[i:3,j:4](t(d,e)); z(i)=sum[j](r(i,j)*u(j))",
            {"t": (2, 7), "u": (5,)},
            "index j of r(i,j) has size 5: must be 4",
        ),
        (
            "r(i,j)=reshape[j:1](t(a,b))",
            {"t": (2**32, 2**31)},
            "9,223,372,036,854,775,808 coordinates become others: must be below 2**63",
        ),
    ],
)
def test_sizes_that_do_not_fit_are_refused(
    statement: str, shapes: dict[str, tuple[int, ...]], problem: str
) -> None:
    program = parse_program(f"{statement}; y=sum[z](w(z))")
    with pytest.raises(WorkloadError, match=rf"^statement r, column \d+: {re.escape(problem)}"):
        program_shapes(program, {**shapes, "w": (2,)})


def test_a_part_of_no_known_size() -> None:
    program = parse_program("s(k)=2; r(i)=concat(s(k),t(l)); y=sum[i](r(i))")
    assert program_shapes(program, {"t": (2,), "s": (3,)}).tensors["r"] == (5,)
    with refused(
        "statement s, column 1: index k of s(k) is in no operand, so its size is not known; give "
        "the shape of s, in a text by -n=s:…"
    ):
        program_shapes(program, {"t": (2,)})

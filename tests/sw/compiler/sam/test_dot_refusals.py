"""Files in the DOT dialect of the SAM tools that are wrong, and what is said of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.dot_read import read_dot
from tests.support.errors import refused
from tests.sw.compiler.sam import dialect as files
from tests.sw.compiler.sam.dialect import dialect


def test_sums_that_the_notation_cannot_say() -> None:
    lines = files.RESIDUAL.replace("3 add sub=1", "3 mul")
    with refused(
        "x.gv: graph: alu mul_2: the notation has no mul of what is summed already; "
        "it sums each whole term"
    ):
        read_dot(dialect("x=s0,b=s0,C=ss01,d=s0", lines), "x.gv")
    lines = files.VEC_ADD3.replace("2 -> 0 val", "2 -> 20 val\n20 -> 0 val")
    lines = "\n".join(line for line in lines.splitlines() if not re.match("1 |4 -> 1 ", line))
    with refused(
        "x.gv: graph: reduce reduce: the notation has no add of terms over an index; "
        "it sums each term by itself"
    ):
        read_dot(dialect("x=none,b=s0,c=s0,d=s0", f"{lines}\n20 reduce"), "x.gv")


GOOD = dialect("x=s0,b=d0", files.VEC_DS)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "b=d0",
            "b=e0",
            "comment of the digraph: format b=e0 must be none, or levels of d, s, b "
            "and then the mode of each, such as B=ss10",
        ),
        (
            "b=d0",
            "b=d0,b=d0",
            "comment of the digraph: b has two formats: must have one",
        ),
        (
            "b=d0",
            "b=d1",
            "comment of the digraph: format b=d1 must be none, or levels of d, s, b "
            "and then the mode of each, such as B=ss10",
        ),
        (
            '    comment="x=s0,b=d0"',
            "",
            'the digraph must have a comment with formats, such as comment="x=s0,b=s0"',
        ),
        ("x=s0,b=d0", "x=s0", "line 5: fiberlookup 3: mode 0 of b, which is not among the formats"),
        (
            "x=s0,b=d0",
            "x=s0,b=s0",
            "line 5: fiberlookup 3: format dense, but mode 0 of b is compressed in s0",
        ),
        ("x=s0,b=d0", "x=s0,b=dd01", "graph: tensor b has 2 levels, but 1 levels in the graph"),
    ],
)
def test_formats_that_do_not_fit(old: str, new: str, problem: str) -> None:
    assert old in GOOD
    with refused(f"x.gv: {problem}" if not problem.startswith("line") else f"x.gv, {problem}"):
        read_dot(GOOD.replace(old, new), "x.gv")


@pytest.mark.parametrize(
    ("lines", "old", "new", "problem"),
    [
        (files.JI_POINTS, "3 mul", "3 divide", "line 21: node 3: unknown type divide"),
        (files.JI_POINTS, "4 -> 3 val\n", "", "line 21: mul 3: no edge into its input val1"),
        (
            files.JI_POINTS,
            "8 -> 2 crd i\n",
            "",
            "line 23: spaccumulator 2: edges bring the coordinates of j; must be those of i "
            "and of the one index that is summed",
        ),
        (
            files.JI_POINTS,
            "8 -> 2 crd i\n",
            "8 -> 2 crd i\n8 -> 2 crd k\n",
            "line 23: spaccumulator 2: edges bring the coordinates of j, i, k; must be those of i "
            "and of the one index that is summed",
        ),
        (
            files.JI_POINTS,
            "order=1",
            "order=2",
            "line 23: spaccumulator 2: edges bring the coordinates of j, i; must be those of i "
            "and of the one index that is summed",
        ),
        (
            files.JI_POINTS,
            "4 -> 3 val\n",
            "4 -> 3 val\n4 -> 3 val\n",
            "line 43: mul 3 has a second edge into val1; must have one",
        ),
        (files.JI_POINTS, "order=1", "order=3", "line 23: spaccumulator 2: order 3 must be 1 or 2"),
        (
            files.JI_POINTS,
            "10 -> 9 ref out-B",
            "10 -> 9 ref",
            "line 35: comment (none) must say which operand of intersect 10 is meant: out-B, out-c",
        ),
        (
            files.JI_POINTS,
            "11 fiberlookup",
            "11 fiberlookup ref_depth=x",
            "line 3: fiberlookup 11: ref_depth x must be a whole number from 2 to 65536",
        ),
        (
            files.JI_POINTS,
            "9 -> 4 ref",
            "9 -> 4 wire",
            "line 42: edge type wire must be crd, ref, val, repsig or bv",
        ),
        (
            files.JI_POINTS,
            "11 -> 10 ref in-B",
            "11 -> 10 ref in-B\n11 -> 10 ref in-B",
            "line 32: intersect 10 has a second edge into ref0; must have one",
        ),
        (
            files.VEC_DS,
            "3 -> 4 crd in-i",
            "3 -> 4 crd in-j",
            "line 15: comment in-j must name the outer or inner index of crddrop 4: i or vals",
        ),
        (
            files.VEC_DS,
            "2 -> 4 val in-vals\n",
            "",
            "line 3: crddrop 4: no edge into its input inner",
        ),
        (
            files.VEC_DS,
            "3 -> 2 ref",
            "2 -> 2 val",
            "line 11: arrayvals 2 feeds itself",
        ),
        (
            files.JI_POINTS,
            "8 broadcast",
            "8 broadcast\n10 -> 8 crd",
            "line 38: broadcast 8 is fed twice; must be once",
        ),
    ],
)
def test_errors_name_the_line(lines: str, old: str, new: str, problem: str) -> None:
    assert old in lines
    formats = "x=s0,b=d0" if lines is files.VEC_DS else "x=s0,B=ss10,c=s0"
    with refused(f"dir/x.gv, {problem}"):
        read_dot(dialect(formats, lines.replace(old, new)), "dir/x.gv")


@pytest.mark.parametrize("depth", ["1", "65537", "x", "-2", "", "9" * 5000])
def test_depths_that_no_queue_has(depth: str) -> None:
    text = dialect("x=s0,B=ss10,c=s0", files.JI_POINTS)
    wrong = text.replace('comment="out-B"]', f'comment="out-B" depth="{depth}"]')
    with pytest.raises(WorkloadError, match="^x.gv, line 35: edge depth .* from 2 to 65536$"):
        read_dot(wrong, "x.gv")


def test_depths_of_accumulators_that_take_points() -> None:
    text = dialect("x=s0,B=ss10,c=s0", files.JI_POINTS)
    plain = read_dot(text, "x.gv").graph
    entering = re.findall(r'    \S+ ->  2 \[.*type="crd" comment="i"\]', text)
    assert len(entering) == 1
    deep = text.replace(entering[0], entering[0].replace('"i"]', '"i" depth="9"]'))
    assert read_dot(deep, "x.gv").graph == plain.with_depths({("accumulate", "crd0"): 9})


WHOLE = dialect("X=ss01,B=ss01,C=ss01", files.IKJ_POINTS).splitlines()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, len(WHOLE) - 1), st.integers(0, len(WHOLE) - 1), st.integers(0, 200))
def test_damaged_files_give_one_line_that_names_them(line: int, other: int, cut: int) -> None:
    damaged = [
        WHOLE[other] if number == line and cut % 2 else text[:cut] if number == line else text
        for number, text in enumerate(WHOLE)
    ]
    try:
        read_dot("\n".join(damaged), "x.gv")
    except WorkloadError as error:
        assert re.match(r"x\.gv(, line \d+)?: ", str(error))
        assert "\n" not in str(error)
        assert "cannot be understood" not in str(error)


def test_streams_that_do_not_fit_name_the_file() -> None:
    text = dialect("x=s0,B=ss10,c=s0", files.JI_POINTS.replace("9 -> 4 ref", "10 -> 4 ref out-B"))
    with refused(
        "x.gv: graph: alu mul: val1 lies in loops (j, i) where val0 has (j); "
        "they must be the same, with the same coordinates"
    ):
        read_dot(text, "x.gv")

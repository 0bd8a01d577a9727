"""The PSDD text format."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gnarl.sw.workloads.dag.psdd_file import DECISION, LITERAL, TRUE, parse_psdd
from tests.support.errors import refused

HALF = math.log(0.5)

SOUND = f"""\
c a comment
c
psdd 99
L 10 0 1
L 11 0 -1
T 7 1 2 {HALF}
D 3 2 1 10 7 0.0

D 4 3 2 3 7 {HALF} 11 7 {HALF}
"""


def test_nodes_and_elements_stand_in_the_order_of_the_file() -> None:
    nodes = parse_psdd(SOUND, "f.psdd")
    assert nodes.kind.tolist() == [LITERAL, LITERAL, TRUE, DECISION, DECISION]
    assert nodes.id.tolist() == [10, 11, 7, 3, 4]
    assert nodes.line.tolist() == [4, 5, 6, 7, 9]
    assert nodes.label.tolist() == [1, -1, 2, 0, 0]
    assert nodes.elements.tolist() == [0, 0, 0, 1, 2]
    assert nodes.prime.tolist() == [0, 3, 1]
    assert nodes.sub.tolist() == [2, 2, 2]
    assert np.allclose(nodes.probability, [1, 1, 0.5, 1, 1])
    assert np.allclose(nodes.theta, [1, 0.5, 0.5])


def test_the_dialect_without_vtree_numbers_says_the_same() -> None:
    short = SOUND.replace("L 10 0 1", "L 10 1").replace("L 11 0 -1", "L 11 -1")
    short = short.replace("T 7 1 2", "T 7 2")
    one, two = parse_psdd(SOUND, "f"), parse_psdd(short, "f")
    for field in ("kind", "id", "label", "probability", "elements", "prime", "sub", "theta"):
        assert np.array_equal(getattr(one, field), getattr(two, field)), field


def test_lines_may_end_as_on_windows() -> None:
    nodes = parse_psdd(SOUND.replace("\n", "\r\n"), "f")
    assert nodes.line.tolist() == [4, 5, 6, 7, 9]


def test_unused_leaves_are_sound() -> None:
    nodes = parse_psdd("psdd 3\nL 0 0 1\nL 1 0 -1\nD 2 0 1 0 0 0\n", "f")
    assert nodes.used.tolist() == [True, False, True]


@pytest.mark.parametrize("log", ["-inf", "-Infinity", "-1000"])
def test_a_probability_may_be_zero(log: str) -> None:
    assert parse_psdd(f"psdd 1\nT 0 0 1 {log}\n", "f").probability.tolist() == [0.0]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "f: the file is empty: must start with 'psdd COUNT'"),
        ("c only a comment\n", "f: the file is empty: must start with 'psdd COUNT'"),
        ("psdd 3\n", "f: the file has no nodes: must have at least one"),
        ("c\nL 0 0 1\n", "f:2: the first line must be 'psdd COUNT'"),
        ("psdd\n", "f:1: the first line must be 'psdd COUNT'"),
        ("psdd 1\nX 0 0 1\n", "f:2: unknown node type 'X': must be L, T, F or D"),
        ("psdd 1\nL 0\n", "f:2: 2 fields: must be 'L id [vtree] literal'"),
        ("psdd 1\nL 0 0 1 1\n", "f:2: 5 fields: must be 'L id [vtree] literal'"),
        (
            "psdd 1\nT 0 0\n",
            "f:2: 3 fields: must be 'T id [vtree] variable log' or 'T id vtree variable "
            "log-of-false log-of-true'",
        ),
        (
            "psdd 1\nT 0 0 1 -0.5 -0.5\n",
            "f:2: the probabilities of variable 1 sum to 1.21306: must sum to 1 within 0.001",
        ),
        ("psdd 1\nT 0 0 1 0.5 -0.5\n", "f:2: log-probability 0.5: must not be above 0"),
        ("psdd 1\nF\n", "f:2: 1 fields: must be 'F id [vtree]'"),
        ("psdd 1\nD 0 0\n", "f:2: 3 fields: must be 'D id vtree count {prime sub log}'"),
        ("psdd 1\nL 0 0 0\n", "f:2: literal 0: must be a variable or minus a variable"),
        ("psdd 1\nL 0 0 x\n", "f:2: 'x' is not a whole number"),
        ("psdd 1\nL 1.5 0 1\n", "f:2: '1.5' is not a whole number"),
        (
            "psdd 1\nL 9223372036854775808 0 1\n",
            "f:2: 9223372036854775808 has more than 63 bits",
        ),
        ("psdd 1\nT 0 0 0 -1\n", "f:2: variable 0: must be above 0"),
        ("psdd 1\nT 0 0 -3 -1\n", "f:2: variable -3: must be above 0"),
        ("psdd 1\nT 0 0 3 p\n", "f:2: 'p' is not a number"),
        ("psdd 1\nT 0 0 3 nan\n", "f:2: nan: must be finite in float64"),
        ("psdd 1\nT 0 0 3 -1e400\n", "f:2: -1e400: must be finite in float64"),
        ("psdd 1\nT 0 0 3 inf\n", "f:2: inf: must be finite in float64"),
        ("psdd 1\nT 0 0 3 0.25\n", "f:2: log-probability 0.25: must not be above 0"),
        ("psdd 1\nL 0 [] 1\n", "f:2: '[]' is not a whole number"),
        ("psdd 1\nT 0 [] 3 0\n", "f:2: '[]' is not a whole number"),
        ("psdd 1\nL 0 0 1\nD 1 [] 1 0 0 0\n", "f:3: '[]' is not a whole number"),
        (
            "psdd 1\nL 0 0 1\nL 1 0 2\nD 2 0 2 0 1 -0.1 1 0 -0.1\n",
            "f:4: the probabilities of a decision sum to 1.80967: must sum to 1 within 0.001",
        ),
        (
            "psdd 1\nL 0 0 1\nT 7 1 2 -0.5\n",
            "f:3: the last node, 7, is no decision, and uses none of the 1 before it: must be the "
            "root; is the file truncated?",
        ),
        ("psdd 1\nL 5 0 1\nL 5 0 2\n", "f:3: node 5 is already defined in line 2"),
        ("psdd 1\nL 0 0 1\nD 1 0 0\n", "f:3: 0 elements: a decision must have at least one"),
        (
            "psdd 1\nL 0 0 1\nD 1 0 2 0 0 -1 0 0\n",
            "f:3: 9 fields: a decision with 2 elements must have 10",
        ),
        (
            "psdd 1\nL 0 0 1\nD 1 0 1 0 2 0.0\nL 2 0 2\n",
            "f:3: node 2 is not defined above: children must come before parents",
        ),
        (
            "psdd 1\nL 0 0 1\nD 1 0 1 1 0 0.0\n",
            "f:3: node 1 is not defined above: children must come before parents",
        ),
        (
            "psdd 1\nL 0 0 1\nL 1 0 2\nD 2 0 1 0 1 -0.5\n",
            "f:4: the only element of a decision has log-probability -0.5: must be 0 "
            "(probability 1)",
        ),
        (
            "psdd 1\nL 0 0 1\nL 1 0 2\nD 2 0 1 0 1 0\nL 3 0 3\n",
            "f:4: decision 2 is used by no other: only the root, the last node, may be; is the "
            "file truncated?",
        ),
    ],
)
def test_refusals(text: str, error: str) -> None:
    with refused(error):
        parse_psdd(text, "f")


@pytest.mark.parametrize("lines", range(9))
def test_a_file_that_breaks_off_between_lines_is_noticed_unless_it_is_a_circuit(lines: int) -> None:
    text = """\
psdd 8
L 0 0 1
L 1 0 -1
L 2 1 2
L 3 1 -2
D 4 2 1 0 2 0.0
D 5 2 1 1 3 0.0
D 6 3 2 4 5 -0.5 5 4 -0.9328
"""
    part = "\n".join(text.splitlines()[:lines])
    errors = {
        0: "f: the file is empty: must start with 'psdd COUNT'",
        1: "f: the file has no nodes: must have at least one",
        7: "f:6: decision 4 is used by no other: only the root, the last node, may be; is the "
        "file truncated?",
    }
    for last in (3, 4, 5):
        errors[last] = (
            f"f:{last}: the last node, {last - 2}, is no decision, and uses none of the {last - 2} "
            "before it: must be the root; is the file truncated?"
        )
    if lines in errors:
        with refused(errors[lines]):
            parse_psdd(part, "f")
    else:
        parse_psdd(part, "f")

"""FROSTT's text format."""

from __future__ import annotations

import pytest
from hypothesis import given

from gnarl.sw.workloads.tensor.tensor import Tensor
from gnarl.sw.workloads.tensor.tns_file import format_tns, parse_tns
from tests.support.errors import refused
from tests.support.tensors import random_tensors, same


def test_tns_by_hand() -> None:
    tensor = parse_tns("# a comment\n\n2 1 3 5.5\n1 4\t1 -1e2\n", "f")
    assert tensor.shape == (2, 4, 3)
    assert tensor.coordinates.tolist() == [[0, 3, 0], [1, 0, 2]]
    assert tensor.values.tolist() == [-100, 5.5]


def test_the_shape_of_tns_may_be_a_comment() -> None:
    assert parse_tns("# shape 9 8\n2 1 5\n", "f").shape == (9, 8)
    assert parse_tns("# shape of it: any\n2 1 5\n", "f").shape == (2, 1)
    assert parse_tns("# shape 9 8\n", "f").nnz == 0
    assert parse_tns("# shape\n4.5\n", "f").to_dense() == 4.5


def test_tns_as_it_is_written() -> None:
    tensor = Tensor((3, 4), [[0, 1], [2, 2]], [0.1, -0.0])
    assert format_tns(tensor) == "# shape 3 4\n1 2 0.1\n3 3 -0.0\n"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "# nothing\n",
            "f: the file has no entries: must have at least one, or a comment '# shape SIZES'",
        ),
        ("1 1 2\n1 2\n", "f:2: 2 fields: must be 3, as in line 1"),
        ("# c\n1 1 2\n1 0 2\n", "f:3: index 0: must be at least 1"),
        ("1 -4 2\n", "f:1: index -4: must be at least 1"),
        ("1.0 1 2\n", "f:1: '1.0' is not a whole number"),
        ("1 1_0 2\n", "f:1: '1_0' is not a whole number"),
        ("1 \u0663 2\n", "f:1: '\u0663' is not a whole number"),
        ("1 1\0 2\n", "f:1: '1\\x00' is not a whole number"),
        ("1 99999999999999999999 2\n", "f:1: 99999999999999999999 has more than 63 bits"),
        ("1 1 two\n", "f:1: 'two' is not a number"),
        ("1 1 nan\n", "f:1: nan: must be finite in float64"),
        ("1 1 -inf\n", "f:1: -inf: must be finite in float64"),
        ("1 1 1e999\n", "f:1: 1e999: must be finite in float64"),
        (
            "1 2 1e308\n2 1 1\n\n1 2 1e308\n",
            "f: the sum of entry (1, 2) in line 1 and others = inf: must be finite in float64",
        ),
        ("# shape 3 4 5\n1 2 3\n", "f:1: a shape of 3 sizes: must be 2, as entries have indices"),
        (
            "1 2 3\n# shape 3 1\n",
            "f:1: entry (1, 2): index 2 must be at most 1, the size in f:2",
        ),
        ("# shape 3 4\n1 1 2\n# shape 3 5\n", "f:3: another shape than in f:1: must be one"),
        ("# shape 3 0\n1 1 2\n", "f:2: entry (1, 1): index 2 must be at most 0, the size in f:1"),
    ],
)
def test_tns_refusals(text: str, error: str) -> None:
    with refused(error):
        parse_tns(text, "f")


@given(random_tensors(min_dims=1, max_dims=4))
def test_tns_round_trips(tensor: Tensor) -> None:
    assert same(parse_tns(format_tns(tensor), "f"), tensor)

"""Index expressions as nests, against einsum; what is not supported is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.loops.expressions.expression_parts import parts_of
from gnarl.sw.workloads.loops.expressions.result_levels import ResultLevels, result_tensor
from gnarl.sw.workloads.loops.expressions.tensor_expression import (
    expression_nest,
    expression_workload,
)
from gnarl.sw.workloads.loops.ir.nest import AugmentedStore, Merge, Nest, Store, statements
from gnarl.sw.workloads.loops.ir.printer import print_nest
from gnarl.sw.workloads.loops.ir.scalar_type import INT32
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.tensor.parser import parse
from tests.support.errors import refused
from tests.support.sam.repeated import make

SIZES = {"i": 4, "j": 5, "k": 6}


def operands(text: str, density: float) -> dict[str, np.ndarray]:
    """Small whole numbers: sums of their products are exact."""
    random = np.random.default_rng(len(text))
    found = {}
    for name, indices in re.findall(r"(\w+)\(([\w,]*)\)", text.split(" -")[0].split("=")[1]):
        shape = [SIZES[index] for index in indices.split(",")]
        values = random.integers(1, 9, shape) * (random.random(shape) < density)
        found[name] = values.astype(np.float64)
    return found


def same_when_printed(nest: Nest) -> bool:
    """With its sizes in the same order, too."""
    return read_source(print_nest(nest), "f.py") == nest


def run(text: str, inputs: dict[str, np.ndarray]) -> np.ndarray:
    workload = expression_workload(text, inputs)
    assert same_when_printed(workload.nest)
    found = GoldenLoops(workload.nest).run(workload.binding)
    if workload.shape:
        return result_tensor(parse(text), workload.shape, found).to_dense()
    (dense,) = found.values()
    return dense


@pytest.mark.parametrize("density", (0, 0.4, 1))
@pytest.mark.parametrize(
    "text",
    [
        "X(i)=B(i)*C(i)",
        "X(i)=B(i)*C(i) -f=B:s",
        "X(i)=B(i)*C(i) -f=B:s -f=C:s",
        "X(i,j)=B(i,j)*C(i,j) -f=B:ds -f=C:ds",
        "X(i,j)=B(i,j)*C(i,j) -f=B:ss -f=C:ss",
        "X(i,j)=B(i,j)*C(i,j) -f=B:ss -f=C:dd",
        "X(i,j)=B(i,k)*C(k,j) -f=B:ds -f=C:ds:1,0",
        "X(i,j)=B(i,k)*C(k,j) -f=B:ss -f=C:ss:1,0",
        "X(i,j)=B(i,k)*C(k,j) -f=B:ds -s=reorder(i,k,j)",
        "X(i,j)=B(i,k)*C(k,j) -f=B:ds -f=C:ds -s=reorder(i,k,j)",
        "X(i)=B(i,j)*C(j) -f=B:ds",
        "X(i,j)=B(i,j)*C(i,k)*D(j,k) -f=B:ds",
        "X(i)=B(i)*C(i) -f=X:s -f=B:s -f=C:s",
        "X(i)=B(i)*C(i) -f=X:s -f=B:s",
        "X(i)=B(i)*C(i) -f=X:s",
        "X(i,j)=B(i,j)*C(i,j) -f=X:ds -f=B:ds -f=C:ds",
        "X(i,j)=B(i,j)*C(i,j) -f=X:ss -f=B:ds -f=C:ds",
        "X(i,j)=B(i,j)*C(i,j) -f=X:ss -f=B:ss -f=C:ss",
        "X(i,j)=B(i,j)*C(j) -f=X:ds -f=B:ds",
        "X(i,j)=B(i,j)*C(j) -f=X:ss -f=B:ss",
        "X(i,j)=B(i,j)*C(j) -f=X:ss -f=B:ss -f=C:s",
        "X(i,j)=B(i)*C(j) -f=X:ss -f=B:s -f=C:s",
        "X(i,j)=B(i)*C(j) -f=X:ds -f=C:s",
        "X(i,j)=B(i,k)*C(k,j) -f=X:ds -f=B:ds -f=C:ds:1,0",
        "X(i,j)=B(i,k)*C(k,j) -f=X:ss -f=B:ss -f=C:ss:1,0",
        "X(i,j)=B(i,k)*C(k,j) -f=X:ss -f=B:ss -f=C:dd:1,0",
        "X(i,j)=B(i,j)*C(i,k)*D(j,k) -f=X:ss -f=B:ss",
        "X(i)=B(i,j)*C(j) -f=X:s -f=B:ds",
        "X(i,j,k)=B(i,j,k)*C(i,j,k) -f=X:sss -f=B:sss -f=C:sss",
        "X(i,j,k)=B(i,j,k)*C(j,k) -f=X:dss -f=B:dss -f=C:ss",
    ],
)
def test_products(text: str, density: float) -> None:
    inputs = operands(text, density)
    result, terms = text.split(" -")[0].split("=")
    subscripts = ",".join(re.findall(r"\(([\w,]*)\)", terms.replace(",", "")))
    out = result.split("(")[1].rstrip(")").replace(",", "")
    wanted = np.einsum(f"{subscripts}->{out}", *inputs.values())
    np.testing.assert_array_equal(run(text, inputs), wanted)


@pytest.mark.parametrize("density", (0, 0.4, 1))
@pytest.mark.parametrize(
    "text",
    [
        "X(i)=B(i)+C(i)",
        "X(i)=B(i)+C(i) -f=B:s -f=C:s",
        "X(i,j)=B(i,j)+C(i,j) -f=B:ds -f=C:ds",
        "X(i,j)=B(i,j)+C(i,j)",
        "X(i,j)=B(i,j)+C(i,j) -f=B:ss -f=C:ss",
        "X(i)=B(i)+C(i) -f=X:s -f=B:s -f=C:s",
        "X(i,j)=B(i,j)+C(i,j) -f=X:ds -f=B:ds -f=C:ds",
        "X(i,j)=B(i,j)+C(i,j) -f=X:ss -f=B:ds -f=C:ds",
        "X(i,j)=B(i,j)+C(i,j) -f=X:ss -f=B:ss -f=C:ss",
        "X(i,j,k)=B(i,j,k)+C(i,j,k) -f=X:sss -f=B:sss -f=C:sss",
    ],
)
def test_sums(text: str, density: float) -> None:
    inputs = operands(text, density)
    np.testing.assert_array_equal(run(text, inputs), inputs["B"] + inputs["C"])


def test_constants_and_scalars() -> None:
    text = "x=2*B(i)*C(i) -f=B:s"
    inputs = operands(text, 0.7)
    assert run(text, inputs).tolist() == [2 * (inputs["B"] @ inputs["C"])]


def test_only_sums_are_added_to_the_zeros_of_a_dense_result() -> None:
    """0 + -0 would not be -0."""
    stores = [
        type(each)
        for text in ("X(i)=B(i)*C(i)", "X(i)=B(i)*C(j)")
        for each in statements(expression_nest(text).body)
        if isinstance(each, Store | AugmentedStore)
    ]
    assert stores == [Store, AugmentedStore]


@pytest.mark.parametrize(
    "text, is_asked",
    [
        ("X(i,j)=B(i,j)*c(j) -f=X:ss -f=B:ss", False),
        ("X(i,j)=B(i,j)*C(i,j) -f=X:ss -f=B:ss -f=C:ss", True),
        ("X(i,j)=B(i,j)+C(i,j) -f=X:ss -f=B:ss -f=C:ss", False),
        ("X(i,j)=B(i,j)*c(j) -f=X:ss -f=B:ds", True),
    ],
)
def test_whether_rows_are_empty_is_asked_where_they_may_be(text: str, is_asked: bool) -> None:
    assert ("if X_count1 > X_end1:" in print_nest(expression_nest(text))) == is_asked


def test_a_result_stored_by_columns() -> None:
    text = "X(i,j)=B(i,j)+C(i,j) -f=X:ss:1,0 -f=B:ss:1,0 -f=C:ss:1,0 -s=reorder(j,i)"
    inputs = operands(text, 0.4)
    np.testing.assert_array_equal(run(text, inputs), inputs["B"] + inputs["C"])


def entries(text: str, inputs: dict[str, np.ndarray]) -> list[list[int]]:
    """Coordinates of the result's entries."""
    workload = expression_workload(text, inputs)
    found = GoldenLoops(workload.nest).run(workload.binding)
    return result_tensor(parse(text), workload.shape, found).coordinates.tolist()


LEFT = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]])
RIGHT = np.array([[-1, 4, 0], [0, 0, 5], [6, 0, 0]])


@pytest.mark.parametrize(
    "text, coordinates",
    [
        # Where both have one, or either: a sum that cancels is an entry.
        ("X(i,j)=B(i,j)*C(i,j) -f=X:ss -f=B:ss -f=C:ss", [[0, 0]]),
        (
            "X(i,j)=B(i,j)+C(i,j) -f=X:ds -f=B:ds -f=C:ds",
            [[0, 0], [0, 1], [0, 2], [1, 2], [2, 0], [2, 1]],
        ),
        # Row 0 and column 2 have nothing in common, nor have row 1 and any column.
        (
            "X(i,j)=B(i,k)*C(k,j) -f=X:ds -f=B:ds -f=C:ds:1,0",
            [[0, 0], [0, 1], [2, 2]],
        ),
        # Of dense c, the pattern of B.
        ("X(i,j)=0*B(i,j) -f=X:ss -f=B:ss", [[0, 0], [0, 2], [2, 1]]),
    ],
)
def test_what_is_an_entry(text: str, coordinates: list[list[int]]) -> None:
    named = {"B": LEFT, "C": RIGHT}
    assert entries(text, {name: named[name] for name in named if f"{name}(" in text}) == coordinates


@pytest.mark.parametrize(
    "text, array, size",
    [
        ("X(i)=B(i)*C(i) -f=X:s -f=B:s -f=C:s", "X_values", 2),
        ("X(i)=B(i)+C(i) -f=X:s -f=B:s -f=C:s", "X_values", 5),
        ("X(i)=B(i)*C(i) -f=X:s", "X_values", 9),
        ("X(i,j)=B(i)*C(j) -f=X:ss -f=B:s -f=C:s", "X_values", 6),
        ("X(i,j)=B(i)*C(j) -f=X:ss -f=B:s -f=C:s", "X_coordinates0", 2),
        ("x(i)=2*B(i) -f=x:s -f=B:s", "x_values", 2),
    ],
)
def test_room_for_results(text: str, array: str, size: int) -> None:
    """The least of what operands have, of a sum what both have, or all of the result."""
    inputs = {"B": np.arange(9) // 7, "C": np.arange(9) // 6}
    workload = expression_workload(
        text, {name: inputs[name] for name in inputs if f"{name}(" in text}
    )
    assert workload.binding.arrays[array].shape == (size,)


def test_a_sum_has_no_more_entries_than_elements() -> None:
    text = "X(i)=B(i)+C(i) -f=X:s -f=B:s -f=C:s"
    workload = expression_workload(text, {"B": np.ones(3), "C": np.ones(3)})
    assert workload.binding.arrays["X_values"].shape == (3,)


def test_results_that_no_array_holds() -> None:
    empty = (np.zeros((0, 2), np.int64), np.zeros(0), (1 << 16, 1 << 16))
    text = "X(i,j)=B(i,k)*C(k,j) -f=X:ds -f=B:ds -f=C:ds:1,0"
    with pytest.raises(CapacityError) as caught:
        expression_workload(text, {"B": empty, "C": empty})
    assert str(caught.value) == (
        "X: level 1 may have 4,294,967,296 coordinates: must be at most 2,147,483,647"
    )


def test_results_that_arrays_just_hold() -> None:
    parts = parts_of(parse("X(i)=B(i)*C(i) -f=X:s"))
    found = ResultLevels(parts).capacities({"i_size": INT32.most})
    assert found == {"X_entries0": INT32.most}


def test_fibers_merge_only_where_both_are_compressed() -> None:
    def merges(text: str) -> int:
        found = statements(expression_nest(text).body)
        return sum(isinstance(each, Merge) for each in found)

    assert merges("X(i)=B(i)*C(i) -f=B:s -f=C:s") == 1
    assert merges("X(i)=B(i)*C(i) -f=B:s") == 0


@pytest.mark.parametrize(
    "text, error",
    [
        ("X(i)=B(i)*C(i) -f=X:b", "1: X: levels must be dense or compressed"),
        (
            "X(i,j)=B(i,j)*C(j) -f=X:sd -f=B:sd",
            "1: X: sd: dense levels of a result must be around compressed ones, as in ds",
        ),
        (
            "X(i,j)=B(i,j)*C(j) -f=X:ds -f=B:ss",
            "1: X: level 0 is dense: must be compressed, as i is in B",
        ),
        (
            "X(i,j)=B(i,k)*C(k,j) -f=X:ds -f=B:ds -f=C:ds -s=reorder(i,k,j)",
            "1: X(i,j): is stored i, j: loops must be in this order, with those of sums inside",
        ),
        ("X(i)=B(i)-C(i)", "1: sub: an expression must be a product, or a sum of two tensors"),
        (
            "X(i)=B(i)*(C(i)+D(i))",
            "1: add: an expression must be a product, or a sum of two tensors",
        ),
        ("X(i)=B(i)+C(i)+D(i)", "1: a sum must be of two tensors with the indices of the result"),
        ("X(i)=B(i)+C(i,j)", "1: a sum must be of two tensors with the indices of the result"),
        ("X(i)=B(i)+C(i) -f=B:s", "1: i: both tensors of a sum must be compressed, or neither"),
        (
            "X(i,j)=B(i,j)+C(i,j) -f=B:sd -f=C:sd",
            "1: j: levels of a sum inside of compressed ones must be compressed",
        ),
        (
            "X(i)=B(i)*C(i)*D(i) -f=B:s -f=C:s -f=D:s",
            "1: i: at most two compressed tensors can be merged",
        ),
        ("X(i)=B(i)*C(i) -f=B:b", "6: B: levels must be dense or compressed"),
        ("X(i,j)=B(i,k)*C(k,j) -f=C:ds", "15: C(k,j): is stored k, j: loops must be in this order"),
        ("X(i)=B(i)*C(i) -s=parallelize(i,2)", "1: parallelize is not supported in loop nests"),
    ],
)
def test_refusals(text: str, error: str) -> None:
    with refused(f"expression:1:{error}"):
        expression_nest(text)


@pytest.mark.parametrize("format", ("dd", "ds", "ss"))
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("X(i,k)=B(i,j)*B(j,k) -f=X:dd -s=reorder(i,j,k)", "ij,jk->ik"),
        ("X(i,k)=B(i,j)*B(k,j) -f=X:dd -s=reorder(i,k,j)", "ij,kj->ik"),
        ("X(j,k)=B(i,j)*B(i,k) -f=X:dd -s=reorder(i,j,k)", "ij,ik->jk"),
        ("x(k)=B(i,j)*B(j,k) -f=x:d -s=reorder(i,j,k)", "ij,jk->k"),
    ],
)
def test_products_of_a_tensor_with_itself(text: str, expected: str, format: str) -> None:
    matrix = np.array([[0, 2, 0], [0, 0, 5], [4, 0, 1.0]])
    got = run(f"{text} -f=B:{format}", {"B": matrix})
    np.testing.assert_array_equal(got, np.einsum(expected, matrix, matrix))


def test_random_statements_with_repeated_tensors() -> None:
    ran = 0
    for seed in range(150):
        case = make(seed, kinds="dds")
        try:
            got = run(case.text, case.inputs)
        except WorkloadError as error:
            assert "\n" not in str(error)
            continue
        np.testing.assert_array_equal(got.reshape(case.expected.shape), case.expected, case.text)
        ran += 1
    assert ran >= 15

"""Loops over merged fibers, at all levels and coupled, on the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.coupled.merge_loops import merge_loops
from gnarl.sw.compiler.tmu.optimise import optimise
from gnarl.sw.compiler.tmu.text import from_text
from gnarl.sw.workloads.loops.operations import sparse_matrices, sparse_vectors
from gnarl.sw.workloads.loops.python.source import read_source
from tests.support.parameters import slow_but_pairs
from tests.support.tmu.manners import MANNERS
from tests.support.tmu.programs import Run, check
from tests.support.tmu.sparse_fibers import LENGTH, PAIRS, coordinates, matrices, pairs, vectors

CONFIG = TmuConfig(lanes=2, stream_words=64)

VECTORS = {
    nest.name: nest
    for nest in (
        sparse_vectors.vector_product,
        sparse_vectors.vector_sum,
        sparse_vectors.compressed_vector_product,
        sparse_vectors.compressed_vector_sum,
    )
}
MATRICES = {
    nest.name: nest
    for nest in (
        sparse_matrices.matrix_elementwise_product,
        sparse_matrices.matrix_sum,
        sparse_matrices.matrix_product,
        sparse_matrices.compressed_matrix_elementwise_product,
        sparse_matrices.compressed_matrix_sum,
        sparse_matrices.compressed_matrix_product,
    )
}


def nest(text: str):
    head = "n, m, rows, dim = sizes('n', 'm', 'rows', 'dim')\n\n\n@nest\n"
    return read_source(head + text, "file.py")


# The rows of two matrices merge, and then those rows' columns.
DOUBLY_COMPRESSED = nest(
    "def f(left_rows: int32[n], left_offsets: int32[n + 1], left: int32[rows],\n"
    "      left_values: float32[rows], right_rows: int32[m], right_offsets: int32[m + 1],\n"
    "      right: int32[dim], right_values: float32[dim], out: float32[12, 12]):\n"
    "    for i, (a, b) in intersect(left_rows, right_rows):\n"
    "        for j, (p, q) in intersect(left[left_offsets[a] : left_offsets[a + 1]],\n"
    "                                   right[right_offsets[b] : right_offsets[b + 1]]):\n"
    "            out[i, j] += left_values[p] * right_values[q]\n"
)

# Rows of a dense matrix, for coordinates that two fibers have.
DENSE_ROWS = nest(
    "def f(left: int32[n], left_values: float32[n], right: int32[m], right_values: float32[m],\n"
    "      dense: float32[rows, dim], out: float32[dim]):\n"
    "    for k, (p, q) in intersect(left, right):\n"
    "        for e in range(dim):\n"
    "            out[e] += left_values[p] * right_values[q] * dense[k, e]\n"
)


PROGRAMS = [*MANNERS.values()]


def check_vectors(
    name: str, pair: tuple[list[int], list[int]], program: dict[str, Any], seed: int = 0
) -> Run:
    values = vectors(*pair, seed)
    if not name.startswith("compressed"):
        values["out"] = np.zeros(LENGTH, np.float32)
    return check(VECTORS[name], values, CONFIG, **program)


@pytest.mark.parametrize(
    "name, pair, manner", slow_but_pairs([*VECTORS], [*PAIRS], ("level 4", "coupled"))
)
def test_pairs_of_vectors(name: str, pair: str, manner: str):
    check_vectors(name, PAIRS[pair], MANNERS[manner])


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(sorted(VECTORS)), pairs, st.sampled_from(PROGRAMS), st.integers(0, 9))
def test_random_vectors(
    name: str, pair: tuple[list[int], list[int]], program: dict[str, Any], seed: int
):
    check_vectors(name, pair, program, seed)


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(sorted(MATRICES)),
    st.lists(pairs, max_size=4),
    st.sampled_from(PROGRAMS),
    st.integers(0, 9),
)
def test_random_matrices(name: str, rows: list, program: dict[str, Any], seed: int):
    values = matrices([left for left, _ in rows], [right for _, right in rows], seed)
    if not name.startswith("compressed"):
        columns = len(rows) if name == "matrix_product" else LENGTH
        values["out"] = np.zeros((len(rows), columns), np.float32)
    check(MATRICES[name], values, CONFIG, **program)


@settings(max_examples=8, deadline=None)
@given(
    st.dictionaries(st.integers(0, LENGTH - 1), coordinates, max_size=4),
    st.dictionaries(st.integers(0, LENGTH - 1), coordinates, max_size=4),
    st.sampled_from(PROGRAMS),
)
def test_merges_inside_of_merges(left: dict, right: dict, program: dict[str, Any]):
    sides = {"left": sorted(left), "right": sorted(right)}
    values = matrices([left[row] for row in sides["left"]], [right[row] for row in sides["right"]])
    values |= {f"{side}_rows": np.array(rows, np.int32) for side, rows in sides.items()}
    check(DOUBLY_COMPRESSED, values, CONFIG, **program)


@pytest.mark.parametrize(
    "manner, dim, pair", slow_but_pairs([*MANNERS], (1, 6, 8), ("equal", "the last ones meet"))
)
def test_vectors_inside_of_merges(manner: str, dim: int, pair: str):
    dense = np.random.default_rng(dim).standard_normal((LENGTH, dim)).astype(np.float32)
    values = vectors(*PAIRS[pair]) | {"dense": dense}
    check(DENSE_ROWS, values, TmuConfig(lanes=4, stream_words=64), **MANNERS[manner])


# Rows that the left one of two matrices has, of all that either has.
ROWS_OF_ONE = nest(
    "def f(left_rows: int32[n], left_offsets: int32[n + 1], left: int32[rows],\n"
    "      left_values: float32[rows], right_rows: int32[m], out: float32[12, 12]):\n"
    "    for i, (a, b), (in_left, in_right) in union(left_rows, right_rows):\n"
    "        for p in range(left_offsets[a] if in_left else 0,\n"
    "                       left_offsets[a + 1] if in_left else 0):\n"
    "            out[i, left[p]] += left_values[p]\n"
)


@pytest.mark.parametrize("program", (*PROGRAMS[:1], *PROGRAMS[-2:]), ids=str)
def test_loops_inside_of_unions(program: dict[str, Any]):
    values = matrices([[1, 4], [], [0, 2, 11]], [])
    values |= {"left_rows": np.array([1, 3, 8]), "right_rows": np.array([0, 3, 9])}
    check(ROWS_OF_ONE, values, CONFIG, **program)


CHOICES = nest(
    "def f(left: int32[n], left_values: float32[n], right: int32[m], right_values: float32[m],\n"
    "      out: float32[12], count: int32[1], last: int32[1]):\n"
    "    number = 0\n"
    "    for k, (p, q), (has_p, has_q) in union(left, right):\n"
    "        if not has_p:\n"
    "            out[k] -= right_values[q]\n"
    "            last[0] = q\n"
    "        elif has_q or k < 3:\n"
    "            number += 1\n"
    "        if not (has_p and has_q):\n"
    "            out[k] += 1.0\n"
    "    count[0] = number\n"
)


@pytest.mark.parametrize("pair", PAIRS)
def test_what_unions_choose(pair: str):
    for program in PROGRAMS[-2:]:
        check(CHOICES, vectors(*PAIRS[pair]), CONFIG, **program)


@pytest.mark.parametrize("place", ("k - k", "p * 0 + 2", "q - q + 1"))
@pytest.mark.parametrize("program", PROGRAMS[-2:], ids=str)
def test_products_that_go_to_the_same_place(program: dict[str, Any], place: str):
    """At an index that has the merge's values, all of which cancel."""
    products = nest(
        "def f(left: int32[n], left_values: float32[n], right: int32[m],\n"
        "      right_values: float32[m], out: float32[12]):\n"
        "    for k, (p, q) in intersect(left, right):\n"
        f"        out[{place}] = left_values[p] * right_values[q]\n"
    )
    check(products, vectors(*PAIRS["equal"]), CONFIG, **program)


def test_a_union_queues_a_coordinate_a_fiber_and_the_mask():
    """A token, two values and three words more, for each coordinate."""
    run = check_vectors("vector_sum", ([0, 1, 2], [2, 3]), {"opt": 4})
    assert run.counters["tokens_queued"] == 4 + 1
    assert run.counters["words_queued"] == 5 * 4


THREE = """\
func.func @f(%x: memref<9xi32>, %out: memref<9xi32>) attributes {names = "x,out"} {
  %zero = arith.constant 0 : i32
  %nine = arith.constant 9 : i32
  "fiber.merge"(%x, %x, %x, %zero, %zero, %zero, %nine, %nine, %nine)
      <{kind = "intersect", operandSegmentSizes = array<i32: 3, 3, 3>}> ({
  ^bb0(%k: i32, %p: i32, %q: i32, %r: i32):
    %at = arith.index_cast %k : i32 to index
    memref.store %q, %out[%at] : memref<9xi32>
  }) {place = "file.py:4:5"}
      : (memref<9xi32>, memref<9xi32>, memref<9xi32>, i32, i32, i32, i32, i32, i32) -> ()
  func.return
}
"""


def test_more_fibers_than_lanes():
    passes = ["decouple", "lower"]
    with pytest.raises(CapacityError) as caught:
        optimise(THREE, "f.mlir", passes, CONFIG)
    assert str(caught.value) == ("file.py:4:5: lanes = 2: must be at least 3: so many fibers merge")
    assert optimise(THREE, "f.mlir", passes, TmuConfig(lanes=4)).count('"slc.pop"') == 2


def test_more_than_two_fibers_of_a_coupled_program():
    with pytest.raises(WorkloadError) as caught:
        merge_loops(from_text(THREE, "f.mlir"), CONFIG)
    assert str(caught.value) == (
        "file.py:4:5: a merge of 3 fibers: the execute unit alone merges 2"
    )


TAKES = "def f(x: int32[n], y: int32[n], z: float32[n], o: float32[n], w: int32[n]):\n"


@pytest.mark.parametrize(
    "body, message",
    [
        (
            "for i in range(n):\n"
            "        for k, (p, q) in intersect(x, y):\n            o[k] += z[p]\n"
            "        for k, (p, q) in intersect(x, y):\n            o[k] += z[p]",
            "9:9: a loop over merged fibers behind another one in the same body",
        ),
        (
            "for i in range(n):\n        w[i] = 1\n"
            "    for k, (p, q) in intersect(x, w):\n        o[k] += z[p]",
            "8:5: a loop over merged fibers whose coordinates the nest writes",
        ),
        (
            "for k, (p, q), (has_p, has_q) in union(x, y):\n"
            "        for j, (r, s) in intersect(x, y):\n            o[j] += z[r]",
            "7:9: a loop over merged fibers inside of a union",
        ),
        (
            "for i in range(n):\n        w[i] = 1\n"
            "    for k, (p, q) in intersect(x[0 : w[0]], y):\n        o[k] += z[p]",
            "8:5: a loop over merged fibers whose bounds are no streams",
        ),
        (
            "for i in range(n):\n        if x[i] < 1:\n"
            "            for k, (p, q) in intersect(x, y):\n                o[k] += z[p]",
            "8:13: a loop over merged fibers inside of a condition",
        ),
        (
            "for i in range(n):\n        for e in range(w[i]):\n            w[i] += 1\n"
            "            for k, (p, q) in intersect(x, y):\n                o[k] += z[p]",
            "9:13: a loop over merged fibers inside of a loop that is not traversed",
        ),
        (
            "for k, (p, q), (has_p, has_q) in union(x, y):\n        o[k] = z[p]",
            "7:9: comes of the position of a fiber that may lack the coordinate: must be for "
            "coordinates alone that it has",
        ),
    ],
)
def test_refusals(body: str, message: str):
    values = {name: np.arange(3, dtype=np.int32) for name in "xyw"}
    values |= {name: np.zeros(3, np.float32) for name in "zo"}
    with pytest.raises(WorkloadError) as caught:
        check(nest(TAKES + "    " + body + "\n"), values, CONFIG, 0)
    assert str(caught.value) == f"file.py:{message}: cannot be decoupled; --coupled runs it"

"""Operations of Ember's table I as loop nests, against NumPy and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.operation_inputs import (
    BLOCKS,
    RECOMMENDATION_MODELS,
    BagShape,
    block_gather_inputs,
    embedding_bag_inputs,
    fiber,
    graph_inputs,
    knowledge_graph_inputs,
    normal,
)
from gnarl.sw.workloads.loops.operations.block_gather import block_gather, token_gather
from gnarl.sw.workloads.loops.operations.embedding_bag import (
    embedding_bag_lengths,
    embedding_bag_max,
    embedding_bag_mean,
    embedding_bag_sum,
    embedding_bag_weighted,
    embedding_bag_weighted_mean,
)
from gnarl.sw.workloads.loops.operations.fused_mm import fused_mm
from gnarl.sw.workloads.loops.operations.knowledge_graph import (
    knowledge_graph_l1,
    knowledge_graph_l2,
)
from gnarl.sw.workloads.loops.operations.sparse_matrices import (
    compressed_matrix_elementwise_product,
    compressed_matrix_product,
    compressed_matrix_sum,
    matrix_elementwise_product,
    matrix_product,
    matrix_sum,
)
from gnarl.sw.workloads.loops.operations.sparse_vectors import (
    compressed_vector_product,
    compressed_vector_sum,
    vector_product,
    vector_sum,
)
from gnarl.sw.workloads.loops.operations.spmm import spmm_coo, spmm_csr


def run(nest: Nest, values: dict[str, Any], **sizes: int) -> dict[str, np.ndarray]:
    used = {name: value for name, value in values.items() if name in nest.arrays}
    return GoldenLoops(nest).run(bind(nest, used, sizes))


def same(found: np.ndarray, wanted: np.ndarray) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert found.tobytes() == wanted.tobytes()


def bags(lengths: list[int], dim: int = 5) -> dict[str, np.ndarray]:
    """Ragged bags over a table of 9 rows."""
    random = np.random.default_rng(1)
    return {
        "table": normal(random, 9, dim),
        "indices": random.integers(0, 9, sum(lengths), np.int32),
        "offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
        "lengths": np.array(lengths, np.int32),
        "weights": normal(random, sum(lengths)),
    }


def pooled(values: dict[str, np.ndarray], weighted: bool = False) -> np.ndarray:
    """Sums in index order, each addition rounded to float32."""
    out = np.zeros((len(values["offsets"]) - 1, values["table"].shape[1]), np.float32)
    for bag in range(len(out)):
        for at in range(*values["offsets"][bag : bag + 2]):
            row = values["table"][values["indices"][at]]
            out[bag] += values["weights"][at] * row if weighted else row
    return out


RAGGED = bags([3, 0, 1, 7, 0])


def test_embedding_bag_sum_of_ragged_bags() -> None:
    same(run(embedding_bag_sum, RAGGED)["out"], pooled(RAGGED))


@pytest.mark.parametrize("lengths", [[], [0]])
def test_embedding_bag_sum_of_nothing(lengths: list[int]) -> None:
    values = bags(lengths)
    same(run(embedding_bag_sum, values)["out"], np.zeros((len(lengths), 5), np.float32))


def test_embedding_bag_weighted() -> None:
    same(run(embedding_bag_weighted, RAGGED)["out"], pooled(RAGGED, weighted=True))


@pytest.mark.parametrize("nest", (embedding_bag_mean, embedding_bag_weighted_mean))
def test_embedding_bag_mean(nest: Nest) -> None:
    counts = np.maximum(RAGGED["lengths"], 1).astype(np.float32)
    sums = pooled(RAGGED, weighted=nest is embedding_bag_weighted_mean)
    same(run(nest, RAGGED)["out"], sums / counts[:, None])


def test_embedding_bag_max() -> None:
    wanted = np.zeros((5, 5), np.float32)
    for bag in (0, 2, 3):
        rows = RAGGED["indices"][slice(*RAGGED["offsets"][bag : bag + 2])]
        wanted[bag] = RAGGED["table"][rows].max(axis=0)
    same(run(embedding_bag_max, RAGGED)["out"], wanted)


def test_embedding_bag_of_lengths() -> None:
    same(run(embedding_bag_lengths, RAGGED)["out"], pooled(RAGGED))


def test_recommendation_models_at_full_size() -> None:
    for name, locality in (("rm1", "L0"), ("rm2", "L1"), ("rm3", "L2")):
        values = embedding_bag_inputs(RECOMMENDATION_MODELS[name], locality)
        same(run(embedding_bag_sum, values)["out"], pooled(values))


@pytest.mark.parametrize("locality, distinct", [("L0", 3686), ("L1", 2048), ("L2", 819)])
def test_locality_is_the_share_of_distinct_rows(locality: str, distinct: int) -> None:
    values = embedding_bag_inputs(BagShape(16, 1, 256), locality, seed=3)
    assert len(values["indices"]) == 4096
    assert len(np.unique(values["indices"])) == distinct
    assert values["table"].shape == (16384, 1)


def test_inputs_follow_from_the_seed() -> None:
    first, again, other = (embedding_bag_inputs(BagShape(2, 3, 4), "L1", at) for at in (5, 5, 6))
    for name in first:
        assert first[name].tobytes() == again[name].tobytes()
    assert first["table"].tobytes() != other["table"].tobytes()


@pytest.mark.parametrize("block", BLOCKS)
def test_block_gather(block: int) -> None:
    values = block_gather_inputs(block, tokens=16, picked=2, dim=3)
    same(run(block_gather, values)["out"], values["key"][values["blocks"]])


def test_token_gather() -> None:
    values = block_gather_inputs(4, tokens=16, picked=2, dim=3)
    wanted = values["key"][values["blocks"]]
    same(run(token_gather, values)["out"], np.repeat(wanted[:, None], 4, axis=1))


def graph() -> tuple[dict[str, np.ndarray], scipy.sparse.csr_array]:
    values = graph_inputs(40, 6, seed=2)
    random = np.random.default_rng(3)
    values |= {"dense": normal(random, 40, 7), "vertex": normal(random, 40, 7)}
    arrays = values["values"], values["indices"], values["offsets"]
    return values, scipy.sparse.csr_array(arrays, shape=(40, 40))


def test_degrees_of_graphs_have_their_mean() -> None:
    values = graph_inputs(2000, 11)
    assert abs(len(values["indices"]) / 2000 - 11) < 0.1
    assert np.diff(values["offsets"]).max() > 100  # a power law's


def test_spmm_csr() -> None:
    values, matrix = graph()
    found = run(spmm_csr, values)["out"]
    rows = np.repeat(np.arange(40), np.diff(values["offsets"]))
    wanted = np.zeros((40, 7), np.float32)
    np.add.at(wanted, rows, values["values"][:, None] * values["dense"][values["indices"]])
    same(found, wanted)
    np.testing.assert_allclose(found, matrix @ values["dense"], rtol=1e-4, atol=1e-5)


def test_spmm_coo_in_any_order_of_entries() -> None:
    values, matrix = graph()
    order = np.random.default_rng(4).permutation(len(values["values"]))
    rows = np.repeat(np.arange(40, dtype=np.int32), np.diff(values["offsets"]))
    entries = {"row": rows, "column": values["indices"], "values": values["values"]}
    values |= {name: entry[order] for name, entry in entries.items()}
    found = run(spmm_coo, values, rows=40)["out"]
    wanted = np.zeros((40, 7), np.float32)
    np.add.at(wanted, values["row"], values["values"][:, None] * values["dense"][values["column"]])
    same(found, wanted)
    np.testing.assert_allclose(found, matrix @ values["dense"], rtol=1e-4, atol=1e-5)


def test_fused_mm() -> None:
    values, matrix = graph()
    values["neighbour"] = values["dense"]
    found = run(fused_mm, values)["out"]
    sampled = (values["vertex"].astype(np.float64) @ values["neighbour"].T) * matrix.toarray()
    np.testing.assert_allclose(found, sampled @ values["neighbour"], rtol=1e-4, atol=1e-4)


def off(values: dict[str, np.ndarray]) -> np.ndarray:
    heads, tails = values["entity"][values["heads"]], values["entity"][values["tails"]]
    return heads + values["relation"][values["links"]] - tails


def test_knowledge_graph_l1() -> None:
    values = knowledge_graph_inputs(20, 30, 4, dim=16)
    wanted = np.abs(off(values)).cumsum(axis=1, dtype=np.float32)[:, -1]
    same(run(knowledge_graph_l1, values)["out"], wanted)


def test_knowledge_graph_l2() -> None:
    values = knowledge_graph_inputs(20, 30, 4, dim=16)
    wanted = np.sqrt((off(values) ** 2).cumsum(axis=1, dtype=np.float32)[:, -1])
    same(run(knowledge_graph_l2, values)["out"], wanted)


def vectors(lefts: int, rights: int) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Two sparse vectors of 30 elements, also dense."""
    random = np.random.default_rng(lefts + 31 * rights)
    left, left_values = fiber(random, 30, lefts)
    right, right_values = fiber(random, 30, rights)
    dense = np.zeros((2, 30), np.float32)
    dense[0, left], dense[1, right] = left_values, right_values
    values = {"left": left, "left_values": left_values}
    return values | {"right": right, "right_values": right_values}, dense[0], dense[1]


PAIRS = [(12, 15), (30, 30), (1, 29), (0, 5), (5, 0), (0, 0)]


def test_vector_product_and_sum() -> None:
    for pair in PAIRS:
        values, left, right = vectors(*pair)
        found = run(vector_product, values, length=30)["out"]
        np.testing.assert_array_equal(found, left * right)
        same(run(vector_sum, values, length=30)["out"], left + right)


def test_compressed_vector_product_and_sum() -> None:
    for pair in PAIRS:
        values, left, right = vectors(*pair)
        both = np.intersect1d(values["left"], values["right"])
        check_compressed(run(compressed_vector_product, values), both, (left * right)[both])
        either = np.union1d(values["left"], values["right"])
        check_compressed(run(compressed_vector_sum, values), either, (left + right)[either])


def check_compressed(
    found: dict[str, np.ndarray], coordinates: np.ndarray, values: np.ndarray
) -> None:
    count = len(coordinates)
    assert found["count"].tolist() == [count]
    same(found["out"][:count], coordinates.astype(np.int32))
    same(found["out_values"][:count], values)
    assert not found["out"][count:].any() and not found["out_values"][count:].any()


def matrices() -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    random = np.random.default_rng(8)
    dense = normal(random, 2, 6, 9) * (random.random((2, 6, 9)) < 0.4)
    left, right = (scipy.sparse.csr_array(each) for each in dense)
    return compressed(left, right), dense[0], dense[1]


def compressed(left: Any, right: Any) -> dict[str, np.ndarray]:
    return {
        f"{side}{part}": array
        for side, matrix in (("left", left), ("right", right))
        for part, array in (
            ("_offsets", matrix.indptr),
            ("", matrix.indices),
            ("_values", matrix.data),
        )
    }


def test_machine_code_does_what_python_does(monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[tuple[Nest, dict[str, Any]]] = [
        (compressed_matrix_sum, compressed(*map(scipy.sparse.csr_array, matrices()[1:]))),
        (embedding_bag_max, RAGGED),
        (knowledge_graph_l2, knowledge_graph_inputs(20, 30, 4, dim=16)),
    ]
    interpreted = [run(*each) for each in cases]
    monkeypatch.setattr("gnarl.sw.golden.loops.INTERPRETED_LINES", 0)
    for case, wanted in zip(cases, interpreted, strict=True):
        found = run(*case)
        for name, array in wanted.items():
            same(found[name], array)


@pytest.mark.parametrize("density", (0, 0.15, 1))
@pytest.mark.parametrize("nest", (compressed_matrix_elementwise_product, compressed_matrix_sum))
def test_compressed_matrix_product_and_sum(nest: Nest, density: float) -> None:
    """An entry where both operands, or one of them, have one; rows 0 and 3 are empty."""
    random = np.random.default_rng(4)
    dense = normal(random, 2, 6, 9) * (random.random((2, 6, 9)) < density)
    dense[:, [0, 3]] = 0
    left, right = dense
    product = nest is compressed_matrix_elementwise_product
    there = (left != 0) & (right != 0) if product else (left != 0) | (right != 0)
    found = run(nest, compressed(*(scipy.sparse.csr_array(each) for each in dense)))
    offsets = np.concatenate([[0], there.sum(axis=1).cumsum()])
    same(found["offsets"], offsets.astype(np.int32))
    same(found["out"][: offsets[-1]], np.nonzero(there)[1].astype(np.int32))
    same(found["out_values"][: offsets[-1]], (left * right if product else left + right)[there])
    assert not found["out"][offsets[-1] :].any() and not found["out_values"][offsets[-1] :].any()


def test_matrix_elementwise_product() -> None:
    values, left, right = matrices()
    found = run(matrix_elementwise_product, values, columns=9)["out"]
    np.testing.assert_array_equal(found, left * right)


def test_matrix_sum() -> None:
    values, left, right = matrices()
    np.testing.assert_array_equal(run(matrix_sum, values, columns=9)["out"], left + right)


def test_matrix_product() -> None:
    _, left, right = matrices()
    columns = scipy.sparse.csc_array(right.T)
    values = compressed(scipy.sparse.csr_array(left), columns)
    wanted = np.zeros((6, 6), np.float32)
    for k in range(9):
        wanted += left[:, k, None] * right.T[k]
    same(run(matrix_product, values)["out"] + np.float32(0), wanted)


@pytest.mark.parametrize("density", (0, 0.15, 1))
def test_compressed_matrix_product(density: float) -> None:
    """An entry where rows have a column in common; row 0 of either is empty."""
    random = np.random.default_rng(5)
    dense = (random.integers(1, 9, (2, 6, 9)) * (random.random((2, 6, 9)) < density)).astype("f4")
    dense[:, 0] = 0
    left, right = dense
    there = (left != 0).astype(int) @ (right != 0).T.astype(int) > 0
    found = run(compressed_matrix_product, compressed(*map(scipy.sparse.csr_array, dense)))
    offsets = np.concatenate([[0], there.sum(axis=1).cumsum()])
    same(found["offsets"], offsets.astype(np.int32))
    same(found["out"][: offsets[-1]], np.nonzero(there)[1].astype(np.int32))
    same(found["out_values"][: offsets[-1]], (left @ right.T)[there])
    assert not found["out"][offsets[-1] :].any() and not found["out_values"][offsets[-1] :].any()

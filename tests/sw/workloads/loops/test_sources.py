"""Workloads by name and from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.loops.operation_families import nearest
from gnarl.sw.workloads.loops.operation_inputs import RECOMMENDATION_MODELS
from gnarl.sw.workloads.loops.sources import (
    OPERATIONS,
    file_workload,
    is_named,
    load_arrays,
    named_workload,
)
from tests.support.errors import refused
from tests.support.workloads import workload_file

NAMES = [f"{name}:{shape}" for name, each in OPERATIONS.items() for shape in each.family.shapes]

MEMORY = 8 << 20


def memory(name: str) -> int:
    return sum(array.nbytes for array in named_workload(name).binding.arrays.values())


def test_every_shape_of_every_operation_fits_memory() -> None:
    """Except for table IV's third model, whose table alone fills it."""
    too_large = [name for name in NAMES if memory(name) > MEMORY - (1 << 18)]
    assert {name.rpartition(":")[2] for name in too_large} == {"rm3"}


def test_values_follow_from_the_seed() -> None:
    for name in OPERATIONS:
        first, again, other = (named_workload(f"{name}:tiny", seed).inputs for seed in (3, 3, 4))
        assert all(np.array_equal(first[each], again[each]) for each in first)
        assert not all(np.array_equal(first[each], other[each]) for each in first), name


def test_inputs_are_those_that_the_nest_reads() -> None:
    for name, operation in OPERATIONS.items():
        nest = operation.nest
        wanted = [each for each in nest.arrays if each not in nest.results]
        assert sorted(named_workload(f"{name}:tiny").inputs) == sorted(wanted)


@pytest.mark.parametrize("model", RECOMMENDATION_MODELS)
def test_recommendation_models(model: str) -> None:
    shape = RECOMMENDATION_MODELS[model]
    workload = named_workload(f"embedding_bag:{model}:L2")
    assert workload.name == f"embedding_bag:{model}:L2"
    found = workload.inputs
    assert found["table"].shape == (16384, shape.dim)
    assert len(found["offsets"]) == shape.segments + 1
    lookups = len(found["indices"])
    assert lookups == shape.segments * shape.lookups
    assert len(np.unique(found["indices"])) == round(0.2 * lookups)


def test_locality_is_l0_where_it_is_left_out() -> None:
    found, wanted = (named_workload(f"embedding_bag:tiny{each}").inputs for each in ("", ":L0"))
    assert np.array_equal(found["indices"], wanted["indices"])


def test_graphs_have_the_vertices_asked_for_and_table_iii_s_mean_degree() -> None:
    for name, vertices in (("arxiv", 2048), ("arxiv:500", 500)):
        found = named_workload(f"spmm:{name}").inputs
        assert len(found["offsets"]) == vertices + 1
        assert abs(len(found["indices"]) / vertices - 6) < 0.15
        assert found["dense"].shape == (vertices, 128)
        for row in np.split(found["indices"], found["offsets"][1:-1]):
            assert (np.diff(row) > 0).all()


def test_knowledge_graphs() -> None:
    found = named_workload("knowledge_graph_l1:biokg:77").inputs
    assert found["entity"].shape == (77, 512) and found["relation"].shape == (51, 512)
    assert named_workload("knowledge_graph_l1:biokg").inputs["entity"].shape == (2048, 512)


def test_vectors() -> None:
    for shape, length, entries in (("tiny", 40, 16), ("p10", 16384, 1638)):
        found = named_workload(f"vector_sum:{shape}")
        assert found.binding.sizes["length"] == length
        assert len(found.inputs["left"]) == len(found.inputs["right_values"]) == entries


def test_the_same_matrix_by_rows_and_by_coordinates() -> None:
    rows, coordinates = named_workload("spmm:tiny"), named_workload("spmm_coo:tiny")
    found = [GoldenLoops(each.nest).run(each.binding)["out"] for each in (rows, coordinates)]
    assert found[0].any() and found[0].tobytes() == found[1].tobytes()


@pytest.mark.parametrize("block", (1, 2, 4, 8))
def test_blocks_of_gathers(block: int) -> None:
    assert named_workload(f"block_gather:b{block}").inputs["key"].shape == (
        4096 // block,
        block,
        64,
    )


@pytest.mark.parametrize("name, vertices, edges", [("cora", 2708, 5278), ("citeseer", 3327, 4552)])
def test_real_graphs(name: str, vertices: int, edges: int) -> None:
    path = workload_file(f"graph/{name}_adjacency.mtx")
    workload = named_workload(f"spmm:{path}")
    assert workload.binding.sizes["rows"] == vertices
    assert len(workload.inputs["indices"]) == 2 * edges  # symmetric
    assert (workload.inputs["values"] == 1).all()
    assert memory(f"fused_mm:{path}") < MEMORY


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    path = tmp_path / "a.mtx"
    path.write_text(
        "%%MatrixMarket matrix coordinate real general\n3 4 3\n3 1 2.5\n1 4 -1\n1 2 0.5\n"
    )
    return path


def test_matrices_of_files(matrix: Path) -> None:
    found = named_workload(f"spmm:{matrix}").inputs
    assert found["offsets"].tolist() == [0, 2, 2, 3]
    assert found["indices"].tolist() == [1, 3, 0]
    assert found["values"].tolist() == [0.5, -1, 2.5]
    assert found["dense"].shape == (4, 128)
    entries = named_workload(f"spmm_coo:{matrix}").inputs
    assert entries["row"].tolist() == [0, 0, 2] and entries["column"].tolist() == [1, 3, 0]


def test_a_matrix_of_a_file_and_its_columns_shifted(matrix: Path) -> None:
    workload = named_workload(f"matrix_sum:{matrix}")
    assert workload.binding.sizes["columns"] == 4
    found = workload.inputs
    assert found["left_offsets"].tolist() == found["right_offsets"].tolist() == [0, 2, 2, 3]
    assert found["left"].tolist() == [1, 3, 0] and found["right"].tolist() == [0, 2, 1]
    assert found["left_values"].tolist() == [0.5, -1, 2.5]
    assert found["right_values"].tolist() == [-1, 0.5, 2.5]
    product = named_workload(f"matrix_product:{matrix}")
    assert GoldenLoops(product.nest).run(product.binding)["out"].shape == (3, 3)


def test_entries_of_a_real_sum_and_product() -> None:
    """As many as the SAM project's graphs write."""
    path = workload_file("sam/lp_scsd1.mtx")
    for operation, entries in (("matrix_elementwise_product", 1685), ("matrix_sum", 3091)):
        workload = named_workload(f"{operation}:{path}")
        coordinates = [
            {
                (row, column)
                for row, (low, high) in enumerate(zip(offsets, offsets[1:], strict=False))
                for column in workload.inputs[side][low:high].tolist()
            }
            for side in ("left", "right")
            for offsets in [workload.inputs[f"{side}_offsets"]]
        ]
        merge = set.union if operation == "matrix_sum" else set.intersection
        assert len(merge(*coordinates)) == entries


def test_values_of_files_beyond_float32(matrix: Path) -> None:
    matrix.write_text("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1e39\n")
    with refused(
        f"spmm:{matrix}: {matrix}: 1e+39 is beyond float32: must be at most 3.4028235e+38"
    ):
        named_workload(f"spmm:{matrix}")


def test_matrices_of_files_that_are_too_large(matrix: Path) -> None:
    matrix.write_text("%%MatrixMarket matrix coordinate real general\n2000000 1 1\n1 1 1\n")
    with refused(f"spmm:{matrix}: {matrix}: 2000000 x 1: must be at most 1048576 each"):
        named_workload(f"spmm:{matrix}")


def test_a_name_is_named_if_one_is_near() -> None:
    assert nearest("p11", ("tiny", "p10")) == "nearest: p10"
    assert nearest("x", ("tiny", "p10")) == "must be one of tiny, p10"


BAG_SHAPES = "tiny, rm1, rm2, rm3"


@pytest.mark.parametrize(
    "name, text",
    [
        ("embeding_bag:rm1", "no operation 'embeding_bag': nearest: embedding_bag"),
        ("x:rm1", f"no operation 'x': must be one of {', '.join(OPERATIONS)}"),
        ("embedding_bag:rm4", "no shape 'rm4': nearest: rm3"),
        ("embedding_bag:", f"no shape '': must be one of {BAG_SHAPES}"),
        (
            "embedding_bag",
            f"must be embedding_bag:SHAPE[:LOCALITY], with SHAPE of {BAG_SHAPES}",
        ),
        (
            "embedding_bag:rm1:L0:L1",
            f"must be embedding_bag:SHAPE[:LOCALITY], with SHAPE of {BAG_SHAPES}",
        ),
        ("embedding_bag:rm1:x", "no locality 'x': must be one of L0, L1, L2"),
        ("embedding_bag:rm1:", "no locality '': must be one of L0, L1, L2"),
        ("vector_sum:p10:3", "must be vector_sum:SHAPE, with SHAPE of tiny, p1, p10, p50"),
        ("spmm:arxiv:0", "vertices '0': must be a whole number from 1 to 1048576"),
        ("spmm:arxiv:1e3", "vertices '1e3': must be a whole number from 1 to 1048576"),
        ("spmm:arxiv:2000000", "vertices '2000000': must be a whole number from 1 to 1048576"),
        ("knowledge_graph_l2:biokg:-1", "entities '-1': must be a whole number from 1 to 1048576"),
        ("spmm:absent.mtx", "absent.mtx: No such file or directory"),
        ("spmm:absent.mtx:4", "vertices '4': a file's must be left out"),
        ("block_gather:b16", "no shape 'b16': nearest: b1"),
    ],
)
def test_names_that_are_refused(name: str, text: str) -> None:
    with refused(f"{name}: {text}"):
        named_workload(name)


NEST = """
n = sizes("n")

@nest
def twice(x: float32[n], y: float32[n]):
    for i in range(n):
        y[i] = x[i] + x[i]

@nest
def negated(x: float32[n], y: float32[n]):
    for i in range(n):
        y[i] = -x[i]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "nests.py"
    path.write_text(NEST)
    np.save(tmp_path / "x.npy", np.array([1, -2], np.float32))
    return path


def test_a_function_of_a_file_with_arrays(file: Path) -> None:
    tensors = {"x": str(file.parent / "x.npy")}
    workload = file_workload(f"{file}:negated", tensors)
    assert workload.name == "negated"
    assert GoldenLoops(workload.nest).run(workload.binding)["y"].tolist() == [-1, 2]


def test_which_texts_are_names(file: Path) -> None:
    assert is_named("embedding_bag:rm1") and is_named("spmm:some/graph.mtx") and is_named("nothing")
    assert not is_named(str(file)) and not is_named(f"{file}:twice") and not is_named("absent.py")


def test_files_that_are_refused(file: Path) -> None:
    with refused(f"{file}: has 2 functions, twice, negated: one must be named"):
        file_workload(str(file), {})
    with refused(f"{file}: has no function thrice"):
        file_workload(f"{file}:thrice", {})
    absent = file.with_name("absent.py")
    with refused(f"{absent}: No such file or directory"):
        file_workload(str(absent), {})
    array = file.with_name("x.npy")
    with refused(
        f"{array}: must be a .py or .c file of a loop nest, or the name of an operation, as "
        "embedding_bag:rm1"
    ):
        file_workload(str(array), {})


def test_arrays_that_are_refused(tmp_path: Path) -> None:
    absent = tmp_path / "absent.npy"
    with refused(f"{absent}: no such file"):
        load_arrays({"x": str(absent)})
    with refused(f"{tmp_path}: no file tensor_x_mode_vals: the folder has no tensors"):
        load_arrays({"x": str(tmp_path)})
    text = tmp_path / "text.npy"
    text.write_text("text")
    with pytest.raises(WorkloadError, match="text.npy: not a .npy file, or damaged: "):
        load_arrays({"x": str(text)})
    header = tmp_path / "header.npy"
    np.save(header, np.zeros(3))
    header.write_bytes(header.read_bytes().replace(b"}", b" "))
    with pytest.raises(WorkloadError, match="header.npy: not a .npy file, or damaged: header "):
        load_arrays({"x": str(header)})
    np.savez(tmp_path / "two.npz", a=np.zeros(1), b=np.zeros(1))
    with refused(
        f"{tmp_path / 'two.npz'}: has no tensor 'x', but a, b: one must be named, as in "
        "x=FILE.npz:a"
    ):
        load_arrays({"x": str(tmp_path / "two.npz")})

"""Programs by hand of all operations that have one, on the model and on RTL."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.commands.main import main
from gnarl.sw.compiler.tmu.by_hand.site import Vectors
from gnarl.sw.compiler.tmu.by_hand.written import PROGRAMS
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.sources import OPERATIONS
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.tmu.operations import LENGTHS, operation_inputs

LOOK_UPS = [name for name in OPERATIONS if name.startswith("embedding_bag")] + ["spmm"]
GATHERS = ["block_gather", "token_gather"]


def nest(text: str) -> Nest:
    return read_source(f"n = sizes('n')\n\n\n@nest\n{text}", "file.py")


def workload(name: str, dim: int, **changes: np.ndarray) -> LoopWorkload:
    operation = OPERATIONS[name].nest
    values = operation_inputs(dim) | changes
    if name == "spmm_coo" and "out" not in changes:
        values["out"] = np.ones((len(LENGTHS), dim), np.float32)
    found = {each: array for each, array in values.items() if each in operation.arrays}
    return LoopWorkload(name, operation, found)


def is_exact(made: LoopWorkload, lanes: int = 4, **options: bool) -> bool:
    device = Device(load_configuration("tmu_l8", (f"lanes={lanes}",)), "model")
    program = device.compile(made, ref=True, **options)
    return device.verify(device.run(program, made.inputs)).bit_exact


def test_all_operations_have_programs():
    assert set(PROGRAMS) == {each.nest.name for each in OPERATIONS.values()}


def test_masks_are_for_vectors_that_are_not_whole():
    part, whole = Vectors(6, 4), Vectors(8, 4)
    assert (part.mask, whole.mask) == ("first_lanes m1, 2", "")
    assert part.each("load{m}") == "load\nload, m1"
    assert whole.each("load{m}") == "load\nload"


@pytest.mark.parametrize("name", [*LOOK_UPS, *GATHERS, "spmm_coo", "fused_mm"])
def test_rows_whose_last_vector_is_not_whole(name: str):
    assert is_exact(workload(name, 38))


ON_ROWS = [each for each in OPERATIONS if "dim" in {s.name for s in OPERATIONS[each].nest.sizes}]
"""Operations on rows."""


@pytest.mark.parametrize("coupled", (False, True))
@pytest.mark.parametrize("has_rows", (False, True))
@pytest.mark.parametrize("name", ON_ROWS)
def test_nothing_to_look_up(name: str, has_rows: bool, coupled: bool):
    """No bags, edges or samples; of tables without rows, too."""
    made = workload(name, 16)
    kept = ("table", "dense", "key", "entity", "relation", "neighbour") if has_rows else ()
    changes = {
        each: array if each in kept else array[: int(each == "offsets")] * 0
        for each, array in made.inputs.items()
    }
    assert is_exact(workload(name, 16, **changes), coupled=coupled)


@settings(max_examples=20)
@given(
    coupled=st.booleans(),
    name=st.sampled_from(LOOK_UPS),
    lanes=st.sampled_from((2, 4, 8)),
    dim=st.sampled_from((6, 30, 38, 48)),
    lengths=st.lists(st.integers(0, 20), max_size=12),
    first=st.integers(0, 3),
)
def test_random_look_ups(
    coupled: bool, name: str, lanes: int, dim: int, lengths: list[int], first: int
):
    """Bags of any length; look-ups may begin behind the first index."""
    random = np.random.default_rng(0)
    offsets = np.cumsum([0 if name == "embedding_bag_lengths" else first, *lengths])
    entries = int(offsets[-1])
    values = {
        "offsets": offsets.astype(np.int32),
        "lengths": np.array(lengths, np.int32),
        "indices": random.integers(0, 20, entries).astype(np.int32),
        "table": random.standard_normal((20, dim)).astype(np.float32),
        "weights": random.standard_normal(entries).astype(np.float32),
    }
    values |= {"dense": values["table"], "values": values["weights"]}
    assert is_exact(workload(name, dim, **values), lanes, coupled=coupled)


@settings(max_examples=8)
@given(
    coupled=st.booleans(),
    lanes=st.sampled_from((4, 8)),
    dim=st.sampled_from((6, 38)),
    rows=st.lists(st.integers(0, 6), max_size=40),
)
def test_random_coordinates(coupled: bool, lanes: int, dim: int, rows: list[int]):
    """Rows in any order; results are added to."""
    random = np.random.default_rng(0)
    values = {
        "row": np.array(rows, np.int32),
        "column": random.integers(0, 16, len(rows)).astype(np.int32),
        "values": random.standard_normal(len(rows)).astype(np.float32),
        "out": random.standard_normal((7, dim)).astype(np.float32),
    }
    assert is_exact(workload("spmm_coo", dim, **values), lanes, coupled=coupled)


@settings(max_examples=8)
@given(
    coupled=st.booleans(),
    dim=st.sampled_from((2, 9, 30, 32)),
    lengths=st.lists(st.integers(0, 4), max_size=9),
    first=st.integers(0, 3),
)
def test_random_messages(coupled: bool, dim: int, lengths: list[int], first: int):
    """Vertices with any number of edges, none among them."""
    random = np.random.default_rng(0)
    offsets = np.cumsum([first, *lengths])
    entries = int(offsets[-1])
    values = {
        "offsets": offsets.astype(np.int32),
        "indices": random.integers(0, 16, entries).astype(np.int32),
        "values": random.standard_normal(entries).astype(np.float32),
        "vertex": random.standard_normal((len(lengths), dim)).astype(np.float32),
    }
    assert is_exact(workload("fused_mm", dim, **values), 2, coupled=coupled)


@settings(max_examples=12)
@given(
    coupled=st.booleans(),
    name=st.sampled_from(GATHERS),
    lanes=st.sampled_from((2, 8)),
    dim=st.sampled_from((1, 38, 64, 130)),
    block=st.integers(0, 3),
    queries=st.integers(0, 3),
    picked=st.integers(0, 3),
)
def test_random_gathers(
    coupled: bool, name: str, lanes: int, dim: int, block: int, queries: int, picked: int
):
    """Rows of any length, in one part or in more."""
    random = np.random.default_rng(0)
    values = {
        "key": random.standard_normal((5, block, dim)).astype(np.float32),
        "blocks": random.integers(0, 5, (queries, picked)).astype(np.int32),
    }
    assert is_exact(workload(name, dim, **values), lanes, coupled=coupled)


@pytest.mark.parametrize("coupled", (False, True))
@pytest.mark.parametrize("dim", (8, 32))
@pytest.mark.parametrize("name", ("knowledge_graph_l1", "knowledge_graph_l2"))
def test_knowledge_graphs(name: str, dim: int, coupled: bool):
    assert is_exact(workload(name, dim), coupled=coupled)


@pytest.mark.parametrize(("samples", "pairs"), ((0, 2), (1, 1), (2, 3), (7, 4), (3, 6)))
def test_samples_and_steps_of_coupled_knowledge_graphs(samples: int, pairs: int):
    random = np.random.default_rng(0)
    numbers = {"heads": 9, "links": 4, "tails": 9}
    values = {
        name: random.integers(0, limit, samples).astype(np.int32) for name, limit in numbers.items()
    }
    made = workload("knowledge_graph_l1", 4 * pairs, **values)
    assert is_exact(made, 2, coupled=True)


def test_rows_in_any_order():
    rows = np.random.default_rng(0).permutation(operation_inputs(6)["row"])
    assert is_exact(workload("spmm_coo", 6, row=rows))


@pytest.mark.parametrize(
    "options",
    (
        ["embedding_bag_weighted_mean:tiny"],
        ["spmm_coo:tiny"],
        ["fused_mm:tiny"],
        ["token_gather:tiny"],
        ["compressed_matrix_sum:tiny"],
        ["embedding_bag_weighted_mean:tiny", "--coupled"],
        ["spmm_coo:tiny", "--coupled"],
        ["token_gather:tiny", "--coupled"],
        ["matrix_product:tiny", "--coupled"],
    ),
)
def test_rtl(options: list[str]):
    result = CliRunner().invoke(main, ["run", "tmu_l2", *options, "--ref", "--json"])
    assert result.exit_code == 0, result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    assert report["bit_exact"]
    assert report["backend"] == "rtl"
    assert report["statistics"]["by_hand"]


def test_what_does_not_fit():
    device = Device(load_configuration("tmu_l8", ("lanes=4",)), "model")
    with pytest.raises(CapacityError, match="dim = 6: must be a multiple of 8"):
        device.compile(workload("knowledge_graph_l1", 6), ref=True)
    for options in ({}, {"coupled": True}):
        with pytest.raises(
            CapacityError, match="^dim = 0: must be at least 1 for a program by hand$"
        ):
            device.compile(workload("embedding_bag", 0), ref=True, **options)
    with pytest.raises(CapacityError, match="dim = 500: must be at most 112"):
        device.compile(workload("embedding_bag", 500), ref=True)
    with pytest.raises(CapacityError, match="dim = 500: must be at most 64"):
        device.compile(workload("fused_mm", 500), ref=True, coupled=True)


@pytest.mark.parametrize(
    ("options", "error"),
    (
        ({"opt": 4}, "--opt: must not be given with --ref"),
        ({"reassociate": False}, "--no-reassociate: must not be given with --ref"),
    ),
)
def test_options(options: dict[str, Any], error: str):
    device = Device(load_configuration("tmu_l8", ("lanes=4",)), "model")
    with pytest.raises(WorkloadError, match=error):
        device.compile(workload("embedding_bag", 6), ref=True, **options)


@pytest.mark.parametrize("coupled", (False, True))
def test_nests_without_a_program(coupled: bool):
    device = Device(load_configuration("tmu_l8", ("lanes=4",)), "model")
    found = nest(
        "def f(a: int32[n], out: int32[n]):\n    for i in range(n):\n        out[i] = a[i]\n"
    )
    made = LoopWorkload("f", found, {"a": np.zeros(3, np.int32)})
    names = ", ".join(OPERATIONS)
    with pytest.raises(WorkloadError) as caught:
        device.compile(made, ref=True, coupled=coupled)
    assert str(caught.value) == f"--ref: f has no program by hand: must be one of {names}"


def test_results_must_begin_as_zeros():
    device = Device(load_configuration("tmu_l8", ("lanes=4",)), "model")
    out = np.ones((len(LENGTHS), 6), np.float32)
    with pytest.raises(WorkloadError, match="begins its results as zeros: out must be left out"):
        device.compile(workload("embedding_bag", 6, out=out), ref=True)


def test_queues_of_a_small_configuration_suffice():
    config = load_configuration("tmu_l8", ("lanes=4", "stream_words=16"))
    assert isinstance(config.config, TmuConfig)
    made = workload("embedding_bag_weighted", 6)
    device = Device(config, "model")
    assert device.verify(device.run(device.compile(made, ref=True), made.inputs)).bit_exact

"""Programs by hand of all operations that have one, on the model and on RTL."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from hw.lib.errors import CapacityError, WorkloadError
from hw.tmu.config import TmuConfig
from sw.cli import main
from sw.compiler.tmu.by_hand.written import COUPLED, PROGRAMS
from sw.runtime.configuration import load_configuration
from sw.runtime.device import Device
from sw.workloads.loops.sources import OPERATIONS
from sw.workloads.loops.workload import LoopWorkload
from tests.support.tmu_operations import LENGTHS, operation_inputs

NAMES = [name for name, each in OPERATIONS.items() if each.nest.name in PROGRAMS]
COUPLED_NAMES = [name for name in NAMES if OPERATIONS[name].nest.name in COUPLED]


def workload(name: str, dim: int, **changes: np.ndarray) -> LoopWorkload:
    nest = OPERATIONS[name].nest
    values = operation_inputs(dim) | changes
    if name == "spmm_coo":
        values["out"] = np.ones((len(LENGTHS), dim), np.float32)
    found = {each: array for each, array in values.items() if each in nest.arrays}
    return LoopWorkload(name, nest, found)


def is_exact(made: LoopWorkload, lanes: int = 4, **options: bool) -> bool:
    device = Device(load_configuration("tmu_l8", (f"lanes={lanes}",)), "model")
    program = device.compile(made, ref=True, **options)
    return device.verify(device.run(program, made.inputs)).bit_exact


@pytest.mark.parametrize("name", [each for each in NAMES if not each.startswith("knowledge_graph")])
def test_rows_whose_last_vector_is_not_whole(name: str):
    assert is_exact(workload(name, 38))


@settings(max_examples=40)
@given(
    name=st.sampled_from(COUPLED_NAMES),
    lanes=st.sampled_from((2, 4, 8)),
    dim=st.sampled_from((6, 30, 38, 48)),
    lengths=st.lists(st.integers(0, 20), min_size=1, max_size=12),
    first=st.integers(0, 3),
)
def test_coupled(name: str, lanes: int, dim: int, lengths: list[int], first: int):
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
    assert is_exact(workload(name, dim, **values), lanes, coupled=True)


@pytest.mark.parametrize("dim", (8, 32))
@pytest.mark.parametrize("name", ("knowledge_graph_l1", "knowledge_graph_l2"))
def test_knowledge_graphs(name: str, dim: int):
    assert is_exact(workload(name, dim))


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
        ["embedding_bag_weighted_mean:tiny", "--coupled"],
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
    with pytest.raises(CapacityError, match="dim = 500: must be at most 112"):
        device.compile(workload("embedding_bag", 500), ref=True)


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


def test_operations_without_a_program():
    device = Device(load_configuration("tmu_l8", ("lanes=4",)), "model")
    error = "--ref --coupled: fused_mm has no program by hand: must be one of embedding_bag, "
    with pytest.raises(WorkloadError, match=error):
        device.compile(workload("fused_mm", 8), ref=True, coupled=True)


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

"""PointNet++ by stage and place: what NumPy computes, parts of stages, and what is said of them."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from bench.lib.records import records
from bench.lib.request import Request
from bench.sram_compute_parts import pointnet
from bench.sram_compute_parts.pointnet_network import (
    STAGES,
    Call,
    layer,
    stages,
)
from bench.sram_compute_parts.pointnet_parts import (
    NEAR_SIDE,
    rounds_in_memory,
    rounds_of,
    split,
)
from bench.sram_compute_parts.pointnet_places import Cycles, Machine, by_place, loops_of
from bench.sram_compute_parts.pointnet_table import MSG, SMALL, SSG, Network, Scale
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.runtime.target.configuration import load_configuration

TWO_SCALES = Network(
    "two",
    24,
    (
        (6, (Scale("A", 3, 0.5, (4, 5)), Scale("B", 2, 0.3, (3,)))),
        (1, (Scale("C", 6, float("inf"), (7,)),)),
    ),
    (5, 4),
)


def random_layer(rows: int, inputs: int, outputs: int, *, is_rectified: bool = True) -> Call:
    random = np.random.default_rng(1)
    x, w, bias = (
        random.standard_normal(shape, np.float32)
        for shape in ((rows, inputs), (inputs, outputs), (1, outputs))
    )
    return layer(x, w, bias, is_rectified)


def require_golden(call: Call) -> None:
    """Requires that ``pointnet.c`` means the same."""
    given = loops_of(call)
    found = GoldenLoops(given.nest).run(given.binding)
    for name, array in call.wanted.items():
        assert found[name].dtype == array.dtype, (call.function, name)
        np.testing.assert_array_equal(found[name], array, f"{call.function}: {name}")


def test_numpy_computes_what_the_source_means():
    calls = [call for stage in stages(TWO_SCALES, 3) for call in stage.calls]
    assert {call.function for call in calls} == {
        *("sample", "turn", "distances", "query", "gather_places", "gather_features"),
        *("connect_relu", "connect", "aggregate"),
    }
    for call in calls:
        require_golden(call)


def test_stages_that_scales_share_are_there_once():
    names = [(each.kernel, each.name) for each in stages(TWO_SCALES, 3)]
    assert len({*names}) == len(names)
    assert names[:3] == [
        ("A to B", "furthest sample"),
        ("A to B", "ball query"),
        ("A", "ball query"),
    ]
    assert {name for _, name in names} == {*STAGES}
    only = {each.name: each for each in stages(TWO_SCALES, 3) if each.kernel == "C"}
    functions = [call.function for call in only["ball query"].calls]
    assert functions == ["turn", "distances", "query"]


def test_table_4():
    found = {scale.name: scale for net in (SSG, MSG) for _, level in net.levels for scale in level}
    assert [*found] == ["SA1", "SA2", "SA3", *(f"SA{number}" for number in range(4, 10))]
    assert found["SA8"].widths == (128, 128, 256) and found["SA9"].neighbours == 128
    assert found["SA2"].squared_radius == np.float32(0.16) and found["SA3"].squared_radius > 1e29
    assert SSG.widths == MSG.widths == (512, 256, 10)
    assert [count for count, _ in SSG.levels] == [count for count, _ in MSG.levels]


def test_the_first_rounds_of_a_call_are_a_call():
    for stage in stages(TWO_SCALES, 3):
        for call in stage.calls:
            require_golden(call.first(max(1, call.rounds // 2)))


@pytest.mark.parametrize("is_rectified", [True, False])
@pytest.mark.parametrize(("inputs", "outputs", "parts"), [(4, 4, 1), (9, 4, 3), (3, 9, 3)])
def test_a_layer_in_parts_has_the_same_bits(
    inputs: int, outputs: int, parts: int, is_rectified: bool
):
    call = random_layer(5, inputs, outputs, is_rectified=is_rectified)
    found = [*split(call, 16)]
    has_rest = inputs > 4 and is_rectified
    assert len(found) == parts + has_rest
    for each in found:
        require_golden(each)
        assert all(max(array.shape[-1], 1) <= 4 for array in each.given.values())
    last = found[-1].wanted["y"]
    np.testing.assert_array_equal(last, call.wanted["y"][:, -last.shape[1] :])


def test_parts_fill_the_bitlines():
    assert rounds_in_memory(random_layer(64, 4, 8), 256) == 32
    assert rounds_in_memory(random_layer(64, 13, 8), 256) == 16
    assert rounds_in_memory(random_layer(64, 100, 8), 256) == 16, "16 inputs at a time"
    assert rounds_in_memory(random_layer(3, 4, 8), 256) == 3


def test_parts_elsewhere_are_small():
    wide, narrow = random_layer(64, 128, 512), random_layer(64, 128, 128)
    assert rounds_of(wide, "core") == 8 and rounds_of(narrow, "core") == 16
    assert rounds_of(wide, "near") == 28, "rows that stream engines compute at once"
    assert rounds_of(narrow, "near") == 8
    assert rounds_of(random_layer(2, 128, 128), "near") == 2


class Linear(Machine):
    """100 cycles and 7 for each round; refuses some places."""

    refused: tuple[str, ...] = ()

    def _run(self, call: Call, place: str) -> Cycles | None:
        return None if place in self.refused else Cycles({place: 100 + 7 * call.rounds})


def test_cycles_of_all_rounds_follow_from_two_parts():
    machine = Linear(load_configuration("sram_b4"))
    call = random_layer(1000, 128, 128)
    assert machine.in_column([call], "core").places == {"core": 100 + 7 * 1000}
    assert machine.in_column([call, call], "near").total == 2 * (100 + 7 * 1000)
    assert machine.bitlines == 128 * 128
    call = random_layer(1024, 128, 128)
    assert machine.in_column([call], "memory").places == {"memory": 8 * (100 + 7 * 128)}


def test_weights_that_the_banks_have_no_room_for_come_in_parts():
    machine = Linear(load_configuration("sram_b4"))
    call = random_layer(20, 600, 512)
    assert [each.function for each in split(call, NEAR_SIDE**2)] == [
        "connect",
        "accumulate",
        "rectify",
    ]
    assert machine.in_column([call], "near").places == {"near": 3 * (100 + 7 * 20)}
    assert machine.in_column([call], "core").places == {"core": 100 + 7 * 20}


def test_arrays_that_are_only_written_are_not_given():
    """Else they would be loaded."""
    for stage in stages(TWO_SCALES, 3):
        for call in stage.calls:
            given = loops_of(call)
            both = {*given.inputs} & {*call.wanted}
            assert both == ({"x"} if call.function == "gather_features" else set())
            assert {each.name for each in given.nest.sizes} == {*(given.sizes or {})}


def test_what_a_place_refuses_is_on_the_core():
    machine = Linear(load_configuration("sram_b4"))
    machine.refused = ("near", "memory")
    call = random_layer(1000, 128, 128)
    for column in ("near", "memory"):
        assert machine.in_column([call], column).places == {"core": 100 + 7 * 1000}


def test_main_memory_works_for_a_place():
    counters = dict.fromkeys(("cycles_core", "cycles_near", "cycles_compute", "cycles_move"), 0)
    assert by_place(90, counters | {"cycles_compute": 5}) == {"core": 0, "near": 0, "memory": 90}
    assert by_place(90, counters | {"cycles_near": 5, "cycles_core": 20}) == {
        "core": 20,
        "near": 70,
        "memory": 0,
    }
    assert by_place(90, counters | {"cycles_core": 80}) == {"core": 90, "near": 0, "memory": 0}


def made(network: str, kernel: str, stage: str, **cycles: int):
    job = pointnet.Job(network, kernel, stage, 0)
    values = dict.fromkeys(pointnet.METRICS, 0) | cycles | {"bit_exact": True}
    return records(pointnet.BENCH, job.labels, values, pointnet.METRICS, job.setting())


def test_ratios_and_shares_beside_the_papers(tmp_path: Path):
    same = {"near_core": 40, "memory_core": 40, "auto_core": 40}
    found = made("SSG", "SA1", "furthest sample", core_core=40, **same)
    found += made("SSG", "SA1", "MLP", core_core=160, near_near=360, memory_memory=60)
    found += made("SSG", "FC", "FC", core_core=200, near_near=100, memory_core=200, auto_near=120)
    assert pointnet.verdict(found) == (
        "SSG, cycles of core over those of: auto 2.50 (the paper's 1.69), near 0.80 (the paper's "
        "1.31), memory 1.33 (the paper's 1.10)\n"
        "SSG, of the core's cycles: furthest sample 10% (the paper's 46%), MLP 40% (the paper's "
        "48%); of auto's: furthest sample 25%\n"
        "bit-exact: 3 of 3 stages"
    )
    stages_of, layers_of = pointnet.tables(found).values()
    assert stages_of.body == [
        ["SSG", "furthest sample", "40", "40", "40", "40", "core"],
        ["SSG", "MLP", "160", "360", "60", "0", ""],
        ["SSG", "FC", "200", "100", "200", "120", "near"],
        ["SSG", "all", "400", "500", "300", "160", "core 25%, near 75%"],
    ]
    assert [row[:2] for row in layers_of.body] == [["SSG", "SA1"], ["SSG", "FC"]]
    pointnet.draw(found, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


@pytest.fixture
def requested(tmp_path: Path) -> Request:
    console = Console(file=StringIO())
    results = tmp_path / "results.json"
    return Request(tmp_path, tmp_path, "model", 0, False, console, {}, results=results)


def test_all_stages_are_different(requested: Request):
    found = [tuple(job.labels.values()) for job in pointnet.jobs(requested)]
    assert len({*found}) == len(found)
    assert {network for network, _, _ in found} == {"SSG", "MSG"}


def test_a_small_set_abstraction_is_measured():
    pytest.importorskip("egglog")
    made_of = [
        pointnet.measure(pointnet.Job("small", each.kernel, each.name, 0, ()))
        for each in stages(SMALL, 0)
        if each.name in ("gather", "MLP")
    ]
    for values in made_of:
        assert {*values} == {*pointnet.METRICS}
        assert values["bit_exact"] and 0 < pointnet.total([values], "auto")
    gathered, computed = made_of
    assert gathered["memory_core"] == gathered["core_core"] and not gathered["memory_memory"]
    assert computed["memory_memory"] > 0 and not computed["memory_core"]


def test_wrong_bits_are_noticed():
    machine = Machine(load_configuration("sram_b4"))
    call = random_layer(4, 4, 4)
    call.wanted["y"][0, 0] += 1  # type: ignore[index]
    assert not machine.in_column([call], "core").is_exact

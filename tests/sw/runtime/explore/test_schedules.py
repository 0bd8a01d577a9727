"""Schedules of points: which are left out, and what their file may have in it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.errors import ConfigError
from gnarl.sw.runtime.explore.pareto import front
from gnarl.sw.runtime.explore.schedules import (
    NAME,
    Search,
    crossed,
    explorer_of,
    find_schedules,
    left_out,
    search_identity,
)
from gnarl.sw.runtime.explore.sweep import Sweep, read_sweep
from gnarl.sw.runtime.target.explorer import Alternative, Estimated
from tests.support.errors import refused
from tests.support.targets.counted import Order, counted_target
from tests.support.targets.counted_target import TARGET

SEARCH = Search((1, 4), (1,), 1.25, None)

ESTIMATES = st.lists(
    st.builds(Estimated, st.integers(1, 40), st.just(0), st.just(0), st.integers(1, 4)),
    min_size=1,
    max_size=12,
)


@given(ESTIMATES, st.sampled_from([1.0, 1.25, 2.0, 1000.0]))
def test_what_is_left_out_is_far_worse(estimates: list[Estimated], keep: float) -> None:
    out = left_out(estimates, keep)
    for own, is_out in zip(estimates, out, strict=True):
        better = [each for each in estimates if each.blocks <= own.blocks]
        assert is_out == (own.cycles > keep * min(each.cycles for each in better))
    # The best of each number of blocks is there, and so is whatever none dominates.
    kept = [each for each, is_out in zip(estimates, out, strict=True) if not is_out]
    for blocks in {each.blocks for each in kept}:
        cycles = [each.cycles for each in estimates if each.blocks <= blocks]
        assert min(each.cycles for each in kept if each.blocks <= blocks) == min(cycles)
    best = front([(each.cycles, each.blocks) for each in estimates])
    assert not any(is_best and is_out for is_best, is_out in zip(best, out, strict=True))


def test_equal_ones_stay() -> None:
    same = Estimated(8, 1, 1, 2)
    assert left_out([same, same, Estimated(10, 1, 1, 2), Estimated(11, 1, 1, 2)], 1.25) == [
        *(False, False, False, True)
    ]
    assert left_out([Estimated(99, 1, 1, 1), same], 1.0) == [False, False]


@pytest.fixture(scope="module", autouse=True)
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with counted_target(tmp_path_factory.mktemp("packages")):
        yield


@pytest.fixture
def order(tmp_path: Path) -> Order:
    plans = {
        "a": {"times": 3, "estimated": 3, "blocks": 2},
        "b": {"times": 2, "estimated": 4, "blocks": 2},
    }
    return Order(tmp_path, plans=plans)


def sweep(*texts: str) -> Sweep:
    return read_sweep("counted", [], texts)


def search(order: Order, folder: Path, identity: Any, shares: Any = None) -> list[Alternative]:
    folder.mkdir(exist_ok=True)
    advance = ([] if shares is None else shares).append
    workload = TARGET.reader.workload(order.path)
    return find_schedules(sweep("number=2,3"), workload, SEARCH, identity, folder, advance)


def test_files_of_schedules(tmp_path: Path, order: Order) -> None:
    folder, shares = tmp_path / "out", list[float]()
    found = search(order, folder, {"of": 1}, shares)
    assert [each.values for each in found] == [{"plan": "a"}, {"plan": "b"}]
    assert [each.estimate.cycles for each in found] == [60, 80]  # of the first configuration
    assert order.searches() == [[2, [1, 4], None]]
    assert shares == [1.0]
    assert [(folder / f"schedules/{at:03}.txt").read_text() for at in range(2)] == ["a", "b"]
    assert sorted(path.name for path in folder.rglob("*.*")) == ["000.txt", "001.txt", NAME]
    assert search(order, folder, {"of": 1}) == found
    assert len(order.searches()) == 1
    assert search(order, folder, {"of": 2}) == found
    assert len(order.searches()) == 2


def test_points_have_each_schedule(tmp_path: Path, order: Order) -> None:
    own = sweep("number=2,3", "lanes=1,3")
    whole = crossed(own, search(order, tmp_path, {}), SEARCH)
    assert whole.fields == ["number", "lanes", "plan"]
    assert [list(point.values.values()) for point in whole.points] == [
        [number, lanes, plan] for number in (2, 3) for lanes in (1, 3) for plan in "ab"
    ]
    assert [bool(point.error) for point in whole.points] == [
        *[False] * 2,
        *[True] * 2,
        *[False] * 4,
    ]
    names = [point.schedule.name for point in whole.points if point.schedule is not None]
    assert names == ["schedules/000.txt", "schedules/001.txt"] * 4
    out = [point.schedule.is_left_out for point in whole.points if point.schedule is not None]
    assert out == [False, True] * 4
    estimated = crossed(own, search(order, tmp_path, {}), Search((1,), (1,), 9, {"x": 0.5}))
    assert all(each.schedule is not None and each.schedule.is_left_out for each in estimated.points)


def test_a_target_without_schedules() -> None:
    with pytest.raises(ConfigError) as error:
        explorer_of(read_sweep("dpu_d1_b8", [], []))
    assert str(error.value) == "--search: dpu_d1_b8: target dpu has none"


def test_what_makes_two_searches_the_same() -> None:
    known = search_identity(SEARCH)
    assert known == json.loads(json.dumps(known))
    others = [
        search_identity(each)
        for each in (
            None,
            Search((4, 1), (1,), 1.25, None),
            Search((1, 4), (1, 8), 1.25, None),
            Search((1, 4), (1,), 1.5, None),
            Search((1, 4), (1,), 1.25, {}),
            Search((1, 4), (1,), 1.25, {"x": 0.5}),
        )
    ]
    for at, other in enumerate(others):
        assert other not in (known, *others[:at])
        assert other.keys() == known.keys()


def damages() -> Iterator[tuple[str, Any]]:
    """What a file may have in the place of what is found, by a name."""
    right: dict[str, Any] = {
        "of": {},
        "schedules": [
            {
                "values": {"plan": "a"},
                "schedule": "a",
                "estimate": {"cycles": 60, "ops": 3, "bytes": 24, "blocks": 2},
            }
        ],
    }
    yield "right", right
    for text in ("", "mine", "{", '{"of": {}', "[" * 100_000, "9" * 10_000, "\ud800"):
        yield f"text {text[:3]!r}", text
    for whole in ([], {}, 3, None, [right], {"of": {}}, {"schedules": []}):
        yield f"whole {whole}"[:40], whole
    for value in (None, 3, "a", {}, [], [[]], [3], ["a"], [{}]):
        yield f"schedules {value}", {**right, "schedules": value}
    for name, values in {
        "values": (None, 3, "a", [], {}, {"plan": 3}, {"plan": None}, {"plan": []}, {"paln": "a"}),
        "schedule": (None, 3, [], {}),
        "estimate": (None, 3, "a", [], {}, {"cycles": 1}),
    }.items():
        for value in values:
            changed = copy.deepcopy(right)
            changed["schedules"][0][name] = value
            yield f"{name} {value}", changed
        del (lacking := copy.deepcopy(right))["schedules"][0][name]
        yield f"no {name}", lacking
    for name in ("cycles", "ops", "bytes", "blocks"):
        for number in (None, "1", 1.5, True, -1, [], float("nan")):
            changed = copy.deepcopy(right)
            changed["schedules"][0]["estimate"][name] = number
            yield f"{name} {number}", changed
    changed = copy.deepcopy(right)
    changed["schedules"][0]["values"]["more"] = "a"
    yield "more values", changed
    changed = copy.deepcopy(right)
    changed["schedules"][0]["estimate"]["more"] = 3
    yield "more figures", changed


def test_damaged_files(tmp_path: Path, order: Order) -> None:
    path = tmp_path / NAME
    for name, content in damages():
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_bytes(text.encode(errors="surrogatepass"))
        if name == "right":
            (found,) = search(order, tmp_path, {})
            assert found == Alternative({"plan": "a"}, "a", Estimated(60, 3, 24, 2))
            continue
        with refused(f"{path}: not schedules of gnarl explore, or damaged: must be another folder"):
            search(order, tmp_path, {})
            pytest.fail(name)
    assert not order.searches()
    assert not (tmp_path / "schedules").exists()

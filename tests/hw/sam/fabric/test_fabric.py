"""A fabric that becomes one graph after another."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnarl.hw.sam.fabric.encoding import Encoded, encode
from gnarl.hw.sam.graph import Graph
from gnarl.hw.sam.memory_map import ErrorCause, settings_rows, units_of
from gnarl.sw.runtime.machine.host import AcceleratorError, HostDriver
from tests.hw.sam.graphs import (
    DENSE,
    DOUBLE,
    INTERSECTION,
    STUCK,
    column,
    graph,
    machine,
    small,
)

POOL = {
    "root": 1,
    "fiberlookup": 2,
    "intersect": 1,
    "arrayvals": 2,
    "alu": 1,
    "repsiggen": 1,
    "repeat_values": 1,
    "reduce_add": 1,
    "fiberwrite": 1,
    "valwrite": 1,
}
CONFIG = small(None, fabric=POOL)
PIPELINED = replace(CONFIG, alu_stages=3, local_latency=2, stream_latency=2)


def configure(driver: HostDriver, graph: Graph, size: int = 0) -> Encoded:
    encoded = encode(graph, CONFIG)
    driver.write_window("configuration", column(encoded.words))
    driver.write_window("settings", column([size] * len(settings_rows(CONFIG))))
    return encoded


def silent(driver: HostDriver, encoded: Encoded) -> bool:
    """No unit that is not used gave a token, or read."""
    counted = ("tokens_", "reads_")
    used = tuple(f"{what}{unit}_" for what in counted for unit in encoded.units.values())
    return not any(
        count
        for name, count in driver.counters().items()
        if name.startswith(counted) and not name.startswith(used)
    )


@pytest.mark.parametrize("config, latency", [(CONFIG, 6), (PIPELINED, 6 + 2 + 1 + 4)])
def test_one_graph_after_another(config, latency):
    driver, _ = machine(config)

    encoded = configure(driver, DOUBLE, size=5)
    driver.write_window("arrayvals_0_vals", column([3, 1, 4, 1, 5]))
    assert driver.run(max_cycles=1000).done
    assert driver.read_window("valwrite_0_vals", 0, 5)[:, 0].tolist() == [6, 2, 8, 2, 10]
    counters = driver.counters()
    assert counters["tokens_alu_0_out_val"] == 7
    assert counters["valwrite_0_entries"] == counters["reads_arrayvals_0_vals"] == 5
    assert driver.cycles() == 7 + latency
    assert silent(driver, encoded)

    encoded = configure(driver, INTERSECTION)
    for lane, (coordinates, values) in enumerate([([1, 4, 9], [3, 5, 2]), ([4, 9, 12], [4, 6, 1])]):
        driver.write_window(f"fiberlookup_{lane}_seg", [[0, 3]])
        driver.write_window(f"fiberlookup_{lane}_crd", column(coordinates))
        driver.write_window(f"arrayvals_{lane}_vals", column(values))
    assert driver.run(max_cycles=1000).done
    assert driver.read_window("fiberwrite_0_crd", 0, 2)[:, 0].tolist() == [4, 9]
    assert driver.read_window("valwrite_0_vals", 0, 2)[:, 0].tolist() == [20, 12]
    counters = driver.counters()
    for lane in range(2):
        reads = {"fiberlookup": {"seg": 1, "crd": 3}, "arrayvals": {"vals": 2}}
        for unit, of_arrays in reads.items():
            for array, count in of_arrays.items():
                assert counters[f"reads_{unit}_{lane}_{array}"] == count
    assert silent(driver, encoded)

    encoded = configure(driver, STUCK, size=3)
    assert driver.run(max_cycles=1000).done
    assert driver.read_window("valwrite_0_vals", 0, 3)[:, 0].tolist() == [13, 15, 12]
    assert silent(driver, encoded)


@pytest.mark.parametrize("stalled", ["i", "j"])
def test_of_two_listeners_one_is_stalled(stalled):
    """Each gets every token once, also while the other, a lookup behind it, is five times slower.

    ``stalled``: whether the slow one is the first or the second of the units that listen.
    """
    fast = "j" if stalled == "i" else "i"
    listeners = graph(
        {
            "root": "root",
            "outer": DENSE,
            "i": DENSE,
            "j": DENSE,
            "products": "arrayvals",
            "values": "arrayvals",
            "all": "valwrite",
            "few": "valwrite",
        },
        [
            "root.out_ref -> outer.ref",
            "outer.out_ref -> i.ref",
            "outer.out_ref -> j.ref",
            "i.out_ref -> products.ref",
            "j.out_ref -> values.ref",
            "products.out_val -> all.val",
            "values.out_val -> few.val",
        ],
    )
    config = small(None, fabric={"root": 1, "fiberlookup": 3, "arrayvals": 2, "valwrite": 2})
    encoded = encode(listeners, config)
    driver, _ = machine(config)
    driver.write_window("configuration", column(encoded.words))
    sizes = {"outer": 6, fast: 1, stalled: 5}
    rows = [(encoded.units[name], "size") for name in sizes]
    settings = dict(zip(rows, sizes.values(), strict=True))
    driver.write_window("settings", column([settings[row] for row in settings_rows(config)]))
    for name in ("products", "values"):
        driver.write_window(f"{encoded.units[name]}_vals", column(range(32)))

    assert driver.run(max_cycles=1000).done
    counters = driver.counters()
    assert counters[f"stalls_{encoded.units['outer']}"] > 0
    assert counters[f"tokens_{encoded.units['outer']}_out_ref"] == 6 + 2
    for name, writer in (("i", "all"), ("j", "few")):
        expected = list(range(6 * sizes[name]))
        unit = encoded.units[writer]
        assert counters[f"{unit}_entries"] == len(expected)
        found = driver.read_window(f"{unit}_vals", 0, len(expected))
        assert found[:, 0].tolist() == expected


def test_faults_name_the_unit():
    driver, _ = machine(CONFIG)
    configure(driver, DOUBLE, size=33)
    with pytest.raises(AcceleratorError) as caught:
        driver.run(max_cycles=1000)
    status = caught.value.status
    assert status.cause == ErrorCause.FAULT
    assert units_of(CONFIG)[status.detail].name == "arrayvals_0"


def test_a_fabric_without_a_configuration_does_nothing():
    driver, _ = machine(CONFIG)
    assert driver.run(max_cycles=100).done
    assert driver.cycles() == 0
    assert not any(driver.counters().values())

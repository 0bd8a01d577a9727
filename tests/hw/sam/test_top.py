"""Whole machines of small graphs, behind their host port."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.machine.memory_map import Register
from gnarl.hw.sam.memory_map import WATCHDOG_CYCLES, ErrorCause, memory_map
from gnarl.sw.runtime.machine.host import AcceleratorError, Status
from tests.hw.sam.graphs import (
    CENTRED,
    DENSE,
    DOUBLE,
    INTERSECTION,
    STUCK,
    column,
    graph,
    load_vectors,
    machine,
    product,
    small,
)

DONE = Status(busy=False, done=True, cause=0, detail=0)
SHARED = {"memory": "shared", "memory_latency": 3, "memory_bandwidth": 2, "memory_in_flight": 4}
LINES = {
    "memory": "lines",
    "memory_latency": 7,
    "memory_channels": 2,
    "line_bytes": 16,
    "line_cycles": 3,
}
B = {1: 3, 4: 5, 5: 7, 9: 2, 20: 11}
C = {0: 2, 4: 4, 9: 6, 13: 1, 14: 1, 15: 1, 20: 10}


def test_cycles_and_counters_of_a_run():
    driver, _ = machine(small(DOUBLE))
    driver.write_window("settings", [[10]])
    driver.write_window("vals_vals", column(range(32)))
    assert driver.run(max_cycles=1000) == DONE
    assert driver.read_window("write_vals", 0, 10)[:, 0].tolist() == [2 * n for n in range(10)]
    # Queued in front of five blocks one after the other, one of them with a memory.
    assert driver.cycles() == 12 + 6
    assert driver.counters() == {
        "tokens_root_out_ref": 2,
        "tokens_i_out_ref": 12,
        "tokens_vals_out_val": 12,
        "tokens_add_out_val": 12,
        "operations_add": 10,
        "reads_vals_vals": 10,
        "stalls_root": 0,
        "stalls_i": 0,
        "stalls_vals": 0,
        "stalls_add": 0,
        "stalls_write": 0,
        "write_entries": 10,
    }


@pytest.mark.parametrize("memory", [{}, SHARED, LINES], ids=["local", "shared", "lines"])
def test_a_machine_without_counters_knows_what_it_has_written(memory):
    driver, _ = machine(small(INTERSECTION, counters=False, **memory))
    load_vectors(driver, B, C)
    for _ in range(2):
        assert driver.run(max_cycles=1000) == DONE
        assert product(driver) == {4: 20, 9: 12, 20: 110}
        assert driver.counters() == {"write_fibers": 1, "write_entries": 3, "vals_entries": 3}
    counting, _ = machine(small(INTERSECTION, **memory))
    load_vectors(counting, B, C)
    counting.run(max_cycles=1000)
    assert counting.cycles() == driver.cycles()


@pytest.mark.parametrize("memory", [{}, SHARED, LINES], ids=["local", "shared", "lines"])
def test_runs_follow_each_other(memory):
    driver, _ = machine(small(INTERSECTION, **memory), stalls=0.2)
    load_vectors(driver, B, C)
    first = None
    for _ in range(2):
        assert driver.run(max_cycles=1000) == DONE
        assert product(driver) == {4: 20, 9: 12, 20: 110}
        assert driver.read_window("write_seg", 0, 1).tolist() == [[0, 3]]
        first = first or (driver.cycles(), driver.counters())
        assert (driver.cycles(), driver.counters()) == first
    load_vectors(driver, {}, C)
    assert driver.run(max_cycles=1000) == DONE
    assert product(driver) == {}


@pytest.mark.parametrize("memory", [{}, SHARED, LINES], ids=["local", "shared", "lines"])
def test_arrays_of_different_sizes(memory):
    """The writer's coordinates are one too few for the second product; segments are few for all."""
    sizes = {"b_seg": 1, "c_seg": 1, "write_seg": 1, "write_crd": 3, "b_crd": len(B), "vals": 100}
    driver, _ = machine(small(INTERSECTION, arrays=sizes, **memory))
    load_vectors(driver, B, C)
    assert driver.run(max_cycles=1000) == DONE
    assert product(driver) == {4: 20, 9: 12, 20: 110}
    load_vectors(driver, B, {at: 1 for at in B})
    with pytest.raises(AcceleratorError) as caught:
        driver.run(max_cycles=1000)
    blocks = [block.name for block in INTERSECTION.blocks]
    assert caught.value.status.cause == ErrorCause.FAULT
    assert blocks[caught.value.status.detail] == "write"


def test_a_segment_may_not_end_behind_its_coordinates_nor_be_behind_the_others():
    driver, _ = machine(small(INTERSECTION, arrays={"b_seg": 1, "b_crd": 4}))
    load_vectors(driver, {1: 1, 2: 2, 3: 3, 4: 4}, C)
    assert driver.run(max_cycles=1000) == DONE
    driver.write_window("b_seg", np.array([[0, 5]]))
    with pytest.raises(AcceleratorError) as caught:
        driver.run(max_cycles=1000)
    assert caught.value.status == Status(busy=False, done=False, cause=ErrorCause.FAULT, detail=1)


def test_an_empty_setting_window_is_there_all_the_same():
    driver, _ = machine(small(INTERSECTION))
    assert driver.read_window("settings", 0, 1).tolist() == [[0]]


@pytest.mark.parametrize(
    "how, memory", [("stop", SHARED), ("clear", {}), ("stop", LINES), ("clear", LINES)]
)
def test_what_is_broken_off_leaves_nothing_behind(how, memory):
    driver, port = machine(small(INTERSECTION, **memory))
    load_vectors(driver, B, C)
    for cycles in (0, 5, 12):
        driver.start()
        port.step(cycles)
        assert driver.status().busy
        getattr(driver, how)()
        assert driver.status() == Status(busy=False, done=False, cause=0, detail=0)
        assert driver.read_window("c_crd", 0, len(C))[:, 0].tolist() == list(C)
        assert driver.run(max_cycles=1000) == DONE
        assert product(driver) == {4: 20, 9: 12, 20: 110}


def test_windows_are_closed_during_a_run():
    driver, port = machine(small(DOUBLE))
    driver.write_window("settings", [[30]])
    driver.write_window("vals_vals", column(range(32)))
    driver.start()
    window = memory_map(small(DOUBLE)).window("vals_vals")
    port.write_words(window.base, np.full(20, 99, np.uint32))
    assert port.read_words(window.base, 1) == 0
    assert driver.status().busy
    driver.wait(max_cycles=1000)
    assert driver.read_window("vals_vals", 0, 32)[:, 0].tolist() == list(range(32))


def test_a_fault_ends_the_run_and_names_the_block():
    driver, _ = machine(small(DOUBLE))
    driver.write_window("settings", [[33]])
    with pytest.raises(AcceleratorError) as caught:
        driver.run(max_cycles=1000)
    assert caught.value.status == Status(busy=False, done=False, cause=ErrorCause.FAULT, detail=2)
    driver.start()
    assert driver.status() == caught.value.status
    driver.clear()
    assert driver.cycles() == 0
    driver.write_window("settings", [[32]])
    assert driver.run(max_cycles=1000) == DONE
    assert driver.counters()["write_entries"] == 32


def test_a_row_beyond_its_place_in_lines_is_a_fault_of_its_block():
    driver, port = machine(small(DOUBLE, **LINES))
    driver.write_window("settings", [[10]])
    driver.write_window("vals_vals", column(range(32)))
    assert driver.run(max_cycles=1000) == DONE
    assert driver.read_window("write_vals", 0, 10)[:, 0].tolist() == [2 * n for n in range(10)]
    window = memory_map(small(DOUBLE, **LINES)).window("places")
    port.write_words(window.base + 1, np.array([9], np.uint32))
    with pytest.raises(AcceleratorError) as caught:
        driver.run(max_cycles=1000)
    assert caught.value.status == Status(busy=False, done=False, cause=ErrorCause.FAULT, detail=2)
    driver.clear()
    port.write_words(window.base + 1, np.array([10], np.uint32))
    assert driver.run(max_cycles=1000) == DONE


def test_a_machine_of_one_row_and_one_channel():
    config = small(DOUBLE, array_words=16, **(LINES | {"memory_channels": 1, "line_bytes": 64}))
    driver, _ = machine(config)
    assert memory_map(config).window("words").rows == 2 * 16
    driver.write_window("settings", [[1]])
    driver.write_window("vals_vals", column([21]))
    assert driver.run(max_cycles=1000) == DONE
    assert driver.read_window("write_vals", 0, 1)[:, 0].tolist() == [42]
    assert driver.counters()["lines_vals_vals"] == driver.counters()["lines_write_vals"] == 1
    assert driver.counters()["lines_0"] == 2


@pytest.mark.parametrize("joiner", ["union", "intersect"])
def test_a_fault_behind_a_joiner_names_its_own_block(joiner):
    two = graph(
        {
            "root": "root",
            "i": DENSE,
            "j": DENSE,
            "both": joiner,
            "one": "arrayvals",
            "other": "arrayvals",
            "add": "alu",
            "write": "valwrite",
        },
        [
            "root.out_ref -> i.ref",
            "root.out_ref -> j.ref",
            "i.out_crd -> both.crd0",
            "i.out_ref -> both.ref0",
            "j.out_crd -> both.crd1",
            "j.out_ref -> both.ref1",
            "both.out_ref0 -> one.ref",
            "both.out_ref1 -> other.ref",
            "one.out_val -> add.val0",
            "other.out_val -> add.val1",
            "add.out_val -> write.val",
        ],
    )
    driver, _ = machine(small(two))
    driver.write_window("settings", column([33, 33]))
    with pytest.raises(AcceleratorError) as caught:
        driver.run(max_cycles=1000)
    assert (caught.value.status.cause, caught.value.status.detail) == (ErrorCause.FAULT, 4)


@pytest.mark.parametrize("memory", [{}, LINES], ids=["local", "lines"])
def test_a_deadlock_ends_the_run_and_names_who_waits(memory):
    driver, _ = machine(small(STUCK, **memory))
    driver.write_window("vals_vals", column(range(32)))
    driver.write_window("settings", [[3]])
    driver.run(max_cycles=1000)
    assert driver.read_window("write_vals", 0, 3)[:, 0].tolist() == [3, 4, 5]
    driver.write_window("settings", [[30]])
    with pytest.raises(AcceleratorError) as caught:
        driver.run(max_cycles=WATCHDOG_CYCLES + 1000)
    assert caught.value.status == Status(False, False, ErrorCause.DEADLOCK, detail=1)
    assert WATCHDOG_CYCLES < driver.cycles() < WATCHDOG_CYCLES + 60


def test_a_queue_of_a_row_is_enough_where_a_row_waits_for_its_maximum():
    rows = np.array([[3, 9, 1, 4, 7, 0, 2, 8], [1, 1, 1, 5, 1, 1, 1, 1], [6] * 8])
    driver, _ = machine(small(CENTRED, queue_depth=8))
    driver.write_window("vals_vals", column(rows.ravel().tolist()))
    driver.write_window("settings", column(rows.shape))
    driver.run(max_cycles=1000)
    written = driver.read_window("write_vals", 0, rows.size)[:, 0].astype(np.int8)
    assert written.reshape(rows.shape).tolist() == (rows - rows.max(1)[:, None]).tolist()


@pytest.mark.parametrize(
    "values, signals, cycles", [(8, 6, 57), (8, 8, 53), (7, 8, None), (8, 5, None)]
)
def test_each_queue_has_the_depth_that_its_stream_needs(values, signals, cycles):
    depths = {("sub", "val0"): values, ("maxima", "repsig"): signals}
    driver, _ = machine(small(CENTRED.with_depths(depths), queue_depth=2))
    driver.write_window("vals_vals", column(range(24)))
    driver.write_window("settings", column([3, 8]))
    if cycles is None:
        with pytest.raises(AcceleratorError) as caught:
            driver.run(max_cycles=WATCHDOG_CYCLES + 1000)
        assert caught.value.status.cause == ErrorCause.DEADLOCK
        return
    driver.run(max_cycles=1000)
    assert driver.cycles() == cycles
    written = driver.read_window("write_vals", 0, 24)[:, 0].astype(np.int8)
    assert written.tolist() == [*range(-7, 1)] * 3


def test_a_row_waits_in_block_ram():
    """Other queues need not be as long, for the same cycles."""
    waiting = CENTRED.with_depths({("sub", "val0"): 70, ("maxima", "repsig"): 70})
    fields = {"array_words": 256, "format": "fixed16.0"}
    cycles = []
    for config in (small(waiting, **fields), small(CENTRED, queue_depth=70, **fields)):
        driver, _ = machine(config)
        driver.write_window("vals_vals", column(range(210)))
        driver.write_window("settings", column([3, 70]))
        driver.run(max_cycles=1000)
        written = driver.read_window("write_vals", 0, 210)[:, 0].astype(np.int16)
        assert written.tolist() == [*range(-69, 1)] * 3
        cycles.append(driver.cycles())
    assert cycles == [301, 301]


def test_the_digest_is_the_configuration_s():
    config = small(DOUBLE)
    _, port = machine(config)
    assert port.read_words(Register.DIGEST, 1) == np.uint32(int(config.digest[:8], 16))

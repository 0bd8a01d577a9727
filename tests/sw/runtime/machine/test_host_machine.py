"""Machines behind the host port: what is loaded again, and what they survive, without a reset."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError, ProgramError
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.program.program import Launch
from gnarl.sw.program.rows import MachineRun, Rows, Wanted
from gnarl.sw.runtime.machine import host, host_machine
from gnarl.sw.runtime.machine.cycle_limit import CycleLimitError
from gnarl.sw.runtime.machine.host_machine import HostJob, HostMachine
from gnarl.sw.runtime.machine.simulator import Simulator
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.runtime.target.verilog import module_name, verilog
from gnarl.sw.workloads.dag.generate import random_dag
from tests.support.dpu.dags import input_values
from tests.support.machines.host_ports import CountingPort, put_port
from tests.support.targets import adder
from tests.support.targets.adder_target import TARGET, AdderConfig, AdderExecutor, Table

NARROW_WORDS = adder.NARROW_ROWS * adder.NARROW_WORDS
TABLE_WORDS = adder.ROWS * adder.WORDS


class WatchedAdder(AdderExecutor):
    """The adder, of which it is known what runs write."""

    volatile: Mapping[str, np.ndarray] | None = {"table": np.arange(adder.ROWS)}

    def volatile_rows(self, launch: Launch) -> Mapping[str, np.ndarray] | None:
        return self.volatile


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    hardware = NamedConfiguration("adder", "", TARGET, AdderConfig(), {})
    with Simulator(verilog(hardware), module_name(hardware)) as found:
        yield found


@pytest.fixture
def target() -> WatchedAdder:
    return WatchedAdder()


@pytest.fixture
def port(simulator: Simulator) -> CountingPort:
    return CountingPort(simulator, adder.memory_map())


@pytest.fixture
def machine(target: WatchedAdder, port: CountingPort) -> HostMachine[Any]:
    return HostMachine(target, AdderConfig(), port)


def launch() -> Launch:
    table = Table("table", {})
    return TARGET.compiler.compile(table, AdderConfig(), trace=Trace()).launches[0]


def job(table: np.ndarray, narrow: np.ndarray | None = None) -> HostJob[Any]:
    """Loads all of both windows."""
    image = {"table": Rows(np.arange(adder.ROWS), table.astype(np.uint32))}
    if narrow is not None:
        image["narrow"] = Rows(np.arange(adder.NARROW_ROWS), narrow.astype(np.uint32))
    return HostJob(launch(), None, image)


TABLE = np.arange(TABLE_WORDS).reshape(adder.SHAPE)
NARROW = np.arange(NARROW_WORDS).reshape(adder.NARROW_ROWS, adder.NARROW_WORDS)

FULL = TABLE.copy()
FULL[7, 0] = 2**32 - 1
"""At which the adder stops."""

OVERFLOW = "stopped after 16 cycles: error 3 (OVERFLOW), detail 7; model row 7: OVERFLOW"


def run(machine: HostMachine[Any], port: CountingPort, job: HostJob[Any]) -> dict[str, int]:
    """Runs a job that ends well; returns the words written to each window."""
    port.reset()
    machine.load(job)
    written = port.written
    machine.start()
    machine.wait()
    found = machine.read()
    assert found.cycles == adder.CYCLES
    assert found.counters["rows"] == adder.ROWS
    table = job.image["table"].words
    assert np.array_equal(found.outputs["sums"], adder.expected(table))
    return written


def fails(machine: HostMachine[Any], job: HostJob[Any], text: str) -> None:
    machine.load(job)
    machine.start()
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        machine.wait()


def test_what_did_not_change_is_not_written_again(
    machine: HostMachine[Any], port: CountingPort
) -> None:
    assert run(machine, port, job(TABLE, NARROW)) == {"table": 72, "narrow": 16}
    # The run itself changes the table.
    assert run(machine, port, job(TABLE, NARROW)) == {"table": 72, "narrow": 0}
    assert run(machine, port, job(TABLE, NARROW + 1)) == {"table": 72, "narrow": 16}
    assert run(machine, port, job(TABLE)) == {"table": 72, "narrow": 0}
    assert run(machine, port, job(TABLE, NARROW + 1)) == {"table": 72, "narrow": 0}
    rows = machine.rows({"narrow": np.array([0, 2])})["narrow"]
    assert rows.words.tolist() == (NARROW + 1)[[0, 2]].tolist()


def test_loading_twice_without_a_start_writes_once(
    machine: HostMachine[Any], port: CountingPort
) -> None:
    machine.load(job(TABLE, NARROW))
    assert run(machine, port, job(TABLE, NARROW)) == {"table": 0, "narrow": 0}


def test_only_blocks_that_changed_are_written(
    machine: HostMachine[Any], port: CountingPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_machine, "_BLOCK_WORDS", 4 * adder.WORDS)
    machine.load(job(TABLE))
    changed = TABLE.copy()
    changed[9, 1] += 1
    changed[20, 2] += 1
    assert run(machine, port, job(changed)) == {"table": 2 * 4 * adder.WORDS, "narrow": 0}


def test_only_blocks_that_a_run_writes_are_forgotten(
    machine: HostMachine[Any],
    port: CountingPort,
    target: WatchedAdder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host_machine, "_BLOCK_WORDS", 2 * adder.NARROW_WORDS)
    target.volatile = {"table": np.arange(adder.ROWS), "narrow": np.array([3])}
    run(machine, port, job(TABLE, NARROW))
    assert run(machine, port, job(TABLE, NARROW))["narrow"] == 2 * adder.NARROW_WORDS


def test_a_target_that_does_not_know_what_runs_write_loads_all(
    machine: HostMachine[Any], port: CountingPort, target: WatchedAdder
) -> None:
    target.volatile = None
    for _ in range(2):
        assert run(machine, port, job(TABLE, NARROW)) == {"table": 72, "narrow": 16}


def test_part_of_a_window_counts_as_no_more(machine: HostMachine[Any], port: CountingPort) -> None:
    part = HostJob(launch(), None, {"narrow": Rows(np.array([1, 2]), NARROW[1:3] + 5)})
    machine.load(job(TABLE, NARROW))
    machine.load(part)
    assert run(machine, port, job(TABLE, NARROW)) == {"table": 0, "narrow": 16}
    rows = machine.rows({"narrow": np.arange(adder.NARROW_ROWS)})["narrow"]
    assert rows.words.tolist() == NARROW.tolist()


def test_no_rows_are_read_as_none(machine: HostMachine[Any]) -> None:
    assert machine.rows({"table": np.zeros(0, np.int64)})["table"].words.size == 0


def test_an_error_forgets_all(machine: HostMachine[Any], port: CountingPort) -> None:
    run(machine, port, job(TABLE, NARROW))
    fails(machine, job(FULL, NARROW), OVERFLOW)
    assert run(machine, port, job(TABLE, NARROW)) == {"table": 72, "narrow": 16}


@pytest.mark.parametrize("cycles", [1, 3, adder.CYCLES - 1])
def test_a_run_that_takes_too_long_is_stopped_and_forgets_all(
    machine: HostMachine[Any], port: CountingPort, cycles: int
) -> None:
    run(machine, port, job(TABLE, NARROW))
    text = f"did not end within {cycles} cycles: --max-cycles N allows more"
    fails(machine, replace(job(TABLE, NARROW), max_cycles=cycles), text)
    assert run(machine, port, job(TABLE, NARROW)) == {"table": 72, "narrow": 16}


def test_a_run_may_take_all_of_its_cycles(machine: HostMachine[Any], port: CountingPort) -> None:
    run(machine, port, replace(job(TABLE), max_cycles=adder.CYCLES))


@pytest.mark.parametrize("cycles", [15, 16])
def test_an_error_at_the_limit(machine: HostMachine[Any], cycles: int) -> None:
    limited = replace(job(FULL), max_cycles=cycles)
    text = f"did not end within {cycles} cycles: --max-cycles N allows more"
    fails(machine, limited, OVERFLOW if cycles == 16 else text)


class EndlessAdder(WatchedAdder):
    """Whose model runs on as long as it may."""

    def model(self, config: AdderConfig, job: HostJob[Any], wanted: Wanted) -> MachineRun:
        assert job.max_cycles < 10_000
        raise CycleLimitError(job.max_cycles)


def test_the_model_is_asked_about_as_many_cycles_as_the_hardware_ran(
    simulator: Simulator,
) -> None:
    endless = HostMachine(EndlessAdder(), AdderConfig(), simulator)
    text = "stopped after 16 cycles: error 3 (OVERFLOW), detail 7; the model goes on"
    fails(endless, job(FULL), text)


class BrokenAdder(WatchedAdder):
    """Whose model is not as it should be."""

    def model(self, config: AdderConfig, job: HostJob[Any], wanted: Wanted) -> MachineRun:
        raise IndexError("list index out of range")


def test_a_model_that_fails_does_not_hide_the_error(simulator: Simulator) -> None:
    broken = HostMachine(BrokenAdder(), AdderConfig(), simulator)
    text = (
        "stopped after 16 cycles: error 3 (OVERFLOW), detail 7; the model fails: IndexError: list "
        "index out of range"
    )
    fails(broken, job(FULL), text)


def test_another_program_may_have_written_anywhere_in_windows_that_it_writes(
    machine: HostMachine[Any],
    port: CountingPort,
    target: WatchedAdder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(host_machine, "_BLOCK_WORDS", 2 * adder.NARROW_WORDS)
    target.volatile = {"table": np.arange(adder.ROWS), "narrow": np.array([3])}
    first, second = (
        TARGET.compiler.compile(Table("table", {}), AdderConfig(), trace=Trace()) for _ in range(2)
    )
    given = job(TABLE, NARROW)
    run(machine, port, replace(given, program=first))
    assert run(machine, port, replace(given, program=first))["narrow"] == 2 * adder.NARROW_WORDS
    assert run(machine, port, replace(given, program=second))["narrow"] == NARROW_WORDS


def test_an_interrupt_stops_the_run_and_forgets_all(
    machine: HostMachine[Any], port: CountingPort
) -> None:
    machine.load(job(TABLE, NARROW))
    machine.start()
    port.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        machine.wait()
    assert run(machine, port, job(TABLE, NARROW)) == {"table": 72, "narrow": 16}


def test_an_image_that_does_not_fit_forgets_what_it_may_have_written(
    machine: HostMachine[Any], port: CountingPort
) -> None:
    run(machine, port, job(TABLE, NARROW))
    rows = Rows(np.arange(adder.NARROW_ROWS + 1), np.zeros((5, adder.NARROW_WORDS), np.uint32))
    with pytest.raises(GnarlError, match="^window narrow: has rows 0 to 3, asked for 0 to 4$"):
        machine.load(HostJob(launch(), None, {"narrow": rows}))
    assert run(machine, port, job(TABLE, NARROW)) == {"table": 72, "narrow": 16}


@pytest.mark.parametrize("seed", range(3))
def test_images_in_any_order_with_bad_ones_between(
    machine: HostMachine[Any], port: CountingPort, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """The memories hold what the last loads and runs left there."""
    monkeypatch.setattr(host_machine, "_BLOCK_WORDS", 4 * adder.WORDS)
    chosen = random.Random(seed)
    narrow = np.zeros_like(NARROW)
    machine.load(job(TABLE, narrow))
    for _ in range(60):
        table = TABLE + chosen.randrange(2)
        rows = sorted(chosen.sample(range(adder.NARROW_ROWS), chosen.randrange(1, 4)))
        words = (NARROW + chosen.randrange(2))[rows]
        narrow[rows] = words
        bad = chosen.random() < 0.3
        image = job(FULL if bad else table).image | {
            "narrow": Rows(np.array(rows), words.astype(np.uint32))
        }
        each = HostJob(launch(), None, image)
        if bad:
            fails(machine, each, OVERFLOW)
        else:
            run(machine, port, each)
        found = machine.rows({"narrow": np.arange(adder.NARROW_ROWS)})["narrow"]
        assert np.array_equal(found.words, narrow)


def test_a_dpu_gets_its_instructions_once() -> None:
    workload = random_dag(2000, seed=1)
    with Device(load_configuration("dpu_d1_b8")) as device:
        port = put_port(device, CountingPort)
        program = device.compile(workload)
        assert device.verify(device.run(program, workload.inputs)).bit_exact
        first = dict(port.written)
        assert min(first.values()) > 0
        for seed in range(2):
            port.reset()
            result = device.run(program, input_values(workload.dag, seed))
            assert device.verify(result).difference == ""
            assert port.written == {"instructions": 0, "data": first["data"]}


def test_programs_of_a_dpu_in_any_order_with_bad_ones_between() -> None:
    workloads = [random_dag(operations, seed=operations) for operations in (300, 20, 80)]
    with Device(load_configuration("dpu_d1_b8")) as device:
        programs = [device.compile(workload) for workload in workloads]
        chosen = random.Random(1)
        for _ in range(30):
            number = chosen.randrange(len(programs))
            program, inputs = programs[number], workloads[number].inputs
            if chosen.random() < 0.3:
                own = program.launches[0]
                stream = own.sections["instructions"].copy()
                stream[0] = 0x0F  # no such opcode
                damaged = replace(own, sections={**own.sections, "instructions": stream})
                with pytest.raises(ProgramError, match="ILLEGAL_OPCODE"):
                    device.run(replace(program, launches=(damaged,)), inputs)
            else:
                assert device.verify(device.run(program, inputs)).difference == ""


def test_counters_are_read_in_the_course_of_a_run_that_takes_as_long(
    target: WatchedAdder, simulator: Simulator
) -> None:
    machine: HostMachine[Any] = HostMachine(target, AdderConfig(), simulator)
    finished = []
    for sampled in ((), ("rows",), ()):
        machine.load(replace(job(TABLE), sampled=sampled))
        machine.start()
        machine.wait()
        finished.append(machine.read())
    before, found, after = finished
    assert before.samples is None
    assert after.samples is None
    assert {one.cycles for one in finished} == {adder.CYCLES}
    assert {one.counters["rows"] for one in finished} == {adder.ROWS}
    assert all((one.outputs["sums"] == adder.expected(TABLE)).all() for one in finished)
    assert found.samples is not None
    times, rows = found.samples.counts["rows"]
    assert len(times) > 3
    assert (np.diff(times) > 0).all()
    # The adder writes a row every other cycle.
    assert rows.tolist() == (times // 2).tolist()
    assert (times[-1], rows[-1]) == (adder.CYCLES, adder.ROWS)


def test_of_long_runs_counters_are_read_less_often(
    target: WatchedAdder, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "_MOST_READS", 2)
    machine: HostMachine[Any] = HostMachine(target, AdderConfig(), simulator)
    machine.load(replace(job(TABLE), sampled=("rows",)))
    machine.start()
    machine.wait()
    samples = machine.read().samples
    assert samples is not None
    times, rows = samples.counts["rows"]
    assert len(times) == 3
    assert rows.tolist() == (times // 2).tolist()


def test_a_run_that_fails_while_counters_are_read_says_so(
    target: WatchedAdder, simulator: Simulator
) -> None:
    machine: HostMachine[Any] = HostMachine(target, AdderConfig(), simulator)
    fails(machine, replace(job(FULL), sampled=("rows",)), OVERFLOW)


def test_counters_of_boards_are_not_read_in_the_course_of_a_run(
    machine: HostMachine[Any], port: CountingPort
) -> None:
    machine.load(replace(job(TABLE), sampled=("rows",)))
    machine.start()
    machine.wait()
    assert machine.read().samples is None

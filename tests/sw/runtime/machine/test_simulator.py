"""Simulation in the process, and that it behaves as Amaranth's own simulator does."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from gnarl.hw.lib.verilog import to_verilog
from gnarl.sw.runtime.machine.host import (
    AcceleratorError,
    HostDriver,
    HostTimeoutError,
    Port,
    Status,
)
from gnarl.sw.runtime.machine.simulator import SimulationError, Simulator
from tests.support.machines.amaranth_port import AmaranthPort
from tests.support.machines.front_door import FrontDoor
from tests.support.targets.adder import (
    CYCLES,
    DIGEST,
    ROWS,
    WORDS,
    Adder,
    Cause,
    expected,
    memory_map,
)

DONE = Status(busy=False, done=True, cause=0, detail=0)

STOPPED = """
module stopped(
  input clk, input rst, input host__request__valid, input [63:0] host__request__payload,
  input host__response__ready, output host__request__ready, output host__response__valid,
  output [31:0] host__response__payload);
  assign host__request__ready = 0;
  assign host__response__valid = 0;
  assign host__response__payload = 0;
  reg [7:0] cycle;
  always @(posedge clk) begin
    cycle <= rst ? 0 : cycle + 1;
    if (cycle == 50) STOP
  end
endmodule
"""
"""A design with streams that never move; reset in the 2nd cycle, it does STOP in the 53rd."""


@pytest.fixture(scope="module")
def verilog() -> str:
    return to_verilog(Adder(), "adder")


@pytest.fixture
def simulator(verilog: str) -> Iterator[Simulator]:
    with Simulator(verilog, "adder") as simulator:
        yield simulator


@pytest.fixture(params=["verilated", "verilated front door", "amaranth"])
def port(request: pytest.FixtureRequest) -> Port:
    if request.param == "amaranth":
        return AmaranthPort(Adder())
    simulator = request.getfixturevalue("simulator")
    return simulator if request.param == "verilated" else FrontDoor(simulator)


def connect(port: Port) -> HostDriver:
    return HostDriver(port, memory_map(), DIGEST)


def table() -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2**31, (ROWS, WORDS))


def refused(text: str) -> pytest.RaisesExc[SimulationError]:
    return pytest.raises(SimulationError, match=f"^{re.escape(text)}$")


def test_a_run_ends_well(port):
    driver = connect(port)
    driver.write_window("table", table())
    assert driver.run(10 * CYCLES) == DONE
    assert driver.cycles() == CYCLES
    assert driver.counters() == {"starts": 1, "rows": ROWS}
    assert (driver.read_window("table", 0, ROWS) == expected(table())).all()


def test_a_run_ends_with_an_error(port):
    driver = connect(port)
    rows = table()
    rows[7, 0] = 2**32 - 1
    driver.write_window("table", rows)
    text = "stopped after 16 cycles: error 3 (OVERFLOW), detail 7"
    with pytest.raises(AcceleratorError, match=f"^{re.escape(text)}$"):
        driver.run(10 * CYCLES)
    driver.start()
    assert driver.status().cause == Cause.OVERFLOW
    driver.clear()
    driver.write_window("table", table())
    assert driver.run(10 * CYCLES) == DONE


def test_a_run_takes_too_long(port):
    driver = connect(port)
    driver.write_window("table", table())
    with pytest.raises(HostTimeoutError):
        driver.run(3)
    assert driver.wait(10 * CYCLES) == DONE


def test_every_stall_is_survived():
    for stalls in (0.3, 0.9):
        driver = connect(AmaranthPort(Adder(), stalls=stalls))
        driver.write_window("table", table())
        assert driver.run(10 * CYCLES) == DONE
        assert (driver.read_window("table", 0, ROWS) == expected(table())).all()


def test_a_word_moves_every_cycle(simulator):
    start = simulator.cycles
    simulator.write_words(0, np.zeros(1000, np.uint32))
    assert simulator.cycles - start == 1000
    start = simulator.cycles
    simulator.read_words(0, 1000)
    assert simulator.cycles - start == 1005


def test_no_words_take_no_time(simulator):
    start = simulator.cycles
    simulator.write_words(0, np.zeros(0, np.uint32))
    assert simulator.read_words(0, 0).tolist() == []
    assert simulator.cycles == start


def test_steps_are_cycles(simulator):
    start = simulator.cycles
    simulator.step(0)
    simulator.step(70_000)
    assert simulator.cycles - start == 70_000


def test_reset_ends_a_run_and_keeps_memories(simulator):
    driver = connect(simulator)
    driver.write_window("table", table())
    driver.start()
    simulator.step(5)
    simulator.reset()
    assert driver.status() == Status(busy=False, done=False, cause=0, detail=0)
    assert driver.counters() == {"starts": 0, "rows": 0}
    after = driver.read_window("table", 0, ROWS)
    assert (after[3:] == table()[3:]).all()


def test_words_need_not_be_contiguous_or_of_the_right_type(simulator):
    narrow = memory_map().window("narrow").base
    simulator.write_words(narrow, np.arange(16)[::2])
    assert simulator.read_words(narrow, 8).tolist() == list(range(0, 16, 2))


def test_simulators_share_nothing(verilog):
    with Simulator(verilog, "adder") as one, Simulator(verilog, "adder") as other:
        drivers = connect(one), connect(other)
        for number, driver in enumerate(drivers):
            driver.write_window("table", np.full((ROWS, WORDS), number))
        drivers[0].run(10 * CYCLES)
        for driver in drivers:
            assert (driver.read_window("table", 0, ROWS) == 1).all()
        assert drivers[1].counters() == {"starts": 0, "rows": 0}


def test_a_closed_simulation_is_refused(verilog):
    simulator = Simulator(verilog, "adder")
    simulator.close()
    simulator.close()
    calls: list[Callable[[], object]] = [
        lambda: simulator.step(1),
        simulator.reset,
        lambda: simulator.read_words(0, 1),
        lambda: simulator.write_words(0, np.zeros(1, np.uint32)),
        lambda: simulator.wait_idle(1),
        lambda: simulator.cycles,
    ]
    for call in calls:
        with refused("adder: the simulation was closed"):
            call()


def test_a_forgotten_simulation_is_ended(verilog, tmp_path):
    wave = tmp_path / "forgotten.fst"
    simulator = Simulator(verilog, "adder", wave=wave)
    simulator.step(10)
    del simulator
    gc.collect()
    assert wave.stat().st_size > 0


def test_waves_are_written(verilog, tmp_path):
    wave = tmp_path / "adder.fst"
    with Simulator(verilog, "adder", wave=wave) as simulator:
        connect(simulator).run(10 * CYCLES)
    # An FST file begins with a header block: type 0, length 329, both big-endian.
    assert wave.read_bytes()[:9] == b"\0" + (329).to_bytes(8, "big")


@pytest.mark.parametrize("stop", ["$finish;", "$stop;"])
def test_a_design_may_stop_the_simulation(stop, capfd):
    with Simulator(STOPPED.replace("STOP", stop), "stopped") as simulator:
        with refused("stopped: the design stopped the simulation in cycle 53"):
            simulator.step(100)
        with refused("stopped: the design stopped the simulation in cycle 53"):
            simulator.step(1)


def test_a_design_stops_its_own_simulation_alone():
    verilog = STOPPED.replace("STOP", "$finish;")
    with Simulator(verilog, "stopped") as one, Simulator(verilog, "stopped") as other:
        with refused("stopped: the design stopped the simulation in cycle 53"):
            one.step(100)
        other.step(10)


def test_a_port_that_does_not_answer_is_given_up():
    with Simulator(STOPPED.replace("STOP", ";"), "stopped") as simulator:
        with refused("stopped: the host port stopped taking requests"):
            simulator.write_words(0, np.zeros(1, np.uint32))
        with refused("stopped: the host port stopped answering"):
            simulator.read_words(0, 1)
        with refused("stopped: the host port stopped answering"):
            simulator.wait_idle(10)


def test_a_wave_file_in_no_folder_is_refused(verilog, tmp_path):
    wave = tmp_path / "nowhere" / "adder.fst"
    with pytest.raises(FileNotFoundError, match=re.escape(str(wave))):
        Simulator(verilog, "adder", wave=wave)

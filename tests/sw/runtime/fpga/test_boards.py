"""Commands and devices on boards, which are simulated machines behind pseudo-terminals here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gnarl.hw.dpu.isa import Opcode
from gnarl.hw.lib.machine.memory_map import Register
from gnarl.sw.runtime.machine.board.serial_port import SerialPort
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.workloads.dag.generate import random_dag
from tests.support.commands import gnarl, refusal
from tests.support.dpu.dag_files import product
from tests.support.machines.fake_board import FakeBoard, FakeMachine, at_serial_port, fake_board
from tests.support.targets import adder
from tests.support.targets.adder_target import TARGET, AdderConfig, Table

CONFIG = "dpu_d1_b8"
HARDWARE = load_configuration(CONFIG)
DIGEST = HARDWARE.config.digest[:8]


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    return product(tmp_path)


def test_a_board_gives_the_report_of_the_rtl(graph: Path) -> None:
    with fake_board(HARDWARE) as port:
        results = [
            gnarl("run", CONFIG, graph, "--json", "--backend", *backend)
            for backend in (["rtl"], ["fpga", "--port", port])
        ]
    assert [result.exit_code for result in results] == [0, 0], results[1].stderr
    rtl, board = (json.loads(result.stdout) for result in results)
    assert board["backend"] == "fpga"
    assert board.keys() == rtl.keys()
    for name in rtl.keys() - {"backend", "compile_s", "lower_s", "simulate_s", "seconds"}:
        assert board[name] == rtl[name], name


def test_a_board_that_is_built_for_another_rate(graph: Path) -> None:
    with fake_board(HARDWARE) as port:
        result = gnarl(
            *("run", CONFIG, graph, "--backend", "fpga", "--port", port, "--baud", "115200")
        )
    assert result.exit_code == 0, result.stderr
    assert "product on dpu_d1_b8, fpga\n" in result.stdout


def test_any_target_behind_the_host_port_runs_on_boards() -> None:
    hardware = NamedConfiguration("adder", "", TARGET, AdderConfig(), {})
    numbers = np.arange(adder.ROWS * adder.WORDS, dtype=np.uint32).reshape(adder.SHAPE)
    with fake_board(hardware) as port, Device(hardware, "fpga", port=port) as device:
        program = device.compile(Table("table", {}))
        result = device.run(program, {"table": numbers})
        assert device.verify(result).bit_exact
    assert (result.cycles, result.counters["rows"]) == (adder.CYCLES, adder.ROWS)


@pytest.mark.slow
def test_a_graph_of_sam_on_its_board() -> None:
    compiler = Device("sam_fp32", "model")
    source = ("x(i)=b(i)*c(i) -f=x:s -f=b:s -f=c:s", {"b": np.eye(3)[0], "c": np.arange(3.0) + 5})
    workload = compiler.workload(source)
    program = compiler.compile(workload)
    with fake_board(compiler.hardware(program)) as port:
        with Device("sam_fp32", "fpga", port=port) as device:
            result = device.run(program, workload.inputs)
            assert device.verify(result).bit_exact
    assert result.cycles


def test_a_board_that_was_left_in_a_run_serves_the_next_host() -> None:
    window = HARDWARE.target.executor.memory_map(HARDWARE.config).window("instructions")
    endless = np.full(window.rows * window.words, int(Opcode.NOP) * 0x01010101, np.uint32)
    workload = random_dag(30, seed=1)
    with fake_board(HARDWARE) as port:
        with SerialPort(port) as left:
            left.write_words(window.base, endless)
            left.write_words(Register.CONTROL, np.array([1], np.uint32))
        with Device(CONFIG, "fpga", port=port) as device:
            program = device.compile(workload)
            assert device.verify(device.run(program, workload.inputs)).bit_exact


def test_a_board_of_another_configuration(graph: Path) -> None:
    other = load_configuration(CONFIG, ["registers=8"])
    digest = other.config.digest[:8]
    with fake_board(other) as port:
        text = refusal(graph.parent, "run", CONFIG, graph, "--backend", "fpga", "--port", port)
        assert text == (
            f"gnarl: {port}: hardware of another configuration: its digest begins with {digest}, "
            f"must begin with {DIGEST}"
        )
        again = gnarl(
            *("run", CONFIG, graph, "--set", "registers=8", "--backend", "fpga", "--port", port)
        )
    assert again.exit_code == 0, "the port is free again"


def test_a_board_of_something_else(graph: Path) -> None:
    machine = FakeMachine()
    machine.words[Register.MAGIC] = 0
    with at_serial_port(FakeBoard(machine)) as port:
        text = refusal(graph.parent, "run", CONFIG, graph, "--backend", "fpga", "--port", port)
    assert text == f"gnarl: {port}: no accelerator: word 0 is 0x00000000, must be 0x474e524c"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["--backend", "fpga"],
            "backend fpga: a port must be given, the board's, such as /dev/ttyUSB0",
        ),
        (
            ["--port", "/dev/ttyUSB0"],
            "port /dev/ttyUSB0: only for backend fpga: with rtl must be left out",
        ),
        (
            ["--backend", "model", "--baud", "9600"],
            "baud 9600: only for backend fpga: with model must be left out",
        ),
    ],
)
def test_ports_and_boards_go_together(graph: Path, arguments: list[str], text: str) -> None:
    assert refusal(graph.parent, "run", CONFIG, graph, *arguments) == f"gnarl: {text}"


def test_a_port_that_is_none(graph: Path) -> None:
    text = refusal(graph.parent, "run", CONFIG, graph, "--backend", "fpga", "--port", graph)
    assert text.startswith(f"gnarl: {graph}: not a serial port that can be opened: ")


def test_waves_are_not_of_boards(graph: Path, tmp_path: Path) -> None:
    text = refusal(
        *(graph.parent, "run", CONFIG, graph, "--backend", "fpga", "--port", "/dev/ttyUSB0"),
        *("--waves", tmp_path / "x.fst"),
    )
    assert text == (
        "gnarl run: --waves shows the RTL: not for --backend fpga. See gnarl run --help"
    )

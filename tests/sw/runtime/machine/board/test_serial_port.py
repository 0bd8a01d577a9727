"""Boards at serial ports, which are pseudo-terminals here."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.machine.memory_map import MAGIC, Register
from gnarl.sw.runtime.machine.board.frame_port import LinkError
from gnarl.sw.runtime.machine.board.serial_port import SerialLine, SerialPort
from tests.support.machines.fake_board import FakeBoard, FakeMachine, at_serial_port

WORDS = np.arange(1000, dtype=np.uint32) * 0x01234567
BASE = 0x1000


@pytest.fixture(autouse=True)
def no_latency(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing lies between the two ends but this machine's scheduling."""
    monkeypatch.setattr(SerialLine, "latency", 0.05)


def board() -> FakeBoard:
    return FakeBoard(FakeMachine(polls=2))


def refused(text: str) -> pytest.RaisesExc[LinkError]:
    return pytest.raises(LinkError, match=f"^{re.escape(text)}$")


def write_and_read(port: SerialPort) -> None:
    port.write_words(BASE, WORDS)
    assert np.array_equal(port.read_words(BASE, len(WORDS)), WORDS)
    port.write_words(Register.CONTROL, np.array([1], np.uint32))
    assert port.wait_idle(10**9)


@pytest.mark.parametrize("baud", [115_200, 1_000_000, 3_000_000, 1_234_567])
def test_a_board_at_any_rate(baud: int) -> None:
    with at_serial_port(board()) as device, SerialPort(device, baud) as port:
        write_and_read(port)


def test_ports_can_be_opened_again() -> None:
    with at_serial_port(board()) as device:
        for _ in range(2):
            with SerialPort(device) as port:
                write_and_read(port)


@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(
        st.tuples(st.integers(0, 9000), st.sampled_from(["drop", "double", "flip"])), max_size=2
    )
)
def test_faults_are_found_and_mended(faults: list[tuple[int, str]]) -> None:
    machine = FakeMachine(polls=2)
    with at_serial_port(FakeBoard(machine), Fault(dict(faults))) as device:
        with SerialPort(device) as port:
            write_and_read(port)
    assert machine.starts == 1


class Fault:
    """What happens to the bytes at some places of all that pass, both ways."""

    def __init__(self, places: dict[int, str]) -> None:
        self._places = places
        self._at = 0

    def __call__(self, message: bytes) -> bytes:
        arrived = b""
        for byte in message:
            kind = self._places.get(self._at, "")
            self._at += 1
            changed = bytes([byte ^ 0x10])
            arrived += {"drop": b"", "double": bytes([byte] * 2), "flip": changed}.get(
                kind, bytes([byte])
            )
        return arrived


def test_a_board_that_does_not_answer() -> None:
    with at_serial_port(board(), lambda message: b"") as device:
        with refused(
            f"{device}: no answer at 9600 baud, 6 times in a row: must be a board built for this "
            "baud rate"
        ):
            SerialPort(device, 9600)


def test_a_port_in_use() -> None:
    with at_serial_port(board()) as device, SerialPort(device) as port:
        with refused(f"{device}: in use: must be closed by the program that has it open"):
            SerialPort(device)
        assert port.read_words(Register.MAGIC, 1).tolist() == [MAGIC]


def test_a_port_that_vanishes() -> None:
    with at_serial_port(board()) as device:
        port = SerialPort(device)
    with pytest.raises(
        LinkError, match=f"^{re.escape(device)}: the port is gone: .*: must stay connected$"
    ):
        port.read_words(BASE, 1)


def test_no_such_port(monkeypatch: pytest.MonkeyPatch) -> None:
    ports: list[str] = []
    monkeypatch.setattr("gnarl.sw.runtime.machine.board.serial_port._ports", lambda: ports)
    with refused("/dev/ttyNONE: no such serial port: must be connected"):
        SerialPort("/dev/ttyNONE")
    ports += ["/dev/ttyACM0", "/dev/ttyUSB1"]
    with refused("/dev/ttyNONE: no such serial port: must be one of /dev/ttyACM0, /dev/ttyUSB1"):
        SerialPort("/dev/ttyNONE")


def test_a_file_is_no_port(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(
        LinkError, match=f"^{path}: not a serial port that can be opened: .*Inappropriate ioctl"
    ):
        SerialPort(str(path))


def test_a_port_of_another_group(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise serial.SerialException(13, "could not open port")

    serial = pytest.importorskip("serial")
    monkeypatch.setattr(serial, "Serial", denied)
    with at_serial_port(board()) as device:
        import grp
        import os

        group = grp.getgrgid(os.stat(device).st_gid).gr_name
        with refused(f"{device}: permission denied: its user must be in group {group}"):
            SerialPort(device)


def test_a_rate_that_no_port_has() -> None:
    with at_serial_port(board()) as device:
        with refused(
            f"{device}: 12345678901 baud: signed integer is greater than maximum: must be a rate "
            "that the port supports"
        ):
            SerialPort(device, 12345678901)


def test_without_pyserial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "serial", None)
    with refused("/dev/ttyUSB0: serial ports need pyserial: pip install 'gnarl[fpga]'"):
        SerialPort("/dev/ttyUSB0")

"""A board that was written from the description of its frames, not from its hardware."""

from __future__ import annotations

import os
import pty
import select
import struct
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from gnarl.hw.lib.machine.memory_map import MAGIC, STATUS, VERSION, Register
from gnarl.sw.runtime.machine.host import Words
from gnarl.sw.runtime.machine.simulator import Simulator
from gnarl.sw.runtime.target.configuration import NamedConfiguration
from gnarl.sw.runtime.target.verilog import module_name, verilog

PAUSE = 0.01
_HEADER_BYTES, _CHECK_BYTES = 6, 2
_BYTE_CYCLES = 40  # with the fewest clock cycles a bit


class Memory(Protocol):
    """What a board needs of a ``gnarl.sw.runtime.machine.host.Port``."""

    def write_words(self, address: int, words: Words) -> None: ...
    def read_words(self, address: int, count: int) -> Words: ...


class FakeBoard:
    """Executes what comes down a line at ``port``.

    ``elapse`` lets the time pass that so many bytes take on the line.
    """

    def __init__(self, port: Memory, elapse: Callable[[int], None] = lambda count: None) -> None:
        self._elapse = elapse
        self.last = 0
        self.executed = 0
        self._port = port
        self._received = bytearray()
        self._deaf = True

    def pause(self) -> None:
        """The line has paused."""
        self._received.clear()
        self._deaf = False

    def receive(self, message: bytes) -> bytes:
        """The answers to what has come."""
        answers = b""
        if not self._deaf:
            self._received += message
        while not self._deaf and len(self._received) >= _HEADER_BYTES:
            tag, count, address = struct.unpack_from("<BBI", self._received)
            write = address >> 31
            size = _HEADER_BYTES + 4 * count * write + _CHECK_BYTES
            if len(self._received) < size:
                break
            frame = bytes(self._received[:size])
            del self._received[:size]
            if check(frame[:-_CHECK_BYTES]) != frame[-_CHECK_BYTES:]:
                self._deaf = True
                self._received.clear()
                break
            words = np.frombuffer(frame[_HEADER_BYTES:-_CHECK_BYTES], "<u4")
            answer = self._execute(tag, count, address & 0x7FFFFFFF, words if write else None)
            self._elapse(len(frame) + len(answer))
            answers += answer
        return answers

    def _execute(self, tag: int, count: int, address: int, words: Words | None) -> bytes:
        found = b""
        if words is None:
            found = self._port.read_words(address, count).astype("<u4").tobytes()
        elif tag == (self.last + 1) % 256:
            self._port.write_words(address, words)
            self.last = tag
            self.executed += 1
        answer = bytes([tag, len(found) // 4, self.last]) + found
        return answer + check(answer)


class FakeMachine:
    """Registers and a memory; a run lasts ``polls`` reads of its status."""

    def __init__(self, digest: int = 0, polls: int = 0) -> None:
        self.words: dict[int, int] = {0: MAGIC, 1: VERSION, Register.DIGEST: digest}
        self.polls = polls
        self.starts = 0
        self._left = 0

    def write_words(self, address: int, words: Words) -> None:
        for place, word in enumerate(words.tolist(), address):
            if place == Register.CONTROL:
                if word & 1:
                    self.starts += 1
                    self._left = self.polls
                    self.words[Register.CYCLES_LO] = 0
            else:
                self.words[place] = word

    def read_words(self, address: int, count: int) -> Words:
        if address <= Register.STATUS < address + count:
            busy = self._left > 0
            self._left -= busy
            self.words[Register.STATUS] = STATUS.const({"busy": busy}).as_value().value
        return np.array([self.words.get(address + n, 0) for n in range(count)], np.uint32)


class FakeLine:
    """A ``gnarl.sw.runtime.machine.board.frame_port.Line`` to a fake board, on which time passes in
    no time."""

    name = "fake line"
    baud = 1_000_000
    latency = 0.25

    def __init__(self, board: FakeBoard) -> None:
        self.board = board
        self.seconds = 0.0
        self.closed = False
        self._answers = b""

    def send(self, message: bytes) -> None:
        self._answers += self.board.receive(message)

    def receive(self, seconds: float) -> bytes:
        found, self._answers = self._answers, b""
        if not found:
            self.seconds += seconds
            if seconds > PAUSE:
                self.board.pause()
        return found

    def close(self) -> None:
        self.closed = True


@contextmanager
def at_serial_port(
    board: FakeBoard, fault: Callable[[bytes], bytes] = lambda message: message
) -> Iterator[str]:
    """A pseudo-terminal with the board behind it. ``fault`` makes of bytes what arrives."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    ends, end = os.pipe()

    def serve() -> None:
        while True:
            ready, _, _ = select.select([ours, ends], [], [], PAUSE)
            if ends in ready:
                return
            if ready:
                answer = fault(board.receive(fault(os.read(ours, 4096))))
                while answer:
                    answer = answer[os.write(ours, answer) :]
            else:
                board.pause()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield os.ttyname(theirs)
    finally:
        os.write(end, b"x")
        thread.join()
        for each in (ours, theirs, ends, end):
            os.close(each)


@contextmanager
def fake_board(hardware: NamedConfiguration) -> Iterator[str]:
    """A serial port with a board behind it, whose machine is simulated."""
    with Simulator(verilog(hardware), module_name(hardware)) as simulator:
        board = FakeBoard(simulator, lambda count: simulator.step(count * _BYTE_CYCLES))
        with at_serial_port(board) as device:
            yield device


def check(message: bytes) -> bytes:
    """CRC-16/MCRF4XX, the low byte first, a bit at a time."""
    crc = 0xFFFF
    for byte in message:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x8408 if crc & 1 else 0)
    return struct.pack("<H", crc)

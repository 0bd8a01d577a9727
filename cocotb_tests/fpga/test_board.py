"""Single frames at a board's pins: whole, damaged, too many, and the lights meanwhile."""

from __future__ import annotations

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, ReadOnly, ValueChange

from cocotb_tests.lib.run import run_board
from cocotb_tests.lib.serial_line import CocotbLine, levels, open_line
from gnarl.hw.dpu.isa import Opcode
from gnarl.hw.fpga.board_machine import LEDS
from gnarl.hw.fpga.frame import pause
from gnarl.hw.lib.machine.memory_map import CONTROL, MAGIC, VERSION, Register
from gnarl.sw.runtime.machine.board.frames import (
    Response,
    read_request,
    take_response,
    write_request,
)
from gnarl.sw.runtime.target.configuration import load_configuration

CONFIGURATION = load_configuration("dpu_d1_b8")
CONFIG = CONFIGURATION.config
MAP = CONFIGURATION.target.executor.memory_map(CONFIG)
DATA = MAP.window("data").base
CLOCK_HZ, BAUD = 100_000, 25_000  # the fewest clock cycles a bit, and the shortest pause
PAUSE = 1.02 * pause(BAUD)

IDENTITY = [MAGIC, VERSION, int(CONFIG.digest[:8], 16)]


class Board:
    """Sends frames, and takes their responses."""

    def __init__(self, line: CocotbLine) -> None:
        self.line = line
        self._received = bytearray()

    async def send(self, frame: bytes) -> None:
        await self.line.put(frame)

    async def pause(self) -> None:
        """Until all is sent and the line has been still for long enough."""
        await self.line.sent()
        await self.line.wait(PAUSE)

    async def responses(self) -> list[Response]:
        """All that come until the line is still."""
        await self.line.sent()
        while more := await self.line.get(self.line.latency):
            self._received += more
        found = []
        while (response := take_response(self._received)) is not None:
            found.append(response)
        assert not self._received, "part of a response"
        return found

    async def response(self) -> Response:
        """The next one."""
        await self.line.sent()
        while (response := take_response(self._received)) is None:
            more = await self.line.get(self.line.latency)
            assert more, "no response"
            self._received += more
        return response

    async def read(self, address: int, count: int, tag: int = 200) -> list[int]:
        await self.send(read_request(tag, address, count))
        response = await self.response()
        assert response.tag == tag
        return response.words.tolist()

    async def write(self, tag: int, address: int, *words: int) -> tuple[int, int]:
        """Tags of the response, and of the last write that was executed."""
        await self.send(write_request(tag, address, np.array(words, np.uint32)))
        response = await self.response()
        assert not len(response.words)
        return response.tag, response.last


async def open_board(dut) -> Board:
    board = Board(await open_line(dut, CLOCK_HZ, BAUD))
    await board.pause()
    return board


@cocotb.test()
async def nothing_is_heard_before_the_first_pause(dut):
    board = Board(await open_line(dut, CLOCK_HZ, BAUD))
    await board.send(read_request(1, 0, 3))
    await board.send(read_request(2, 0, 3))
    await board.pause()
    assert await board.responses() == []
    assert await board.read(0, 3) == IDENTITY


@cocotb.test()
async def frames_of_every_length(dut):
    board = await open_board(dut)
    words = np.random.default_rng(1).integers(2**32, size=255).tolist()
    for tag, count in enumerate([0, 1, 2, 255], 1):
        assert await board.write(tag, DATA, *words[:count]) == (tag, tag)
        assert await board.read(DATA, count) == words[:count]
    assert await board.read(DATA, 0) == []


@cocotb.test()
async def a_write_counts_once_and_in_its_turn(dut):
    board = await open_board(dut)
    assert await board.write(1, DATA, 10) == (1, 1)
    for tag, last in [(1, 1), (0, 1), (200, 1), (3, 1), (2, 2), (1, 2), (2, 2)]:
        assert await board.write(tag, DATA, 100 + tag) == (tag, last)
        assert await board.read(DATA, 1) == [102 if last == 2 else 10]


@cocotb.test()
async def tags_go_on_after_255(dut):
    board = await open_board(dut)
    for index in range(1, 259):
        assert await board.write(index % 256, DATA, index) == (index % 256, index % 256)
    assert await board.read(DATA, 1) == [258]


@cocotb.test()
async def a_damaged_frame_is_dropped_whole(dut):
    board = await open_board(dut)
    assert await board.write(1, DATA, 7, 8) == (1, 1)
    frame = write_request(2, DATA, np.array([0x01020304, 5], np.uint32))
    for at in range(len(frame)):
        doubled = frame[at : at + 1] * 2 if at < len(frame) - 1 else b""
        for arrived in (b"", doubled, bytes([frame[at] ^ 1 << at % 8])):
            await board.send(frame[:at] + arrived + frame[at + 1 :])
            await board.pause()
            assert await board.responses() == [], f"byte {at} arrived as {arrived!r}"
            assert await board.read(DATA, 2) == [7, 8], f"byte {at} arrived as {arrived!r}"
    await board.send(frame)
    assert [(each.tag, each.last) for each in await board.responses()] == [(2, 2)]
    assert await board.read(DATA, 2) == [0x01020304, 5]


@cocotb.test()
async def after_a_damaged_frame_nothing_is_heard_until_a_pause(dut):
    board = await open_board(dut)
    await board.send(read_request(1, 0, 3)[:-1] + b"\x00")
    await board.send(read_request(2, 0, 3))
    assert await board.responses() == []
    assert await board.read(0, 3) == IDENTITY


@cocotb.test()
async def a_host_goes_away_within_a_frame_and_returns(dut):
    board = await open_board(dut)
    frame = write_request(1, DATA, np.arange(4, dtype=np.uint32))
    for sent in range(1, len(frame)):
        await board.send(frame[:sent])
        await board.pause()
        assert await board.read(0, 3) == IDENTITY, f"after {sent} bytes"
    assert await board.write(1, DATA, 9) == (1, 1)


@cocotb.test()
async def a_byte_without_a_stop_bit_is_heard_as_damage(dut):
    board = await open_board(dut)
    *first, last = read_request(1, 0, 3)
    await board.send(bytes(first))
    await board.line.sent()
    await board.line.drive(f"0{levels(last)}01")
    await board.pause()
    assert await board.responses() == []
    assert await board.read(0, 3) == IDENTITY


@cocotb.test()
async def a_glitch_and_a_break_of_the_line(dut):
    board = await open_board(dut)
    dut.rx.value = 0
    await FallingEdge(dut.clk)
    dut.rx.value = 1
    await board.pause()
    assert await board.read(0, 3) == IDENTITY
    await board.line.drive("0" * 500 + "1")
    await board.pause()
    assert await board.responses() == []
    assert await board.read(0, 3) == IDENTITY


@cocotb.test()
async def of_three_requests_at_a_time_the_third_is_dropped(dut):
    board = await open_board(dut)
    for tag in (1, 2, 3):
        await board.send(read_request(tag, 0, 20))
    assert [each.tag for each in await board.responses()] == [1, 2]
    assert await board.read(0, 3) == IDENTITY


@cocotb.test()
async def what_follows_a_request_too_many_is_dropped_until_a_pause(dut):
    """Whole requests, too, at whatever byte the board could hear again."""
    board = await open_board(dut)
    whole = read_request(9, 0, 0)
    for dropped in range(len(whole)):
        for tag in (1, 2):
            await board.send(read_request(tag, 0, 3))
        await board.send(bytes(dropped) + whole * 5)
        assert [each.tag for each in await board.responses()] == [1, 2]
        await board.pause()


@cocotb.test()
async def full_writes_follow_each_other_without_a_pause(dut):
    board = await open_board(dut)
    *rows, last = np.random.default_rng(2).integers(2**32, size=(3, 255), dtype=np.uint32)
    for index, words in enumerate([*rows, last]):
        await board.send(write_request(index + 1, DATA + 256 * index, words))
    await board.send(read_request(7, DATA + 256 * len(rows), 255))
    *acknowledged, read = await board.responses()
    assert [each.last for each in acknowledged] == [1, 2, 3]
    assert read.words.tolist() == last.tolist()
    for index, words in enumerate(rows):
        assert await board.read(DATA + 256 * index, 255) == words.tolist()


@cocotb.test()
async def a_reset_forgets_the_last_write_and_waits_for_a_pause(dut):
    board = await open_board(dut)
    assert await board.write(1, DATA, 5) == (1, 1)
    await board.send(write_request(2, DATA, np.array([6], np.uint32))[:9])
    await board.line.sent()
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    await board.pause()
    assert await board.responses() == []
    assert await board.write(1, DATA, 7) == (1, 1)
    assert await board.read(DATA, 1) == [7]


@cocotb.test()
async def the_lights_show_what_the_machine_does(dut):
    board = await open_board(dut)
    window = MAP.window("instructions")
    seen: list[str] = []

    async def watch() -> None:
        while True:
            (lit,) = (name for name in LEDS.members if LEDS.from_bits(int(dut.leds.value))[name])
            seen.append(lit)
            await ValueChange(dut.leds)
            await ReadOnly()

    cocotb.start_soon(watch())
    tag = 0
    for opcode, control in ((Opcode.HALT, "start"), (0x0F, "start"), (Opcode.HALT, "clear")):
        bit = CONTROL.const({control: 1}).as_value().value
        for address, word in ((window.base, int(opcode)), (Register.CONTROL, bit)):
            tag += 1
            assert await board.write(tag, address, word) == (tag, tag)
    assert seen == ["idle", "running", "done", "running", "error", "idle"]


def test_board():
    run_board(CONFIGURATION, __name__, clock_hz=CLOCK_HZ, baud=BAUD)

"""The transport on a line in memory, with a board that was written from the frames' description."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.machine.memory_map import MAGIC, Register
from gnarl.sw.runtime.machine.board.frame_port import MOST_TRIES, FramePort, LinkError
from gnarl.sw.runtime.machine.board.frames import take_response
from gnarl.sw.runtime.machine.host import Words
from tests.support.machines.fake_board import FakeBoard, FakeLine, FakeMachine, check
from tests.support.machines.faulty_line import FaultyLine

BASE = 0x4000_0000
START = np.array([1], np.uint32)
WRONG_PORT = "must be a board built for this baud rate"


def fake_line(**machine: int) -> FakeLine:
    return FakeLine(FakeBoard(FakeMachine(**machine)))


def first_wait() -> float:
    """Seconds that a host waits on a line that works: once, before its first request."""
    line = fake_line()
    FramePort(line)
    return line.seconds


def numbers(count: int, seed: int = 0) -> Words:
    return np.random.default_rng(seed).integers(2**32, size=count, dtype=np.uint32)


def refused(text: str) -> pytest.RaisesExc[LinkError]:
    return pytest.raises(LinkError, match=f"^{re.escape(text)}$")


@pytest.mark.parametrize("count", [0, 1, 255, 256, 5000])
def test_words_are_written_and_read(count: int) -> None:
    line = fake_line()
    port = FramePort(line)
    port.write_words(BASE, numbers(count))
    assert np.array_equal(port.read_words(BASE, count), numbers(count))
    assert line.seconds == first_wait(), "a line that works is never waited for"


def test_many_small_writes_wrap_their_tags() -> None:
    line = fake_line()
    port = FramePort(line)
    for index in range(1000):
        port.write_words(BASE + index, numbers(1, seed=index))
    found = port.read_words(BASE, 1000)
    assert found.tolist() == [int(numbers(1, seed=index)[0]) for index in range(1000)]
    assert line.board.executed == 1000
    assert line.seconds == first_wait()


def test_closing_waits_for_writes() -> None:
    line = fake_line()
    with FramePort(line) as port:
        port.write_words(BASE, numbers(3))
    assert line.closed
    assert line.board.executed == 1


def test_a_second_host_goes_on_behind_the_first() -> None:
    board = FakeBoard(FakeMachine())
    for index in range(3):
        port = FramePort(FakeLine(board))
        port.write_words(BASE, numbers(300, seed=index))
        assert np.array_equal(port.read_words(BASE, 300), numbers(300, seed=index))
    assert board.executed == 6


def test_a_host_that_went_away_in_a_frame_is_forgotten() -> None:
    board = FakeBoard(FakeMachine())
    board.pause()
    board.receive(b"\x01\xff\x00\x00\x00\x80 and then the cable")
    assert FramePort(FakeLine(board)).read_words(Register.MAGIC, 1).tolist() == [MAGIC]


class Scripted:
    """A fault that a test says for each byte of a line, both ways, once it is connected."""

    def __init__(self, faults: Iterator[str]) -> None:
        self.faults = faults
        self.on = False

    def __call__(self, byte: int) -> bytes:
        kind = next(self.faults, "") if self.on else ""
        flipped = bytes([byte ^ 1 << int(kind)]) if kind.isdigit() else b""
        return {"": bytes([byte]), "drop": b"", "double": bytes([byte] * 2)}.get(kind, flipped)


def connected(line: FakeLine, faults: Iterator[str]) -> FramePort:
    script = Scripted(faults)
    port = FramePort(FaultyLine(line, script))
    script.on = True
    return port


KINDS = ["drop", "double", *map(str, range(8))]


@pytest.mark.parametrize("kind", KINDS)
def test_one_fault_in_any_byte_changes_nothing(kind: str) -> None:
    for at in range(70):
        machine = FakeMachine(polls=2)
        port = connected(FakeLine(FakeBoard(machine)), iter([""] * at + [kind]))
        port.write_words(BASE, numbers(1))
        port.write_words(Register.CONTROL, START)
        assert port.wait_idle(10**9)
        assert port.read_words(BASE, 1).tolist() == numbers(1).tolist()
        assert machine.starts == 1


@settings(derandomize=True)  # one damaged frame in 65,536 has a right check
@given(
    faults=st.lists(
        st.tuples(st.integers(0, 2000), st.sampled_from(KINDS)),
        max_size=8,
        unique_by=lambda f: f[0],
    ),
    sizes=st.lists(st.integers(1, 600), min_size=1, max_size=3),
)
def test_faults_are_found_and_mended(faults: list[tuple[int, str]], sizes: list[int]) -> None:
    """Whatever a line does to some bytes, words and starts arrive once and right, or not at all."""
    places = dict(faults)
    machine = FakeMachine()
    script = (places.get(at, "") for at in range(max(places, default=0) + 1))
    port = connected(FakeLine(FakeBoard(machine)), script)
    for seed, size in enumerate(sizes):
        try:
            port.write_words(BASE, numbers(size, seed))
            port.write_words(Register.CONTROL, START)
            assert np.array_equal(port.read_words(BASE, size), numbers(size, seed))
        except LinkError:
            assert len(faults) >= MOST_TRIES
            return
        assert machine.starts == seed + 1


def test_answers_that_come_later_than_they_should_are_each_taken_for_their_own() -> None:
    class Late(FakeLine):
        """Says nothing twice before each answer."""

        silent = 2

        def receive(self, seconds: float) -> bytes:
            self.silent -= 1
            if self._answers and self.silent >= 0:
                return b""
            self.silent = 2
            return super().receive(seconds)

    machine = FakeMachine()
    port = FramePort(Late(FakeBoard(machine)))
    for seed in range(5):
        port.write_words(BASE, numbers(600, seed))
        port.write_words(Register.CONTROL, START)
        assert np.array_equal(port.read_words(BASE, 600), numbers(600, seed))
    assert machine.starts == 5


def test_no_board() -> None:
    line = fake_line()
    with refused(f"fake line: no answer at 1000000 baud, 6 times in a row: {WRONG_PORT}"):
        FramePort(FaultyLine(line, lambda byte: b""))
    assert line.seconds < 5


def test_a_board_of_another_rate() -> None:
    with refused(
        f"fake line: an answer with a wrong check at 1000000 baud, 6 times in a row: {WRONG_PORT}"
    ):
        FramePort(Babbling(lambda: b"\x00" * 7))


def test_what_never_falls_silent() -> None:
    with refused(f"fake line: bytes without an end at 1000000 baud: {WRONG_PORT}"):
        FramePort(Babbling(lambda: b"U" * 100, pauses=False))


class Babbling(FakeLine):
    """Sends the same whatever it is asked for, or always."""

    def __init__(self, say: Callable[[], bytes], pauses: bool = True) -> None:
        super().__init__(FakeBoard(FakeMachine()))
        self._say = say
        self._pauses = pauses
        self._asked = not pauses

    def send(self, message: bytes) -> None:
        self._asked = True

    def receive(self, seconds: float) -> bytes:
        found = self._say() if self._asked else b""
        self._asked = not self._pauses
        return found


def test_a_cable_that_is_pulled_out_ends_every_method() -> None:
    line = fake_line()
    script = Scripted(iter(["drop"] * 10**5))
    port = FramePort(FaultyLine(line, script))
    port.write_words(BASE, numbers(5))
    port.finish()
    script.on = True
    text = f"fake line: no answer at 1000000 baud, 6 times in a row: {WRONG_PORT}"
    with refused(text):
        port.read_words(BASE, 5)
    waited = line.seconds
    for use in (
        lambda: port.write_words(BASE, numbers(5)),
        lambda: port.read_words(BASE, 5),
        lambda: port.wait_idle(10),
        port.finish,
    ):
        with refused(text):
            use()
    assert line.seconds == waited
    port.close()
    assert line.closed


def test_a_board_that_was_reset_is_noticed() -> None:
    line = fake_line()
    port = FramePort(line)
    port.write_words(BASE, numbers(5))
    port.finish()
    line.board.last = 0
    with refused(
        "fake line: an answer of a board that has not executed the writes before, 6 times in a "
        "row: must not be reset, nor used by another program"
    ):
        port.read_words(BASE, 5)


def test_an_interrupted_read_is_not_taken_for_the_next() -> None:
    line = fake_line()
    port = FramePort(line)
    port.write_words(BASE, numbers(700))
    port.finish()
    receive = line.receive

    def interrupted(seconds: float) -> bytes:
        line.receive = receive  # type: ignore[method-assign]
        raise KeyboardInterrupt

    line.receive = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        port.read_words(BASE, 700)
    port.write_words(BASE + 1, numbers(1, seed=9))
    expected = numbers(700)
    expected[1] = numbers(1, seed=9)[0]
    assert np.array_equal(port.read_words(BASE, 700), expected)


@pytest.mark.parametrize("polls", [0, 1, 20])
def test_waiting_ends_with_the_run(polls: int) -> None:
    port = FramePort(fake_line(polls=polls))
    port.write_words(Register.CONTROL, START)
    assert port.wait_idle(10**9)


def test_waiting_ends_after_the_cycles_that_are_counted() -> None:
    class Counting(FakeMachine):
        def read_words(self, address: int, count: int) -> Words:
            self.words[Register.CYCLES_HI] = self.words.get(Register.CYCLES_HI, 0) + 1
            return super().read_words(address, count)

    machine = Counting(polls=10**6)
    port = FramePort(FakeLine(FakeBoard(machine)))
    port.write_words(Register.CONTROL, START)
    machine.words[Register.CYCLES_HI] = 100
    assert not port.wait_idle(3 << 32)
    assert machine.words[Register.CYCLES_HI] == 104


def test_waiting_ends_where_no_cycles_are_counted() -> None:
    machine = FakeMachine(polls=10**6)
    port = FramePort(FakeLine(FakeBoard(machine)))
    port.write_words(Register.CONTROL, START)
    assert not port.wait_idle(100_000)


def test_a_response_is_taken_when_it_is_whole() -> None:
    frame = b"\x07\x02\x05" + np.array([1, 2**32 - 1], "<u4").tobytes()
    received = bytearray()
    for byte in frame + check(frame):
        assert take_response(received) is None
        received.append(byte)
    received += b"next"
    found = take_response(received)
    assert found is not None
    assert (found.tag, found.last, found.words.tolist()) == (7, 5, [1, 2**32 - 1])
    assert received == b"next"

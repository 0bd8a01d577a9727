"""A board's host port, behind a line that may lose, double and change bytes."""

from __future__ import annotations

import secrets
from collections import deque
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from gnarl.hw.fpga.frame import MOST_FRAMES, MOST_WORDS, pause
from gnarl.hw.fpga.uart import LEAST_CLOCKS
from gnarl.hw.lib.machine.memory_map import STATUS, Register
from gnarl.sw.runtime.machine.board.frames import (
    Response,
    read_request,
    response_bytes,
    take_response,
    write_request,
)
from gnarl.sw.runtime.machine.host import HostError, Words

MOST_TRIES = 6
"""Times that a request is sent, with nothing between them answered, before it is an error."""

_BYTE_BITS = 10
_TAGS = 256
# Requests without a response.
_MOST_BYTES = 1 << 12  # what drivers hold, so that a frame never waits for its own end
_MOST_REQUESTS = 64
_MOST_STRAY_BYTES = 1 << 13  # more than their responses can have


class LinkError(HostError):
    """A board that does not answer, or a line that fails; names the port."""


class Line(Protocol):
    """A serial line.

    name
        for texts of errors.
    baud
        bits a second.
    latency
        seconds that a byte there and its answer back take at most beyond those of their bits.
    """

    name: str
    baud: int
    latency: float

    def send(self, message: bytes) -> None:
        """Sends bytes, without waiting for their end."""

    def receive(self, seconds: float) -> bytes:
        """Bytes that have come, at least one, or none where none comes within ``seconds``."""

    def close(self) -> None:
        """Ends the line, when all bytes are sent."""


class _Unanswered(Exception):
    """What came in place of a response: nothing, or something else. ``right``: what must be."""

    def __init__(self, problem: str, right: str) -> None:
        super().__init__(problem)
        self.right = right


@dataclass(frozen=True)
class _Request:
    """A request to a board. ``words``: where those that are read go, ``None`` for a write."""

    tag: int
    frame: bytes
    words: Words | None

    @property
    def count(self) -> int:
        """Words of its response."""
        return 0 if self.words is None else len(self.words)


class FramePort:
    """A ``gnarl.sw.runtime.machine.host.Port`` on a ``line`` to a
    ``gnarl.hw.fpga.host_link.HostLink``.

    Writes are executed in order and once, whatever happens to the line; they go on while others
    are sent, and at the latest the next read waits until all are executed. After an error of the
    line it is let pause, and what has no response is sent again.

    Every method raises ``LinkError`` once a request got no answer in ``MOST_TRIES`` tries, or the
    board was reset, or the line is gone.
    """

    def __init__(self, line: Line) -> None:
        self._line = line
        self._received = bytearray()
        self._requests: deque[_Request] = deque()  # without a response: writes, and then reads
        self._tries = 0
        self._failed: LinkError | None = None
        self._last_write: int | None = None  # tag of the last one sent
        self._last_read = secrets.randbelow(_TAGS)
        self._wait_for_silence()  # of an earlier host's responses
        self.read_words(Register.MAGIC, 1)

    def write_words(self, address: int, words: Words) -> None:
        """See ``Port``."""
        assert self._last_write is not None
        for first in range(0, len(words), MOST_WORDS):
            tag = (self._last_write + 1) % _TAGS
            frame = write_request(tag, address + first, words[first : first + MOST_WORDS])
            self._send(_Request(tag, frame, None))

    def read_words(self, address: int, count: int) -> Words:
        """See ``Port``."""
        words = np.empty(count, np.uint32)
        try:
            for first in range(0, count, MOST_WORDS):
                place = words[first : first + MOST_WORDS]
                tag = (self._last_read + 1) % _TAGS
                self._send(_Request(tag, read_request(tag, address + first, len(place)), place))
            self.finish()
        except BaseException:
            # Nobody waits for them any more, and writes may follow.
            self._requests = deque(each for each in self._requests if each.words is None)
            raise
        return words

    def wait_idle(self, max_cycles: int) -> bool:
        """See ``Port``."""
        begun, elapsed = None, 0
        while True:
            words = self.read_words(Register.STATUS, Register.CYCLES_HI + 1 - Register.STATUS)
            status, _, low, high = (int(word) for word in words)
            if not STATUS.from_bits(status).busy:
                return True
            cycles = high << 32 | low
            begun = cycles if begun is None else begun
            if max(cycles - begun, elapsed) >= max_cycles:
                return False
            # Not every machine counts each cycle, but each bit of a response takes some.
            elapsed += response_bytes(len(words)) * _BYTE_BITS * LEAST_CLOCKS

    def finish(self) -> None:
        """Returns when all writes are executed."""
        if self._failed is not None:
            raise self._failed
        while self._requests:
            self._advance()

    def close(self) -> None:
        """Waits for writes that are not executed yet, and ends the line."""
        try:
            if self._failed is None:
                self.finish()
        finally:
            self._line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, request: _Request) -> None:
        if self._failed is not None:
            raise self._failed
        while not self._has_room(request):
            self._advance()
        if request.words is None:
            self._last_write = request.tag
        else:
            self._last_read = request.tag
        # Before it is sent, so that after an interrupt in between it is sent again.
        self._requests.append(request)
        self._line.send(request.frame)

    def _has_room(self, request: _Request) -> bool:
        size = sum(len(each.frame) for each in self._requests)
        reads = sum(each.words is not None for each in self._requests)
        return (
            len(self._requests) < _MOST_REQUESTS
            and size + len(request.frame) <= _MOST_BYTES
            and (request.words is None or reads < MOST_FRAMES)
        )

    def _advance(self) -> None:
        """Takes the next response, or else sends what has none again."""
        try:
            self._take(self._response())
        except _Unanswered as problem:
            self._tries += 1
            if self._tries == MOST_TRIES:
                raise self._fail(
                    f"{problem}, {MOST_TRIES} times in a row: {problem.right}"
                ) from None
            self._wait_for_silence()
            for request in self._requests:
                self._line.send(request.frame)

    def _response(self) -> Response:
        try:
            while (response := take_response(self._received)) is None:
                answers = sum(response_bytes(each.count) for each in self._requests)
                more = self._line.receive(self._line.latency + self._seconds(answers))
                if not more:
                    raise self._wrong_port("part of an answer" if self._received else "no answer")
                self._received += more
        except ValueError as error:
            raise self._wrong_port(f"an answer with a {error}") from None
        return response

    def _take(self, response: Response) -> None:
        """What a response says of the requests; nothing if it came too late for its own."""
        front = self._requests[0]
        answered = (front.tag, front.count) == (response.tag, len(response.words))
        if self._last_write is None:  # the first response that this port gets
            if not answered:
                return
            self._last_write = response.last
        writes = sum(each.words is None for each in self._requests)
        executed = writes - (self._last_write - response.last) % _TAGS
        if executed < 0:
            raise _Unanswered(
                "an answer of a board that has not executed the writes before",
                "must not be reset, nor used by another program",
            )
        for _ in range(executed):
            self._requests.popleft()
            self._tries = 0
        if front.words is not None and answered:
            front.words[:] = response.words
            self._requests.popleft()
            self._tries = 0

    def _wait_for_silence(self) -> None:
        """Waits until the board must have seen the line pause, and has nothing more to say."""
        self._received.clear()
        stray = 0
        silence = self._line.latency + 2 * pause(self._line.baud) + self._seconds(0)
        while more := self._line.receive(silence):
            stray += len(more)
            if stray > _MOST_STRAY_BYTES:
                problem = self._wrong_port("bytes without an end")
                raise self._fail(f"{problem}: {problem.right}")

    def _seconds(self, answers: int) -> float:
        """The time that requests, and so many bytes of answers, take on the line."""
        requests = sum(len(each.frame) for each in self._requests)
        return (requests + answers) * _BYTE_BITS / self._line.baud

    def _wrong_port(self, problem: str) -> _Unanswered:
        return _Unanswered(
            f"{problem} at {self._line.baud} baud", "must be a board built for this baud rate"
        )

    def _fail(self, text: str) -> LinkError:
        self._requests.clear()
        self._failed = LinkError(f"{self._line.name}: {text}")
        return self._failed

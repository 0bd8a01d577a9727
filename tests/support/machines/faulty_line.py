"""A serial line that loses, doubles and changes bytes."""

from __future__ import annotations

from collections.abc import Callable

from gnarl.sw.runtime.machine.board.frame_port import Line


class FaultyLine:
    """A ``Line`` through ``line``. ``fault`` makes of each byte, sent or received, what arrives."""

    def __init__(self, line: Line, fault: Callable[[int], bytes]) -> None:
        self._line = line
        self._fault = fault
        self.name, self.baud, self.latency = line.name, line.baud, line.latency
        self.close = line.close

    def send(self, message: bytes) -> None:
        self._line.send(b"".join(map(self._fault, message)))

    def receive(self, seconds: float) -> bytes:
        while received := self._line.receive(seconds):
            if arrived := b"".join(map(self._fault, received)):
                return arrived
        return b""

"""``host.cpp`` alone: what it says of machines that break the rules of streams."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from cocotb_tests.lib.host_port import CHANGED, STALLED, read_requests, write_requests
from gnarl.sw.program.cache import cached, digest_of

STALL_LIMIT = 20


class Cycle(NamedTuple):
    """What a machine does in a cycle."""

    accepts: bool = False
    word: int | None = None
    reset: bool = False


class Signals(NamedTuple):
    """What the host drives in a cycle."""

    valid: bool
    request: int
    ready: bool


@pytest.fixture(scope="module")
def library() -> Any:
    source = Path(__file__).with_name("host.cpp").read_text()
    source = source.replace('#include "Vtop__Dpi.h"', "using svBit = unsigned char;")

    def make(folder: Path) -> None:
        command = ["c++", "-std=c++17", "-shared", "-fPIC", "-x", "c++", "-", "-o", "host.so"]
        subprocess.run(command, input=source, cwd=folder, text=True, check=True)

    loaded = ctypes.CDLL(str(cached("test", digest_of(source), make, keep=("host.so",))[0]))
    for name in ("cycles", "sent"):
        getattr(loaded, f"host_{name}").restype = ctypes.c_uint64
    return loaded


class Host:
    def __init__(self, library: Any, stalls: float = 0.0, seed: int = 0) -> None:
        self._library = library
        limit = ctypes.c_uint64(STALL_LIMIT)
        library.host_open(ctypes.c_double(stalls), ctypes.c_uint64(seed), limit)

    def send(self, requests: np.ndarray, cycles: int = 0) -> None:
        numbers = (ctypes.c_uint64(number) for number in (len(requests), cycles))
        self._library.host_send(requests.ctypes.data_as(ctypes.c_void_p), *numbers)

    def run(self, cycles: Iterable[Cycle]) -> list[Signals]:
        driven, payload = [], WAITING.word
        for cycle in cycles:
            valid, ready, ended = (ctypes.c_ubyte() for _ in range(3))
            request = ctypes.c_uint64()
            ports = (ctypes.byref(port) for port in (valid, request, ready, ended))
            self._library.host_begin(*ports)
            driven.append(Signals(bool(valid.value), request.value, bool(ready.value)))
            has_word = cycle.word is not None
            payload = cycle.word if has_word else payload
            self._library.host_end(cycle.reset, cycle.accepts, has_word, payload)
        return driven

    @property
    def error(self) -> int:
        return int(self._library.host_error())


ONE = read_requests(5, 1)
WAITING = Cycle(word=7)


def test_a_machine_that_stalls(library: Any) -> None:
    for before in (0, 3):
        host = Host(library)
        host.send(ONE)
        host.run([*[Cycle()] * before, Cycle(accepts=True), *[Cycle()] * (STALL_LIMIT - 1)])
        assert host.error == 0
        host.run([Cycle()])
        assert host.error == STALLED and library.host_sent() == 1
    host = Host(library)
    host.send(ONE)
    host.run([Cycle()] * STALL_LIMIT)
    assert host.error == STALLED and library.host_sent() == 0


@pytest.mark.parametrize("after", [Cycle(word=8), Cycle()], ids=["other", "gone"])
def test_a_response_that_changes_while_it_waits(library: Any, after: Cycle) -> None:
    """While requests are offered for some cycles, and between transfers."""
    host = Host(library)
    host.send(ONE, cycles=4)
    host.run([Cycle(accepts=True), WAITING, WAITING])
    assert host.error == 0
    host.run([after])
    assert host.error == CHANGED
    host = Host(library)
    host.run([WAITING])
    assert host.error == 0
    host.run([after])
    assert host.error == CHANGED


def test_responses_change_once_they_are_taken_or_reset(library: Any) -> None:
    host = Host(library)
    host.send(read_requests(5, 2))
    driven = host.run([Cycle(True), Cycle(True, 7), Cycle(word=8), Cycle()])
    assert [cycle.valid for cycle in driven] == [True, True, False, False]
    assert all(cycle.ready for cycle in driven[:3])
    host.run([WAITING, WAITING._replace(reset=True), Cycle()])
    assert host.error == 0
    words = (ctypes.c_uint32 * 2)()
    library.host_words(words)
    assert [*words] == [7, 8] and library.host_cycles() == 3


def test_pauses_are_drawn_and_a_request_stays_until_it_is_taken(library: Any) -> None:
    host = Host(library, stalls=0.75, seed=3)
    host.send(write_requests(0, range(2000)))
    driven = host.run([Cycle(accepts=number % 2 == 0) for number in range(2000)])
    assert 400 < sum(cycle.ready for cycle in driven) < 600
    for number, (now, following) in enumerate(zip(driven[:-1], driven[1:], strict=True)):
        if now.valid and number % 2:
            assert following.valid and following.request == now.request
    assert 0.2 < np.mean([cycle.valid for cycle in driven[1::2]]) < 0.6
    assert host.error == 0

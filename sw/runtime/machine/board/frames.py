"""Requests and responses as bytes; see ``gnarl.hw.fpga.frame``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from amaranth.lib import data

from gnarl.hw.fpga.frame import CRC_BITS, REQUEST, RESPONSE, crc16, with_check
from gnarl.sw.runtime.machine.host import Words

WORD_BYTES = 4
_HEADER_BYTES = RESPONSE.size // 8
_CRC_BYTES = CRC_BITS // 8


@dataclass(frozen=True)
class Response:
    """A response of a board. ``last``: tag of the last write that was executed. ``words``: uint32
    [n], of a read."""

    tag: int
    last: int
    words: Words


def read_request(tag: int, address: int, count: int) -> bytes:
    """Asks for ``count`` words, at most ``MOST_WORDS``."""
    return with_check(_header(REQUEST, tag=tag, count=count, address=address))


def write_request(tag: int, address: int, words: Words) -> bytes:
    """A frame that writes words. ``words``: uint32 [n], at most ``MOST_WORDS``."""
    header = _header(REQUEST, tag=tag, count=len(words), address=address, write=1)
    return with_check(header + words.astype("<u4").tobytes())


def response_bytes(words: int) -> int:
    """Length of a response with so many words."""
    return _HEADER_BYTES + WORD_BYTES * words + _CRC_BYTES


def take_response(received: bytearray) -> Response | None:
    """Takes the response that ``received`` begins with; ``None`` while it is not all there.

    Raises ``ValueError`` where its check is wrong.
    """
    if len(received) < _HEADER_BYTES:
        return None
    header = RESPONSE.from_bits(int.from_bytes(received[:_HEADER_BYTES], "little"))
    size = response_bytes(header.count)
    if len(received) < size:
        return None
    frame = bytes(received[:size])
    if crc16(frame):
        raise ValueError("wrong check")
    del received[:size]
    words = np.frombuffer(frame[_HEADER_BYTES:-_CRC_BYTES], "<u4")
    return Response(header.tag, header.last, words)


def _header(layout: data.StructLayout, **fields: Any) -> bytes:
    number = layout.const(fields).as_value().value
    return number.to_bytes(layout.size // 8, "little")

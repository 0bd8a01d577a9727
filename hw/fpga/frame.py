"""Frames on the serial line between a host and a board: what hardware, software and tests share.

A request is a ``REQUEST``, then, of a write, ``count`` words, then the check. The board answers
each with a ``RESPONSE``, then, of a read, ``count`` words, then the check. All numbers go with
their lowest byte first, and bytes with their lowest bit first.

A board that receives a frame with a wrong check or a byte without a stop bit, or one frame too many
for it to hold, drops the frame whole, and whatever follows until the line has paused. A pause
within a frame drops it, too.
"""

from __future__ import annotations

import binascii

from amaranth.lib import data
from gnarl.hw.lib.machine.memory_map import ADDRESS_BITS

REQUEST = data.StructLayout({"tag": 8, "count": 8, "address": ADDRESS_BITS, "write": 1})
"""What a request begins with.

tag
    of a write one more, modulo 256, than that of the last write that was executed, or else the
    board only answers; of a read any number.
count
    words from ``address`` on, 0 to 255.
"""

RESPONSE = data.StructLayout({"tag": 8, "count": 8, "last": 8})
"""What a response begins with.

tag
    the request's.
count
    words that follow: of a read the request's, of a write 0.
last
    tag of the last write that the board has executed, 0 after a reset. A write whose tag is at or
    before it has been executed, now or before; one whose tag is behind it never was.
"""

MOST_WORDS = 255
"""Words of a frame."""

MOST_FRAMES = 2
"""Requests that a board can hold at a time: one that it answers, and one that waits for that. Of
writes any number may be sent before the first response, as they take longer to send."""

CRC_BITS = 16
CRC_START = 0xFFFF
CRC_POLYNOMIAL = 0x8408
"""x^16 + x^12 + x^5 + 1, the lowest bit first: CRC-16/MCRF4XX of the catalogue of CRC algorithms
(https://reveng.sourceforge.io/crc-catalogue/16.htm). Of all before it in its frame."""

_PAUSE_SECONDS = 0.01
_PAUSE_BITS = 16  # more than a byte's bits: all its ones are no pause

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def pause(baud: int) -> float:
    """Seconds without a start bit after which the next byte begins a frame."""
    return max(_PAUSE_SECONDS, _PAUSE_BITS / baud)


def crc16(message: bytes) -> int:
    """The check of ``message``; 0 where that ends with its own check, the low byte first."""
    # crc_hqx has the same polynomial, the highest bit first.
    crc = binascii.crc_hqx(message.translate(_REVERSED), CRC_START)
    return int(f"{crc:016b}"[::-1], 2)


def with_check(message: bytes) -> bytes:
    """``message`` and its check."""
    return message + crc16(message).to_bytes(CRC_BITS // 8, "little")

"""Tokens of SAM streams: in hardware, and as integers.

A stream carries data, stop tokens with their level, empty tokens (no operand here), and one done
token, its last. Source: the SAM tools; FuseFlow, section 2.
"""

from __future__ import annotations

from amaranth.lib import data, stream
from gnarl.hw.lib.encoding.enum import EnumType, IntEnum

PAYLOAD_BITS = 32
"""Most bits of a payload; as integers, tokens have their kind above that many bits."""

LEVEL_BITS = 4
"""Bits of a stop token's level, the lowest ones of its payload."""

MAX_LEVEL = (1 << LEVEL_BITS) - 1


class Kind(IntEnum, metaclass=EnumType, shape=2):
    """What a token is. The payload of ``EMPTY`` and ``DONE`` is 0, that of ``STOP`` its level."""

    DATA = 0
    STOP = 1
    EMPTY = 2
    DONE = 3


def token_layout(width: int) -> data.StructLayout:
    """A token with ``width`` bits of payload, at least ``LEVEL_BITS``."""
    return data.StructLayout({"payload": width, "kind": Kind})


def token_stream(width: int) -> stream.Signature:
    """A stream of ``token_layout(width)``."""
    return stream.Signature(token_layout(width))


EMPTY = Kind.EMPTY << PAYLOAD_BITS
"""The empty token as an integer: "no operand here", born in unions."""

DONE = Kind.DONE << PAYLOAD_BITS
"""The done token as an integer: the last one of every stream."""


def stop(level: int) -> int:
    """A stop token as an integer: it ends ``level`` + 1 nested fibers."""
    return Kind.STOP << PAYLOAD_BITS | level

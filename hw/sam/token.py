"""Tokens of SAM streams: in hardware, as integers, and as people write them.

A stream carries data, stop tokens with their level, empty tokens (no operand here), and one done
token, its last. Source: the SAM tools; FuseFlow, section 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from amaranth.lib import data, stream
from amaranth.lib.enum import EnumType

if TYPE_CHECKING:  # Amaranth's IntEnum is this one with the metaclass EnumType
    from enum import IntEnum
else:
    from amaranth.lib.enum import IntEnum

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


def kind_of(token: int) -> Kind:
    return Kind(token >> PAYLOAD_BITS)


def payload_of(token: int) -> int:
    return token & (1 << PAYLOAD_BITS) - 1


def parse_stream(text: str) -> list[int]:
    """Tokens from text such as ``0 2 S0 N S1 D``: unsigned data, stops, empty, done."""
    tokens = []
    for word in text.split():
        if word == "N":
            tokens.append(EMPTY)
        elif word == "D":
            tokens.append(DONE)
        elif word.startswith("S"):
            tokens.append(stop(int(word[1:])))
        else:
            tokens.append(int(word))
    return tokens


def format_stream(tokens: Iterable[int]) -> str:
    """Inverse of ``parse_stream``."""
    return " ".join(_format(int(token)) for token in tokens)


def _format(token: int) -> str:
    kind, payload = kind_of(token), payload_of(token)
    return {Kind.DATA: f"{payload}", Kind.STOP: f"S{payload}", Kind.EMPTY: "N", Kind.DONE: "D"}[
        kind
    ]


def pack(token: int, width: int) -> int:
    """A token's bits in ``token_layout(width)``."""
    return kind_of(token) << width | payload_of(token)


def unpack(bits: int, width: int) -> int:
    """Inverse of ``pack``."""
    return bits >> width << PAYLOAD_BITS | bits & (1 << width) - 1

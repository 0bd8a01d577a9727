"""Tokens as integers: their parts, their bits in hardware, and as people write them."""

from __future__ import annotations

from collections.abc import Iterable

from gnarl.hw.sam.token import DONE, EMPTY, PAYLOAD_BITS, Kind, stop


def kind_of(token: int) -> Kind:
    return Kind(token >> PAYLOAD_BITS)


def payload_of(token: int) -> int:
    return token & (1 << PAYLOAD_BITS) - 1


def pack(token: int, width: int) -> int:
    """A token's bits in ``token_layout(width)``."""
    return kind_of(token) << width | payload_of(token)


def unpack(bits: int, width: int) -> int:
    """Inverse of ``pack``."""
    return bits >> width << PAYLOAD_BITS | bits & (1 << width) - 1


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

"""Damage to a file that is nothing but octets."""

from __future__ import annotations

from random import Random

_LONGEST_RUN = 1 << 16


def flip_bits(octets: bytes, random: Random) -> bytes:
    found = bytearray(octets)
    for _ in range(random.choice((1, 1, 1, 2, 8))):
        if found:
            found[random.randrange(len(found))] ^= 1 << random.randrange(8)
    return bytes(found)


def set_octets(octets: bytes, random: Random) -> bytes:
    start, stop = _span(octets, random)
    return (
        octets[:start]
        + bytes([random.choice((0, 0x7F, 0x80, 0xFF))]) * (stop - start)
        + (octets[stop:])
    )


def truncate(octets: bytes, random: Random) -> bytes:
    return octets[: random.randrange(len(octets) + 1)]


def remove(octets: bytes, random: Random) -> bytes:
    start, stop = _span(octets, random)
    return octets[:start] + octets[stop:]


def insert(octets: bytes, random: Random) -> bytes:
    at = random.randrange(len(octets) + 1)
    return octets[:at] + random.randbytes(random.randrange(1, 9)) + octets[at:]


def repeat(octets: bytes, random: Random) -> bytes:
    start, stop = _span(octets, random)
    times = random.choice((2, 3, 1 + _LONGEST_RUN // max(1, stop - start)))
    return octets[:start] + octets[start:stop] * times + octets[stop:]


def swap_blocks(octets: bytes, random: Random) -> bytes:
    a, b, c = sorted(random.randrange(len(octets) + 1) for _ in range(3))
    return octets[:a] + octets[b:c] + octets[a:b] + octets[c:]


def append(octets: bytes, random: Random) -> bytes:
    return octets + random.choice((b"\0", b"\n", octets, random.randbytes(64), b"\0" * 4096))


def _span(octets: bytes, random: Random) -> tuple[int, int]:
    start = random.randrange(len(octets) + 1)
    return start, min(len(octets), start + random.choice((1, 2, 4, 8, 64)))


BYTES = (flip_bits, set_octets, truncate, remove, insert, repeat, swap_blocks, append)

"""Integers of n bits, the lowest first, in two's complement where they are signed."""

from __future__ import annotations

from hw.sram_compute.microcode.builder import Builder
from hw.sram_compute.microcode.rows import A, B, D, n


def majority(a: int, b: int, c: int) -> int:
    """The carry out of a + b + c."""
    return a & b | c & (a | b)


def move(p: Builder) -> None:
    """D = A."""
    p.sweep(n, A.up(), d=D.up(), write=lambda a, b, c, p: a)


def add(p: Builder) -> None:
    """D = A + B, modulo 2^n."""
    p.sweep(
        n,
        A.up(),
        B.up(),
        D.up(),
        start_carry=lambda c, p: 0,
        write=lambda a, b, c, p: a ^ b ^ c,
        carry=lambda a, b, c, p: majority(a, b, c),
    )

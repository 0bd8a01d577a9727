"""Lines of memory as elements of 1, 2 or 4 bytes, seen bit by bit."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Cat, Mux, Value


def low_bits(line: Value, element: Value) -> Value:
    """The lowest bit of each element, the first one's lowest. ``element``: log2 of its bytes."""
    return _of_size(element, lambda size: Cat(line[at] for at in range(0, len(line), size)))


def shifted_in(line: Value, element: Value, tops: Value, shifts: Value) -> Value:
    """The line, with each element moved down by a bit where ``shifts``; then its highest bit is
    that of ``tops``, too."""

    def of_size(size: int) -> Value:
        found: list[Value] = []
        for number in range(len(line) // size):
            whole = line[number * size : (number + 1) * size]
            top = Mux(shifts, 0, whole[-1]) | tops[number]
            found.append(Cat(Mux(shifts, whole[1:], whole[:-1]), top[0]))
        return Cat(*found)

    return _of_size(element, of_size)


def high_bits(line: Value, element: Value) -> Value:
    """The highest bit of each element."""
    return _of_size(
        element, lambda size: Cat(line[at + size - 1] for at in range(0, len(line), size))
    )


def _of_size(element: Value, function: Callable[[int], Value]) -> Value:
    return Mux(element == 0, function(8), Mux(element == 1, function(16), function(32)))

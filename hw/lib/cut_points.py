"""Pipeline registers of a datapath, spread over the places where it may be cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from amaranth.hdl import Module, Shape, Signal, Value, ValueLike

TECHNOLOGIES = ("fpga", "silicon")
"""What steps of a datapath have depths for. An FPGA is quick in carry chains and multiplier blocks,
and slow in multiplexers."""


def check_stages(stages: int, least: int = 0) -> None:
    """``ValueError`` unless ``stages`` is a whole number that is not below ``least``."""
    if not isinstance(stages, int) or isinstance(stages, bool) or stages < least:
        raise ValueError(f"stages = {stages!r}: must be a whole number, at least {least}")


def registers_at(stages: int, depths: Sequence[int]) -> list[int]:
    """How many registers follow each step of a datapath.

    ``depths`` gives the steps' logic depths in any unit. One register is at the output; the
    others, one a place, where they make the longest way between two registers shortest, then the
    second longest and so on; of several choices, the one that comes first in order. What is more
    than there are places goes to the output. Polynomial in len(depths).
    """
    last = len(depths) - 1
    inner = min(stages - 1, last)
    counts = [0] * len(depths)
    if stages:
        for place in _Placing(depths).best(0, inner).places:
            counts[place] = 1
        counts[last] = stages - inner
    return counts


class _Placed(NamedTuple):
    """Steps with a register after some of them; ``ways`` between them, the longest first. The
    least is the best."""

    ways: list[int]
    places: tuple[int, ...]


class _Placing:
    """Where registers go after some of the steps with these ``depths``."""

    def __init__(self, depths: Sequence[int]) -> None:
        self._depths = depths
        self._known: dict[tuple[int, int], _Placed] = {}

    def best(self, begin: int, registers: int) -> _Placed:
        """The best of all choices for that many registers between the steps from ``begin`` on.

        Whatever is the first way, the best rest makes the best whole: one more way in each of two
        lists, which are in order, does not change which is less.
        """
        if (begin, registers) not in self._known:
            self._known[begin, registers] = min(self._choices(begin, registers))
        return self._known[begin, registers]

    def _choices(self, begin: int, registers: int) -> Iterator[_Placed]:
        """The best one for each place of the first register."""
        if not registers:
            yield _Placed([sum(self._depths[begin:])], ())
            return
        for place in range(begin, len(self._depths) - registers):
            rest = self.best(place + 1, registers - 1)
            way = sum(self._depths[begin : place + 1])
            yield _Placed(sorted([way, *rest.ways], reverse=True), (place, *rest.places))


class CutPoints:
    """Cuts a datapath after each of its steps, in order, with registers at some of the cuts.

    Calling it with the values that cross the next cut, by name, gives what they are called behind
    it: an object with an attribute for each. A named tuple or a list of values crosses as one.
    Registers have no reset.

    Parameters: ``m``, the module; ``stages``, registers in all; ``depths`` of the steps, as for
    ``registers_at``.
    """

    def __init__(self, m: Module, stages: int, depths: Sequence[int]) -> None:
        self._m = m
        self._counts = registers_at(stages, depths)
        self._next = 0

    def __call__(self, **values: Any) -> SimpleNamespace:
        step, self._next = self._next, self._next + 1
        registers = self._counts[step]
        return SimpleNamespace(
            **{
                name: self._cross(f"{name}_{step}", value, registers)
                for name, value in values.items()
            }
        )

    @property
    def next_has_registers(self) -> bool:
        """Whether the next cut has any."""
        return self._counts[self._next] > 0

    def to_output(self, **values: ValueLike) -> dict[str, Value]:
        """Values that cross the next cut, by name, as late as the datapath's output."""
        registers = sum(self._counts[self._next :])
        return {name: self._cross(name, value, registers) for name, value in values.items()}

    def _cross(self, name: str, value: Any, registers: int) -> Any:
        if hasattr(value, "_fields"):
            parts = zip(value._fields, value, strict=True)
            crossed = (self._cross(f"{name}_{part}", field, registers) for part, field in parts)
            return type(value)(*crossed)
        if isinstance(value, list):
            return [self._cross(f"{name}_{i}", part, registers) for i, part in enumerate(value)]
        value = Value.cast(value)
        for register in range(registers):
            after = Signal.like(value, name=f"{name}_{register}", reset_less=True)
            self._m.d.sync += after.eq(value)
            value = after
        return value


def named(m: Module, name: str, value: ValueLike, shape: Shape | None = None) -> Signal:
    """A signal that is always ``value``: computed once however often it is used."""
    signal = Signal(Value.cast(value).shape() if shape is None else shape, name=name)
    m.d.comb += signal.eq(value)
    return signal

"""Pipeline registers of a datapath, spread over the places where it may be cut."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from types import SimpleNamespace
from typing import Any

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
    others, one a place, where they make the longest way between two registers shortest. What is
    more than there are places goes to the output. O(2**len(depths)).
    """
    last = len(depths) - 1
    inner = min(stages - 1, last)

    def longest_ways(places: tuple[int, ...]) -> list[int]:
        edges = [0, *(place + 1 for place in places), len(depths)]
        ways = (sum(depths[a:b]) for a, b in zip(edges, edges[1:], strict=False))
        return sorted(ways, reverse=True)

    counts = [0] * len(depths)
    if stages:
        for place in min(combinations(range(last), inner), key=longest_ways):
            counts[place] = 1
        counts[last] = stages - inner
    return counts


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

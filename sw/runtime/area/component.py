"""What a machine costs, as a tree of its components."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from hw.lib.memory_size import MemorySize
from sw.runtime.area.netlist import NetlistModule

_SUFFIX = re.compile(r"\$\d+$")
"""What Amaranth adds to names that were taken."""


@dataclass(frozen=True)
class Cost:
    """What gates cost, without memories.

    cells
        gates and flip-flops, whatever their size; ``flip_flops`` of them keep state.
    gates
        gate equivalents: size in two-input NANDs.
    area
        in the library's unit; 0 without a library.
    """

    cells: int = 0
    flip_flops: int = 0
    gates: float = 0.0
    area: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.cells + other.cells,
            self.flip_flops + other.flip_flops,
            self.gates + other.gates,
            self.area + other.area,
        )

    def __mul__(self, copies: int) -> Cost:
        return Cost(
            self.cells * copies, self.flip_flops * copies, self.gates * copies, self.area * copies
        )


@dataclass(frozen=True)
class Component:
    """Equal instances of one module within one parent.

    name
        of the instance; of several, with ``*`` in place of numbers: ``bank_*``.
    copies
        how many; all else is of one of them.
    own
        its gates, without those of its parts.
    memory
        where it is a memory, which has no gates and no parts.
    """

    name: str
    module: str
    copies: int
    own: Cost
    parts: tuple[Component, ...] = ()
    memory: MemorySize | None = None

    @cached_property
    def total(self) -> Cost:
        """Of one copy, with its parts."""
        return sum((part.total * part.copies for part in self.parts), self.own)

    @cached_property
    def memory_bits(self) -> int:
        """In one copy."""
        own = self.memory.bits if self.memory else 0
        return own + sum(part.memory_bits * part.copies for part in self.parts)

    def walk(self, above: tuple[Component, ...] = ()) -> Iterator[tuple[Component, ...]]:
        """The path to this component and to each below, from the root on, parents first."""
        path = (*above, self)
        yield path
        for part in self.parts:
            yield from part.walk(path)


def build_tree(
    modules: Mapping[str, NetlistModule], top: str, cost_of: Callable[[str], Cost]
) -> Component:
    """The tree of module ``top``; ``cost_of`` gives that of a kind of cell."""
    known: dict[str, Component] = {}

    def component(module: str) -> Component:
        """Made once for each module, under the module's name."""
        if module not in known:
            memory = MemorySize.of_module(module)
            found = NetlistModule() if memory else modules[module]
            own = sum((cost_of(kind) * count for kind, count in found.cells.items()), Cost())
            known[module] = Component(module, module, 1, own, parts(found), memory)
        return known[module]

    def parts(found: NetlistModule) -> tuple[Component, ...]:
        names: dict[tuple[str, str], list[str]] = {}
        for instance, module in found.parts:
            plain = _SUFFIX.sub("", instance)
            names.setdefault((re.sub(r"\d+", "*", plain), module), []).append(plain)
        return tuple(
            replace(
                component(module),
                name=pattern if len(instances) > 1 else instances[0],
                copies=len(instances),
            )
            for (pattern, module), instances in names.items()
        )

    return component(top)

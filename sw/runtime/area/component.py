"""What a machine costs, as a tree of its components."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from gnarl.hw.lib.memory.size import MemorySize
from gnarl.sw.runtime.area.netlist import NetlistModule

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
    instances
        their names in the netlist; all else is of one of them.
    own
        its gates, without those of its parts.
    memory
        where it is a memory, which has no gates and no parts.
    """

    name: str
    module: str
    instances: tuple[str, ...]
    own: Cost
    parts: tuple[Component, ...] = ()
    memory: MemorySize | None = None

    @property
    def copies(self) -> int:
        """How many there are in the parent."""
        return len(self.instances)

    @cached_property
    def total(self) -> Cost:
        """The cost of one copy, with its parts."""
        return sum((part.total * part.copies for part in self.parts), self.own)

    @cached_property
    def memory_bits(self) -> int:
        """Bits of memories in one copy."""
        own = self.memory.bits if self.memory else 0
        return own + sum(part.memory_bits * part.copies for part in self.parts)


def build_tree(
    modules: Mapping[str, NetlistModule], top: str, cost_of: Callable[[str], Cost]
) -> Component:
    """The tree of module ``top``; ``cost_of`` gives that of a kind of cell."""
    known: dict[str, Component] = {}

    def component(module: str) -> Component:
        """Made once for each module, under the module's name."""
        if module not in known:
            memory = MemorySize.of_module(module)
            definition = NetlistModule() if memory else modules[module]
            own = sum((cost_of(kind) * count for kind, count in definition.cells.items()), Cost())
            known[module] = Component(module, module, (module,), own, parts(definition), memory)
        return known[module]

    def parts(found: NetlistModule) -> tuple[Component, ...]:
        groups: dict[tuple[str, str], list[str]] = {}
        for instance, module in found.parts:
            pattern = re.sub(r"\d+", "*", plain_name(instance))
            groups.setdefault((pattern, module), []).append(instance)
        return tuple(
            replace(
                component(module),
                name=pattern if len(instances) > 1 else plain_name(instances[0]),
                instances=tuple(instances),
            )
            for (pattern, module), instances in groups.items()
        )

    return component(top)


def plain_name(instance: str) -> str:
    """An instance's name as its designer gave it."""
    return _SUFFIX.sub("", instance)

"""Programs with operands, for tests that run them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gnarl.sw.compiler.sam.fuse.regions import regions_of
from gnarl.sw.workloads.einsum.program import (
    EinsumProgram,
)
from gnarl.sw.workloads.tensor.tensor import Tensor


@dataclass
class ProgramCase:
    """A program, values of its inputs, and its traits.

    exact
        whether sums have the same bits in all orders of loops, or are in one order only.
    """

    program: EinsumProgram
    tensors: dict[str, Tensor]
    traits: frozenset[str]

    @classmethod
    def of(cls, program: EinsumProgram, tensors: Mapping[str, Any]) -> ProgramCase:
        """A program without traits."""
        given = {name: Tensor.from_any(each) for name, each in tensors.items()}
        return cls(program, given, frozenset())

    @property
    def exact(self) -> bool:
        return "several indices" not in self.traits

    def groups(self, rng: random.Random) -> list[tuple[str, ...]]:
        """Statements one after the other, cut where they must be and at random."""
        groups: list[list[str]] = []
        for names in self.whole():
            groups.append([])
            for name in names:
                groups[-1].append(name)
                if rng.random() < 0.3:
                    groups.append([])
        return [tuple(group) for group in groups if group]

    def whole(self) -> list[tuple[str, ...]]:
        """Statements one after the other, cut where they must be."""
        return [each.statements for each in regions_of(self.program, "layer")]

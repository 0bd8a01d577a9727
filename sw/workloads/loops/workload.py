"""A loop nest with what a run of it works on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gnarl.sw.workloads.embedding.data import check_bag_offsets
from gnarl.sw.workloads.loops.ir.binding import Binding, bind
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.made_up import MadeUp


@dataclass(frozen=True, eq=False)
class LoopWorkload:
    """A loop nest with its inputs.

    inputs
        arrays and scalars by name. Arrays that the nest writes may be left out, and start as zeros.
    sizes
        those that do not follow from the arrays.
    expression
        the text of which ``tensor_expression`` made the nest, if of one.
    shape
        of the expression's result, if compressed.
    temporaries
        arrays that the nest writes for itself alone.
    bag_offsets
        how many indices an array of offsets of PyTorch cuts into bags, by its name.
    made_up
        see ``gnarl.sw.workloads.made_up``.
    """

    name: str
    nest: Nest
    inputs: Mapping[str, np.ndarray]
    sizes: Mapping[str, int] | None = None
    expression: str = ""
    shape: tuple[int, ...] = ()
    temporaries: frozenset[str] = frozenset()
    bag_offsets: Mapping[str, int] = field(default_factory=dict)
    made_up: MadeUp = field(default_factory=dict)

    @cached_property
    def binding(self) -> Binding:
        """Raises ``WorkloadError`` where the inputs do not fit."""
        found = bind(self.nest, self.inputs, self.sizes)
        for name, indices in self.bag_offsets.items():
            check_bag_offsets(name, found.arrays[name], indices)
        return found

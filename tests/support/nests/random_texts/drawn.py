"""A random nest and values for it, from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.nests.python_nests import run_as_python
from tests.support.nests.random_texts.arrays import random_values
from tests.support.nests.random_texts.statements import NAME, RandomText


@dataclass(frozen=True)
class Drawn:
    """``exact``: floats are whole numbers, and sums of them may be in any order. ``lanes``: 2, 4 or
    8, of a machine to run it on."""

    text: str
    workload: LoopWorkload
    exact: bool
    lanes: int

    def as_python(self) -> dict[str, np.ndarray]:
        """What the text leaves in all arrays when Python runs it."""
        return run_as_python(self.text, NAME, self.workload.binding)


def draw(
    seed: int, *, all_types: bool = False, plain: bool = False, most: dict[str, int] | None = None
) -> Drawn:
    """A drawn text; floats are whole for even seeds. ``all_types``, ``plain``: see ``RandomText``;
    ``most``: of sizes."""
    random, exact = Random(seed), seed % 2 == 0
    made = RandomText(random, exact=exact, all_types=all_types, plain=plain)
    values = random_values(random, made.arrays, exact=exact, most=most)
    workload = LoopWorkload("random", made.nest(), values)
    return Drawn(made.text, workload, exact, random.choice((2, 4, 8)))

"""A launch of a program: one start of one machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnarl.sw.program.tensor_spec import TensorSpec

Sections = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Launch:
    """One start of one machine.

    name
        what reports call it.
    inputs, outputs
        the tensors that it reads and writes. Later launches may read what earlier ones wrote.
    statistics
        whole numbers from the compiler, by name.
    sections
        arrays, as the target's schema lists them; not to be changed.
    config, digest
        the hardware: its configuration's fields and their digest.
    """

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    statistics: Mapping[str, int]
    sections: Sections
    config: dict[str, Any]
    digest: str

"""Outputs of runs, compared bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.machine.result import Result


def same_bits(one: Result[Any], other: Result[Any]) -> bool:
    """Whether two runs of a program have the same entries at the same coordinates."""
    return all(_bits(output) == _bits(other.outputs[name]) for name, output in one.outputs.items())


def _bits(output: Array) -> tuple[bytes, ...]:
    if isinstance(output, np.ndarray):
        return (output.tobytes(),)
    return output.coordinates.tobytes(), output.values.tobytes()

"""Whether a run's results are right, where errors against float64 are not asked for."""

from __future__ import annotations

from typing import Any

from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.report.verify import compare
from gnarl.sw.runtime.run.device import Device


def is_exact(device: Device, result: Result[Any]) -> bool:
    """Whether all outputs have the golden model's bits."""
    program = result.program
    golden = device.target.executor.golden(program, result.tensors)
    return compare(program.outputs, result.outputs, golden, golden).bit_exact

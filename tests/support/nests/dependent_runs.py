"""Runs nests on models of machines, and compares with what they mean."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.tmu.compile import compile
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.tmu.image import Operands, image, outputs, result_rows
from gnarl.sw.runtime.tmu.model import machine
from gnarl.sw.workloads.loops.workload import LoopWorkload

EXACT = 1 << 16
"""Below this, sums of whole numbers are the same in any order, with all terms on the way."""


def run_tmu(workload: LoopWorkload, config: TmuConfig, **options: object) -> dict[str, Array]:
    """The model's results of all launches, of which each has the golden model's bits for its nest,
    in the program's order of additions. ``options``: of the compiler. Raises its errors."""
    program = compile(workload, config, trace=Trace(), **options)
    values: dict[str, Array] = dict(workload.inputs)
    for launch in program.launches:
        operands = Operands(launch, values)
        rows = result_rows(launch, {})
        run = machine.run(config, image(launch, operands), lambda _, rows=rows: rows)
        found = outputs(launch, operands, run.memory)
        check_same(operands.golden, found, f"{launch.name}, {options}")
        values |= found
    return values


def check_tmu(workload: LoopWorkload, config: TmuConfig, **options: object) -> None:
    """As ``run_tmu``; and where additions are in the source's order, or exact in any, results have
    the golden model's bits for the whole nest."""
    _check_meaning(workload, run_tmu(workload, config, **options), options)


def check_device(device: Device, workload: LoopWorkload, **options: object) -> None:
    """As ``check_tmu``, of a run on a device."""
    result = device.run(device.compile(workload, **options), workload.inputs)
    assert device.verify(result).bit_exact
    _check_meaning(workload, result.outputs, options)


def _check_meaning(
    workload: LoopWorkload, found: Mapping[str, Array], options: Mapping[str, object]
) -> None:
    wanted = GoldenLoops(workload.nest).run(workload.binding)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        largest = max((np.abs(each).max(initial=0) for each in wanted.values()), default=0)
    if options.get("reassociate") is False or largest < EXACT:
        check_same(wanted, found, f"the source's order, {options}")


def check_same(wanted: Mapping[str, Array], found: Mapping[str, Array], text: str) -> None:
    """Raises ``AssertionError`` naming the first array with other bits."""
    for name, golden in wanted.items():
        np.testing.assert_array_equal(
            np.asarray(found[name]).view(np.uint32),
            np.asarray(golden).view(np.uint32),
            f"{name}: {text}",
        )

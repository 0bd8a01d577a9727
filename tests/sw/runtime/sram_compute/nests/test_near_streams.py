"""Streams of stream engines, at random."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given
from hypothesis.strategies import DataObject, data, integers, sampled_from

from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.sources import file_workload
from gnarl.sw.workloads.loops.workload import LoopWorkload


def nest_of(text: str, folder: Path) -> Nest:
    path = folder / "nest.c"
    path.write_text(text)
    return file_workload(str(path), {}).nest


@given(data())
def test_affine_streams_are_those_of_the_source(draw: DataObject):
    """Lower bounds, steps, strides and distances of loads and stores, of two loops."""
    rows, columns = draw.draw(integers(1, 4)), draw.draw(integers(1, 70))
    lower, step = draw.draw(integers(0, columns)), draw.draw(integers(1, 3))
    stride, distance = draw.draw(sampled_from([0, 1, 2, -1])), draw.draw(integers(0, 3))
    size = 2 * columns + 4
    offset = distance if stride >= 0 else columns - 1 + distance
    text = (
        f"void f(int n, float a[n][{size}], float b[n][{columns + 3}]) {{\n"
        f"  for (int i = 0; i < n; i++)\n    for (int j = {lower}; j < {columns}; j += {step})\n"
        f"      b[n - 1 - i][j + {distance}] = a[i][{stride} * j + {offset}] - b[n - 1 - i][j + "
        f"{distance}];\n}}"
    )
    chance = np.random.default_rng(1)
    values = {
        "a": chance.standard_normal((rows, size), np.float32),
        "b": chance.standard_normal((rows, columns + 3), np.float32),
    }
    with TemporaryDirectory() as folder, Device("sram_b2", "model") as device:
        made = LoopWorkload("f", nest_of(text, Path(folder)), values)
        assert device.verify(device.run(device.compile(made, place="near"), values)).bit_exact

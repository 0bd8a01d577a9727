"""Arrays of which a box is overwritten before they are read: what lies around it is loaded in
parts, or all but the box at once."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import disassemble
from gnarl.sw.compiler.sram_compute.lower.lower import MemoryCode
from tests.support.sram_compute.lowered_memory import SMALL, require_golden
from tests.support.sram_compute.tensor_graphs import nest_of

FAST = replace(SMALL, banks=4, arrays=16, memory_bytes=1 << 18, bandwidth=64)
SIZES = ("n", "m", "k")
TYPES = ("int8", "int16", "int32")


def boxed(random: Random) -> tuple[str, str, dict[str, np.ndarray]]:
    """A nest that overwrites a box of ``b``, then reads all of it; values."""
    dimensions = random.choice((1, 2, 2, 3))
    most = {1: (1500,), 2: (70, 70), 3: (9, 24, 40)}[dimensions]
    shape = [random.randint(1, size) for size in most]
    names, sizes = "ijh"[:dimensions], SIZES[:dimensions]
    ends = [(random.choice((0, 1, 3)), random.choice((0, 1, 2, 17))) for _ in shape]
    loops = [
        f"{'    ' * depth}for {name} in range({first}, {size} - {last}):\n"
        for depth, (name, size, (first, last)) in enumerate(zip(names, sizes, ends, strict=True))
    ]
    whole = [
        f"{'    ' * depth}for {name} in range({size}):\n"
        for depth, (name, size) in enumerate(zip(names, sizes, strict=True))
    ]
    at, inner = ", ".join(names), "    " * dimensions
    body = "".join([*loops, f"{inner}b[{at}] = a[{at}] * 3\n"])
    body += "".join([*whole, f"{inner}c[{at}] = b[{at}] + a[{at}]\n"])
    type = random.choice(TYPES)
    parameters = ", ".join(f"{name}: {type}[{', '.join(sizes)}]" for name in "abc")
    numbers = np.random.default_rng(random.getrandbits(32))
    values = {name: numbers.integers(-99, 99, shape).astype(type) for name in "ab"}
    return parameters, body, values


def parts(lowered: MemoryCode) -> int:
    """How many loads are of parts of ``b``."""
    first = lowered.arrays["b"].first_line
    lines = lowered.arrays["b"].lines
    found, at = 0, {}
    for _, each in disassemble(lowered.units):
        if each.opcode == Opcode.LAYOUT:
            at[each.fields["layout"]] = each.fields
        elif each.opcode == Opcode.LOAD and not each.fields["hollow"]:
            of = at[each.fields["layout"]]
            size = int(np.prod(of["sizes"]))
            found += first <= of["base"] < first + lines and size < lines
    return found


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_random_boxes(channels: int):
    random, found = Random(channels), 0
    config = replace(FAST, memory_channels=channels)
    for _ in range(60):
        parameters, body, values = boxed(random)
        try:
            found += parts(require_golden(nest_of(parameters, body), values, config))
        except CapacityError:
            continue  # more elements than bitlines
    assert found > 2

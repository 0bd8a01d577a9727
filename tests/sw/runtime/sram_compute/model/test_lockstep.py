"""Banks that run a program together do what each does alone, however their skips differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cocotb_tests.sram_compute.programs import pattern
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.program import Microinstruction, assemble
from gnarl.hw.sram_compute.microcode.rows import A, D, i, n
from gnarl.hw.sram_compute.microinstruction import Base
from gnarl.hw.sram_compute.program import command
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sram_compute.model.array import ComputeArray
from gnarl.sw.runtime.sram_compute.model.lockstep import Spent, run_banks
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.sram_compute.tile_elements import run_on_elements

BASES = {Base.A: 0, Base.B: 0, Base.D: 8, Base.E: 0, Base.S: 0}
ROWS, BITLINES, WIDTH = 24, 64, 4


def toggling() -> tuple[Microinstruction, ...]:
    """For each bit of A: row 8 of D is inverted, and row i where the bit is set, of banks that have
    one."""
    p = Builder()
    with p.loop(n):
        p.sweep(1, D.at(8), d=D.at(8), write=lambda a, b, c, p: ~a)
        p.sweep(1, A.at(i), predicate=lambda a, b, c, p: a)
        with p.if_any_predicate():
            p.sweep(1, D.at(i), d=D.at(i), write=lambda a, b, c, p: a ^ p)
    return assemble(p.program())


@pytest.mark.parametrize("skips", [True, False])
@pytest.mark.parametrize(
    "bits",
    [
        (0b1111, 0b1111),
        (0b0000, 0b0001),
        (0b1000, 0b0000),
        (0b0101, 0b0011, 0b0110),
        (0b1111, 0b0000, 0b1010, 0b1010),
    ],
)
def test_banks_together_and_alone(bits: tuple[int, ...], skips: bool):
    """``bits``: those of A that some bitline of each bank has."""
    banks, random = len(bits), np.random.default_rng(3)
    together = ComputeArray(ROWS, banks * BITLINES, random)
    values = random.integers(0, 1 << WIDTH, (banks, BITLINES)) & np.array(bits)[:, None]
    values[:, 0] = bits
    together.write(0, values.reshape(-1), WIDTH)
    alone = [together.part(np.array([bank]), banks) for bank in range(banks)]
    spent = run_banks(together, banks, toggling(), BASES, WIDTH, skips=skips)
    for bank, each in enumerate(alone):
        cycles = each.run(toggling(), BASES, WIDTH, skips=skips)
        assert spent[bank] == Spent(cycles, last=1)  # a skip, or a sweep of a row
        found = together.part(np.array([bank]), banks)
        np.testing.assert_array_equal(found.planes, each.planes)


@pytest.mark.parametrize("backend", ["model", "rtl"])
def test_products_of_banks_that_skip_others(backend: str):
    named = load_configuration("sram_b2")
    config: Any = named.config
    factors, width, result = (0b0101, 0b0011), 8, 32
    bitlines = pattern("bitlines", 0, (1, config.bitlines))
    commands = [
        command(
            Opcode.FILL,
            d=width,
            n=width,
            value=factor,
            **bitlines,
            **pattern("tiles", bank * config.arrays, (1, config.arrays)),
        )
        for bank, factor in enumerate(factors)
    ]
    multiply = config.rom.entry(config.operations["multiply"], width)
    bases = (0, width, result, 0, 64)
    commands.append(command(Opcode.COMPUTE, entry=multiply, n=width, bases=bases))
    with Device(named, backend) as device, Device(named, "model") as model:
        before, after, found = run_on_elements(device, config, commands, result, width)
        assert found == run_on_elements(model, config, commands, result, width)[2]
    by_tile = np.repeat(np.array(factors, np.uint32), config.arrays)[:, None]
    np.testing.assert_array_equal(after, before * by_tile % (1 << width))

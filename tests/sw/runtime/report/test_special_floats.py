"""NaNs, infinities, zeros and subnormals have the golden model's bits wherever a nest runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from random import Random

import numpy as np
import pytest

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.runtime.report.output_summary import outputs_text, summarise
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.arithmetic.special_floats import (
    SIGNS,
    SPECIAL,
    crossed,
    kernel,
    random_expression,
)
from tests.support.tmu.programs import check

PLACES = ("memory", "near", "core", "auto")

FEW = ("negated", "magnitude", "number")

NAMES = [each if each in FEW else pytest.param(each, marks=pytest.mark.slow) for each in SIGNS]


@pytest.fixture(scope="module")
def sram() -> Iterator[Device]:
    pytest.importorskip("egglog")
    config = load_configuration("sram_b2", ["wordlines=256", "bitlines=256"])
    with Device(config, "model") as device:
        yield device


@cache
def nest(expression: str) -> Nest:
    return read_source(kernel(expression), "special.c")


def check_place(device: Device, expression: str, place: str) -> None:
    given = crossed()
    workload = LoopWorkload("f", nest(expression), given)
    result = device.run(device.compile(workload, place=place), given)
    wanted = GoldenLoops(workload.nest).run(workload.binding)["out"].view(np.uint32)
    found = result.outputs["out"].view(np.uint32)
    at = np.flatnonzero(found != wanted)
    assert not at.size, (
        expression,
        place,
        [tuple(hex(int(each[one])) for each in (*words(given), wanted, found)) for one in at[:5]],
    )


def words(given: dict[str, np.ndarray]) -> list[np.ndarray]:
    return [array.view(np.uint32) for array in given.values()]


@pytest.mark.filterwarnings("error")
def test_nans_that_signal_give_no_warning():
    """Not where they are computed with, nor where what is stored is one of them."""
    source = "void f(int n, float a[n], float b[n], float out[n]) {\n"
    source += "  for (int i = 0; i < n; i++) { out[i] = a[i]; b[i] += a[i]; }\n}\n"
    given = {name: array[::-1].copy() for name, array in crossed().items()}
    workload = LoopWorkload("f", read_source(source, "special.c"), given)
    with Device("tmu_l2", "model") as device:
        result = device.run(device.compile(workload), given)
        assert device.verify(result).bit_exact
    shown = outputs_text(summarise(result.program.outputs, result.outputs))
    assert "nan" in shown


@pytest.mark.parametrize("name, wanted", [("negated", "^"), ("magnitude", "&")])
def test_negation_and_magnitude_change_the_sign_alone(
    monkeypatch: pytest.MonkeyPatch, name: str, wanted: str
):
    """IEEE 754-2019, 5.5.1, in the golden model as it is compiled."""
    monkeypatch.undo()
    values = {"a": SPECIAL, "b": SPECIAL[::-1].copy()}
    workload = LoopWorkload("f", nest(SIGNS[name]), values)
    found = GoldenLoops(workload.nest).run(workload.binding)["out"].view(np.uint32)
    bits = SPECIAL.view(np.uint32)
    sign = np.uint32(1 << 31)
    assert found.tolist() == (bits ^ sign if wanted == "^" else bits & ~sign).tolist()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", NAMES)
def test_in_sram(sram: Device, name: str, place: str):
    check_place(sram, SIGNS[name], place)


@pytest.mark.parametrize("name", NAMES)
def test_on_the_tmu(name: str):
    for options in ({"opt": 0}, {"opt": 4}, {"coupled": True}):
        check(nest(SIGNS[name]), crossed(), TmuConfig(lanes=4), **options)


def check_everywhere(sram: Device, seed: int) -> None:
    """Where the expression is not refused, as too long ones are and those without arrays."""
    expression = random_expression(Random(seed))
    ran = 0
    for place in PLACES[:3]:
        with suppress(WorkloadError, CapacityError):
            check_place(sram, expression, place)
            ran += 1
    for options in (*({"opt": level} for level in range(5)), {"coupled": True}):
        with suppress(WorkloadError, CapacityError):
            check(nest(expression), crossed(), TmuConfig(lanes=4), **options)
            ran += 1
    assert ran >= 2


@pytest.mark.parametrize("seed", [0])
def test_random_expressions(sram: Device, seed: int):
    check_everywhere(sram, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 400))
def test_many_random_expressions(sram: Device, seed: int):
    check_everywhere(sram, seed)

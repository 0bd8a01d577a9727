# amaranth: UnusedElaboratable=no
"""The units for functions of one number: stalls, fixed point, lint, errors."""

from __future__ import annotations

import re

import numpy as np
import pytest
from amaranth.sim import Simulator

from gnarl.hw.lib.formats import FLOAT_FORMATS, FixedFormat, FloatFormat, parse_format
from gnarl.hw.lib.functions.function import ERROR_BOUND_ULP, Function, FunctionUnit, most_stages
from gnarl.sw.golden.functions import apply
from gnarl.sw.runtime.machine.verilate import lint
from tests.hw.dpu.simulate import simulate_combinational
from tests.support.arithmetic.floats import fresh_rng
from tests.support.arithmetic.functions import every_function
from tests.support.arithmetic.units import SideBySide, convert

FLOAT8 = FLOAT_FORMATS["float8_e4m3"]


@pytest.mark.parametrize("stages", [None, 3])
@pytest.mark.parametrize("function", Function, ids=lambda function: function.name)
def test_nothing_moves_without_enable(function: Function, stages: int | None) -> None:
    unit = FunctionUnit(FLOAT8, function, stages)
    rng = fresh_rng()
    words = rng.integers(0, 256, 60).tolist()
    results = []

    async def process(ctx):
        for word in [*words, *[0] * unit.latency]:
            while rng.random() < 0.5:
                ctx.set(unit.enable, 0)
                ctx.set(unit.i, int(rng.integers(256)))
                before = ctx.get(unit.o)
                await ctx.tick()
                assert ctx.get(unit.o) == before
            ctx.set(unit.enable, 1)
            ctx.set(unit.i, word)
            results.append(ctx.get(unit.o))
            await ctx.tick()

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()
    expected = apply(function, np.array(words, np.uint32), "float8_e4m3")
    assert results[unit.latency :] == expected.tolist()


@pytest.mark.parametrize("name", ["fixed4.0", "fixed16.8", "fixed32.31"])
def test_relu_of_fixed_point(name: str) -> None:
    unit = FunctionUnit(parse_format(name), Function.RELU, 0)
    top = 1 << parse_format(name).width - 1

    async def process(ctx):
        for word in [0, 1, top - 1, top, top + 1, 2 * top - 1]:
            ctx.set(unit.i, word)
            assert ctx.get(unit.o) == (word if word < top else 0)

    simulate_combinational(unit, process)


@pytest.mark.parametrize(
    ("name", "stages"), [("float32", None), ("float32", 0), ("bfloat16", None), ("float8_e5m2", 2)]
)
def test_lint(name: str, stages: int | None) -> None:
    every = SideBySide(every_function(FLOAT_FORMATS[name], stages))
    assert lint(convert(every, "units"), "units") == []


def test_verilog_is_small_and_the_same_every_time() -> None:
    first, second = (
        convert(FunctionUnit(FLOAT_FORMATS["float32"], Function.GELU), "unit") for _ in range(2)
    )
    assert first == second and len(first) < 5_700 * most_stages(Function.GELU)


def test_every_function_states_its_bound() -> None:
    assert sorted(ERROR_BOUND_ULP) == sorted(Function)


@pytest.mark.parametrize(
    "function", [f for f in Function if f != Function.RELU], ids=lambda function: function.name
)
def test_fixed_point_has_only_relu(function: Function) -> None:
    text = (
        f"no {function.name} in FixedFormat(width=16, fraction=8): "
        "fixed point has only RELU; take a float format"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        FunctionUnit(FixedFormat(16, 8), function)


@pytest.mark.parametrize("format", [FloatFormat(9, 2), FloatFormat(2, 2), FloatFormat(8, 24)])
def test_formats_out_of_range_are_refused(format: FloatFormat) -> None:
    text = f"{format}: exponent must have 3 to 8 bits, fraction 1 to 23"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        FunctionUnit(format, Function.EXP)


@pytest.mark.parametrize("stages", [-1, True, 1.0])
def test_stages_must_be_a_whole_number(stages: int) -> None:
    text = f"stages = {stages!r}: must be a whole number, at least 0"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        FunctionUnit(FloatFormat(8, 23), Function.EXP, stages)

# amaranth: UnusedElaboratable=no
"""The arithmetic unit's operations, in every kind of format, on Verilator."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from gnarl.hw.lib.arithmetic import ArithmeticUnit
from gnarl.hw.lib.cut_points import TECHNOLOGIES
from gnarl.hw.lib.formats import (
    FLOAT_FORMATS,
    FixedFormat,
    FloatFormat,
    NumberFormat,
    parse_format,
)
from gnarl.hw.lib.losses import LOSSES
from gnarl.hw.lib.operation import Operation
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.arithmetic import floats
from tests.support.arithmetic.fixed import ExactFixed, fixed_operands
from tests.support.arithmetic.losses import lost, pairs_at_ends
from tests.support.arithmetic.numbers import RationalFloat, crossed
from tests.support.arithmetic.units import Units, assert_same_words, convert
from tests.support.parameters import slow_but

UNITS = {f"unit_{depth}": (depth, "fpga") for depth in (1, 4)} | {"silicon": (4, "silicon")}
"""Stages and technology by name."""

COMPUTED = {
    Operation.ADD: "add",
    Operation.SUB: "subtract",
    Operation.MUL: "multiply",
    Operation.MAX: "maximum",
    Operation.MIN: "minimum",
}
"""Operations by the names of the exact references' methods."""


@cache
def units(format: NumberFormat) -> Units:
    return Units({name: ArithmeticUnit(format, *unit) for name, unit in UNITS.items()})


def check(
    format: NumberFormat,
    operation: Operation,
    left: npt.NDArray[np.uint64],
    right: npt.NDArray[np.uint64],
    expected: npt.NDArray[np.uint64],
) -> None:
    model = units(format)
    results = model.run(left=left, right=right, operation=operation.value)
    for name, (depth, _) in UNITS.items():
        assert model.latency(name) == depth
        assert_same_words(results[f"{name}_o"], expected, (left, right), f"{operation.name} {name}")


@pytest.mark.parametrize(("name", "kind"), floats.NUMPY_CASES)
def test_same_bits_as_numpy(name: str, kind: str) -> None:
    a, b = floats.operands(name, kind)
    left, right = floats.numbers(name, a), floats.numbers(name, b)
    with np.errstate(all="ignore"):
        expected = {
            Operation.ADD: left + right,
            Operation.SUB: left - right,
            Operation.MUL: left * right,
            Operation.MAX: floats.maximum(left, right),
            Operation.MIN: floats.minimum(left, right),
        }
    for operation, values in expected.items():
        check(floats.FORMATS[name], operation, a, b, floats.words(name, values))


@pytest.mark.parametrize("format", floats.ODD_FORMATS, ids=str)
def test_all_pairs_of_odd_formats_are_exact_and_rounded_once(format: FloatFormat) -> None:
    a, b = crossed(np.arange(1 << format.width, dtype=np.uint64))
    reference = RationalFloat(format)
    for operation, method in COMPUTED.items():
        function = getattr(reference, method)
        expected = np.array([function(int(x), int(y)) for x, y in zip(a, b, strict=True)])
        check(format, operation, a, b, expected)


@pytest.mark.parametrize("name", ["fixed8.0", "fixed8.7", "fixed5.1", "fixed4.2", "fixed32.16"])
def test_fixed_point_is_exact(name: str) -> None:
    format = parse_format(name)
    assert isinstance(format, FixedFormat)
    a, b = fixed_operands(format)
    reference = ExactFixed(format)
    for operation, method in COMPUTED.items():
        function = getattr(reference, method)
        expected = np.array([function(int(x), int(y)) for x, y in zip(a, b, strict=True)])
        check(format, operation, a, b, expected)


@cache
def losing_units(format: NumberFormat) -> Units:
    units = {name: ArithmeticUnit(format, *unit, with_losses=True) for name, unit in UNITS.items()}
    return Units({**units, "silent": ArithmeticUnit(format, 1)})


def check_losses(
    format: NumberFormat,
    operation: Operation,
    left: npt.NDArray[np.uint64],
    right: npt.NDArray[np.uint64],
    expected: Mapping[str, npt.NDArray[np.bool_]],
) -> None:
    """And that results are those of a unit that says nothing of losses."""
    results = losing_units(format).run(left=left, right=right, operation=operation.value)
    words = sum(
        expected[name].astype(np.uint64) << np.uint64(bit) for bit, name in enumerate(LOSSES)
    )
    words = np.broadcast_to(words, left.shape)
    for name in UNITS:
        what = f"{operation.name} {name}"
        assert_same_words(results[f"{name}_losses"], words, (left, right), f"losses of {what}")
        assert_same_words(results[f"{name}_o"], results["silent_o"], (left, right), what)


NONE_LOST = dict.fromkeys(LOSSES, np.zeros(1, bool))


@pytest.mark.parametrize("format", slow_but([FloatFormat(3, 2)], floats.ODD_FORMATS), ids=str)
def test_what_floating_point_loses(format: FloatFormat) -> None:
    """What is lost follows from what results are, and whether exact ones are 0."""
    a, b = crossed(np.arange(1 << format.width, dtype=np.uint64))
    reference, sign = RationalFloat(format), 1 << (format.width - 1)
    kinds = [(x & ~np.uint64(sign)).astype(np.int64) for x in (a, b)]
    finite = (kinds[0] < format.infinity) & (kinds[1] < format.infinity)
    numbers = (kinds[0] <= format.infinity) & (kinds[1] <= format.infinity)
    for operation, method in COMPUTED.items():
        function = getattr(reference, method)
        pairs = zip(a.tolist(), b.tolist(), strict=True)
        results = np.array([function(x, y) & ~sign for x, y in pairs])
        zero = {
            Operation.ADD: (kinds[0] == kinds[1]) & ((a != b) | (kinds[0] == 0)),
            Operation.SUB: (kinds[0] == kinds[1]) & ((a == b) | (kinds[0] == 0)),
            Operation.MUL: (kinds[0] == 0) | (kinds[1] == 0),
        }.get(operation)
        if zero is None:
            check_losses(format, operation, a, b, NONE_LOST)
            continue
        expected = {
            "underflow": finite & ~zero & (results == 0),
            "overflow": finite & (results == format.infinity),
            "nan": numbers & (results > format.infinity),
        }
        check_losses(format, operation, a, b, expected)
        assert expected["overflow"].any() and expected["nan"].any()
        assert expected["underflow"].any() == (operation == Operation.MUL)
    for operation in (Operation.PASS_LEFT, Operation.PASS_RIGHT):
        check_losses(format, operation, a, b, NONE_LOST)


@pytest.mark.parametrize("name", slow_but(["float32"], ["float32", "bfloat16"]))
def test_what_a_product_of_wide_floating_point_loses(name: str) -> None:
    """Products are exact in float64, and half of what is next to 0 and to infinity is, too."""
    kinds = (floats.operands(name, kind) for kind in ("corners", "random"))
    a, b = np.concatenate([np.stack(pairs)[:, :100_000] for pairs in kinds], axis=1)
    with np.errstate(invalid="ignore"):  # of NaNs
        left, right = (floats.numbers(name, each).astype(np.float64) for each in (a, b))
    finite = np.isfinite(left) & np.isfinite(right)
    format = floats.FORMATS[name]
    least = format.smallest / 2
    limit = format.largest + 2.0 ** (format.bias - format.fraction - 1)
    with np.errstate(all="ignore"):
        exact = np.abs(left * right)
    expected = {
        "underflow": finite & (left != 0) & (right != 0) & (exact <= least),
        "overflow": finite & (exact >= limit),
        "nan": np.isnan(exact) & ~np.isnan(left) & ~np.isnan(right),
    }
    check_losses(format, Operation.MUL, a, b, expected)
    assert all(each.any() for each in expected.values())


@pytest.mark.parametrize(
    "name", slow_but(["float8_e4m3"], [*FLOAT_FORMATS, "fixed4.3", "fixed16.8", "fixed32.31"])
)
def test_what_is_lost_at_the_ends_of_formats(name: str) -> None:
    format = parse_format(name)
    a, b = pairs_at_ends(format, 2000, floats.fresh_rng())
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    for operation in Operation:
        found = np.array([lost(format, operation, *pair) for pair in pairs])
        check_losses(format, operation, a, b, {kind: found == kind for kind in LOSSES})


@pytest.mark.parametrize(
    "name", slow_but(["fixed5.1"], ["fixed8.0", "fixed8.7", "fixed5.1", "fixed4.2", "fixed32.16"])
)
def test_what_fixed_point_loses(name: str) -> None:
    format = parse_format(name)
    assert isinstance(format, FixedFormat)
    a, b = fixed_operands(format)
    low, one = 1 << (format.width - 1), 1 << format.fraction
    left, right = ([(word ^ low) - low for word in each.tolist()] for each in (a, b))
    pairs = list(zip(left, right, strict=True))
    for operation in (*COMPUTED, Operation.PASS_LEFT, Operation.PASS_RIGHT):
        exact = {
            Operation.ADD: lambda x, y: x + y,
            Operation.SUB: lambda x, y: x - y,
            Operation.MUL: lambda x, y: round(Fraction(x * y, one)),
        }.get(operation)
        if exact is None:
            check_losses(format, operation, a, b, NONE_LOST)
            continue
        found = [exact(x, y) for x, y in pairs]
        is_product = operation == Operation.MUL
        expected = {
            "underflow": np.array(
                [is_product and x * y != 0 == z for (x, y), z in zip(pairs, found, strict=True)]
            ),
            "overflow": np.array([not -low <= each < low for each in found]),
            "nan": np.zeros(len(found), bool),
        }
        check_losses(format, operation, a, b, expected)


@pytest.mark.parametrize("name", ["float8_e5m2", "float8_e4m3", "fixed8.0"])
def test_passing_keeps_every_bit_nans_included(name: str) -> None:
    a, b = crossed(np.arange(256, dtype=np.uint64))
    check(parse_format(name), Operation.PASS_LEFT, a, b, a)
    check(parse_format(name), Operation.PASS_RIGHT, a, b, b)


def test_the_operation_may_change_every_cycle() -> None:
    name = "float16"
    a, b = floats.operands(name, "random")
    rng = floats.fresh_rng()
    operation = rng.integers(0, len(Operation), a.size)
    left, right = floats.numbers(name, a), floats.numbers(name, b)
    with np.errstate(all="ignore"):
        computed = [
            floats.words(name, values)
            for values in (
                left + right,
                left - right,
                left * right,
                floats.maximum(left, right),
                floats.minimum(left, right),
            )
        ]
    expected = np.choose(operation, [a, b, *computed])
    results = units(floats.FORMATS[name]).run(left=a, right=b, operation=operation)
    for unit in UNITS:
        got = results[f"{unit}_o"]
        assert_same_words(got, expected, (operation, a, b), f"operation {unit}")


@pytest.mark.parametrize("name", ["float32", "float16", "float8_e4m3", "fixed16.8", "fixed4.0"])
def test_lint(name: str) -> None:
    for depth in (1, 8):
        for with_losses in (False, True):
            unit = ArithmeticUnit(parse_format(name), depth, with_losses=with_losses)
            assert lint(convert(unit, "unit"), "unit") == []


@pytest.mark.parametrize(
    ("format", "technology"),
    slow_but(
        [(FloatFormat(3, 2), "silicon"), (FixedFormat(5, 1), "fpga")],
        product([FloatFormat(3, 2), FixedFormat(5, 1)], TECHNOLOGIES),
    ),
    ids=str,
)
def test_every_depth_has_the_latency_it_claims(format: NumberFormat, technology: str) -> None:
    depths = range(1, 11)
    model = Units({f"unit_{depth}": ArithmeticUnit(format, depth, technology) for depth in depths})
    a, b = crossed(np.arange(1 << format.width, dtype=np.uint64))
    for operation in COMPUTED:
        results = model.run(left=a, right=b, operation=operation.value)
        for depth in depths:
            assert model.latency(f"unit_{depth}") == depth
            what = f"{operation.name} {depth}"
            assert_same_words(results[f"unit_{depth}_o"], results["unit_1_o"], (a, b), what)


@pytest.mark.parametrize("stages", range(2, 6))
def test_technologies_have_registers_in_different_places(stages: int) -> None:
    units = [ArithmeticUnit(FloatFormat(8, 23), stages, each) for each in TECHNOLOGIES]
    fpga, silicon = (convert(unit, "unit") for unit in units)
    assert fpga != silicon


@pytest.mark.parametrize("stages", [0, -1, "2", True, 1.0])
def test_an_output_register_is_the_least(stages: int) -> None:
    text = f"stages = {stages!r}: must be a whole number, at least 1"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        ArithmeticUnit(FloatFormat(8, 23), stages)


@pytest.mark.parametrize("sizes", [(1, 2), (12, 2), (4, 0), (8, 53)])
def test_float_formats_out_of_range_are_refused(sizes: tuple[int, int]) -> None:
    format = FloatFormat(*sizes)
    text = f"{format}: exponent must have 2 to 11 bits, fraction 1 to 52"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        ArithmeticUnit(format, 1)


@pytest.mark.parametrize("sizes", [(2, 0), (3, 1), (33, 1), (8, 8)])
def test_fixed_formats_out_of_range_are_refused(sizes: tuple[int, int]) -> None:
    format = FixedFormat(*sizes)
    text = f"{format}: width must be 4 to 32 bits, fraction 0 to width - 1"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        ArithmeticUnit(format, 1)

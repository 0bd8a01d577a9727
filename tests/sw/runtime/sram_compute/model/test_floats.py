"""Floating-point operations on the model, against NumPy and ml_dtypes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.formats import FLOAT_FORMATS, FloatFormat
from gnarl.hw.lib.operation import Operation
from gnarl.hw.sram_compute.microcode import float_add, float_divide, float_multiply
from gnarl.hw.sram_compute.microcode.builder import Builder
from gnarl.hw.sram_compute.microcode.float_product import SCRATCH_ROWS
from gnarl.hw.sram_compute.microinstruction import SKIP_CYCLES
from gnarl.hw.sram_compute.operations import FLOAT_OPERATIONS
from gnarl.hw.sram_compute.operations import Operation as ArrayOperation
from gnarl.sw.golden.arithmetic import arithmetic
from gnarl.sw.golden.division import divide
from gnarl.sw.golden.words import float_words
from gnarl.sw.runtime.sram_compute.model.array import ComputeArray
from tests.support.arithmetic.floats import EIGHT_BITS, fresh_rng
from tests.support.arithmetic.numbers import corners, crossed, random_pairs
from tests.sw.runtime.sram_compute.model.operands import BASES, WORDLINES, A, B, D, Operands, result

ARITHMETIC = {
    "add": Operation.ADD,
    "subtract": Operation.SUB,
    "multiply": Operation.MUL,
    "maximum": Operation.MAX,
    "minimum": Operation.MIN,
}
COMPARISONS = {
    "less": np.less,
    "less_equal": np.less_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
}
UNARY = ("absolute", "negate", "relu")
REPLACE = ("add", "subtract", "multiply", "maximum", "minimum")
"""Operations whose result may be an operand's rows."""

Pairs = tuple[np.ndarray, np.ndarray]


def _pairs(format: str, count: int) -> Pairs:
    """All pairs of 8-bit words; of others corners and ``count`` random ones."""
    kind = FLOAT_FORMATS[format]
    if format in EIGHT_BITS:
        return crossed(np.arange(256, dtype=np.uint64))
    named, random = crossed(corners(kind)), random_pairs(kind, count, fresh_rng())
    a, b = np.concatenate([named, random], axis=1)
    return a, b


def _expected(format: str, name: str, pairs: Pairs) -> np.ndarray:
    numbers = arithmetic(format)
    words = [each.astype(np.uint32) for each in pairs]
    left, right = map(numbers.numbers, words)
    zero = np.zeros_like(left)
    with np.errstate(invalid="ignore"):
        if name in COMPARISONS:
            return COMPARISONS[name](left, right)
        if name == "divide":
            return divide(*words, format)
        sign = np.uint32(1 << FLOAT_FORMATS[format].width - 1)
        if name == "absolute":
            return words[0] & ~sign
        if name == "negate":
            return words[0] ^ sign
        if name == "relu":
            return numbers.words(numbers.apply(Operation.MAX, left, zero))
        return numbers.words(numbers.apply(ARITHMETIC[name], left, right))


def _check(
    format: str,
    name: str,
    pairs: Pairs,
    onto: int = D,
    *,
    right: int = B,
    skips: bool = True,
    is_normal: bool = False,
) -> None:
    width = FLOAT_FORMATS[format].width
    rows = 1 if name in COMPARISONS else width
    operands = Operands({A: pairs[0], right: pairs[1]}, width)
    operation = FLOAT_OPERATIONS[format][name]
    found = result(
        operation, operands, rows, onto=onto, right=right, skips=skips, is_normal=is_normal
    )
    expected = _expected(format, name, pairs)
    wrong = np.flatnonzero(found != expected)
    assert wrong.size == 0, [
        tuple(hex(int(each[place])) for each in (*pairs, found, expected)) for place in wrong[:5]
    ]


@pytest.mark.parametrize("name", [*ARITHMETIC, "divide", *COMPARISONS, *UNARY])
@pytest.mark.parametrize("format", FLOAT_FORMATS)
def test_results(format: str, name: str) -> None:
    _check(format, name, _pairs(format, 3_000))


@pytest.mark.parametrize("onto", [A, B])
@pytest.mark.parametrize("name", REPLACE)
@pytest.mark.parametrize("format", FLOAT_FORMATS)
def test_a_result_may_replace_an_operand(format: str, name: str, onto: int) -> None:
    _check(format, name, _pairs(format, 500), onto)


@pytest.mark.parametrize("name", UNARY)
def test_a_result_of_one_operand_may_replace_it(name: str) -> None:
    _check("bfloat16", name, _pairs("bfloat16", 500), A)


@pytest.mark.parametrize("name", [*ARITHMETIC, "divide", *COMPARISONS, *UNARY])
@pytest.mark.parametrize("format", FLOAT_FORMATS)
def test_normal_numbers_skip_all_blocks_and_may_run_them(format: str, name: str) -> None:
    kind, rng = FLOAT_FORMATS[format], fresh_rng()
    least = kind.bias // 2 + 2 << kind.fraction
    most = kind.bias + kind.bias // 2 - 1 << kind.fraction
    words = rng.integers(least, most, (2, 200), np.uint64)
    words |= rng.integers(0, 2, (2, 200), np.uint64) << np.uint64(kind.width - 1)
    _check(format, name, (words[0], words[1]), is_normal=True)
    _check(format, name, (words[0], words[1]), skips=False)


def _check_alone(format: str, name: str, words: np.ndarray) -> None:
    """Each pair in all lanes: among others, blocks would run for these."""
    for a, b in zip(*crossed(words), strict=True):
        _check(format, name, (np.full(3, a), np.full(3, b)))


@pytest.mark.parametrize("name", [*ARITHMETIC, "divide", *COMPARISONS, *UNARY])
def test_a_pair_alone_runs_the_blocks_that_it_needs(name: str) -> None:
    """A zero, a subnormal, a normal number, infinity, a NaN."""
    kind = FLOAT_FORMATS["float8_e4m3"]
    words = [0, 1, kind.bias << kind.fraction, kind.infinity, kind.canonical_nan]
    _check_alone("float8_e4m3", name, np.array(words, np.uint64))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ARITHMETIC, "divide", *COMPARISONS, *UNARY])
@pytest.mark.parametrize("format", ["float32", "float8_e5m2"])
def test_any_pair_alone_runs_the_blocks_that_it_needs(format: str, name: str) -> None:
    _check_alone(format, name, corners(FLOAT_FORMATS[format]))


@pytest.mark.parametrize("name", [*ARITHMETIC, "divide", *COMPARISONS])
@pytest.mark.parametrize("format", ["float32", "float8_e5m2"])
def test_both_operands_may_be_the_same_rows(format: str, name: str) -> None:
    kind = FLOAT_FORMATS[format]
    words = np.concatenate([corners(kind), random_pairs(kind, 300, fresh_rng())[0]])
    _check(format, name, (words, words), right=A)


@pytest.mark.parametrize("format", FLOAT_FORMATS)
def test_a_square_may_replace_its_root(format: str) -> None:
    kind = FLOAT_FORMATS[format]
    words = np.concatenate([corners(kind), random_pairs(kind, 300, fresh_rng())[0]])
    _check(format, "multiply", (words, words), A, right=A)


def test_the_cost_of_a_zero_among_normal_numbers() -> None:
    width = FLOAT_FORMATS["float32"].width
    one = np.full(100, 0x3F800000, np.uint64)
    zeros = np.where(np.arange(100) == 50, 0, one)
    operation = FLOAT_OPERATIONS["float32"]["multiply"]
    array = ComputeArray(WORDLINES, 100)
    array.write(A, one, width)
    array.write(B, zeros, width)
    used = array.run(operation.program(), BASES)
    assert (array.read(D, width) == zeros).all()
    assert used - operation.cycles(skips=True) == 24 + 1 + 9 + 1 + SKIP_CYCLES


@pytest.mark.parametrize(
    ("name", "normal", "any_bits"),
    [("add", 640, 720), ("multiply", 800, 1_400), ("divide", 1_000, 1_700)],
)
def test_limits_of_float32(name: str, normal: int, any_bits: int) -> None:
    operation = FLOAT_OPERATIONS["float32"][name]
    assert operation.cycles(skips=True) <= normal
    assert operation.cycles(skips=False) <= any_bits


def test_scratch_rows() -> None:
    rows = {each.scratch_rows() for kind in FLOAT_OPERATIONS.values() for each in kind.values()}
    assert max(rows) == SCRATCH_ROWS + 5


@given(exponent=st.integers(4, 8), fraction=st.integers(2, 12))
@settings(max_examples=10)
def test_formats_of_other_widths(exponent: int, fraction: int) -> None:
    kind = FloatFormat(exponent, fraction)
    rng = np.random.default_rng(fraction)
    words = np.concatenate(
        [crossed(corners(kind)), rng.integers(0, 1 << kind.width, (2, 1_000), np.uint64)], axis=1
    )
    a, b = (_value(each, kind) for each in words)
    with np.errstate(all="ignore"):
        expected = {"add": a + b, "multiply": a * b, "divide": a / b}
    for name, write in (
        ("add", partial(float_add.add, subtract=False)),
        ("multiply", float_multiply.multiply),
        ("divide", float_divide.divide),
    ):
        operation = ArrayOperation(name, partial(write, format=kind), is_parametric=False)
        if name != "add" and fraction > kind.bias - 2 or name == "divide" and fraction > 10:
            continue
        found = result(operation, Operands({A: words[0], B: words[1]}, kind.width), kind.width)
        assert (found == float_words(expected[name], kind)).all()


def _value(words: np.ndarray, kind: FloatFormat) -> np.ndarray:
    """The numbers, in float64, whose bits are given."""
    bits = words.astype(np.int64)
    field = bits >> kind.fraction & (1 << kind.exponent) - 1
    fraction = bits & (1 << kind.fraction) - 1
    significand = fraction + (np.minimum(field, 1) << kind.fraction)
    value = np.ldexp(significand.astype(float), np.maximum(field, 1) - kind.bias - kind.fraction)
    value = np.where(bits & kind.infinity == kind.infinity, np.inf, value)
    value[(field == field.max()) & (fraction != 0) & np.isinf(value)] = np.nan
    return np.where(bits >> kind.width - 1, -value, value)


@pytest.mark.parametrize(
    ("write", "kind", "message"),
    [
        (
            float_multiply.multiply,
            FloatFormat(3, 2),
            "must have at least 4 bits of exponent, and 2 to bias - 2 of fraction",
        ),
        (
            float_divide.divide,
            FloatFormat(8, 1),
            "must have at least 4 bits of exponent, and 2 to bias - 2 of fraction",
        ),
        (
            float_divide.divide,
            FloatFormat(5, 11),
            "a division needs more than 48 rows of scratch",
        ),
    ],
)
def test_formats_that_do_not_fit_are_refused(
    write: Callable[..., None], kind: FloatFormat, message: str
) -> None:
    with pytest.raises(ValueError) as caught:
        write(Builder(), kind)
    assert str(caught.value) == f"{kind}: {message}"


@pytest.mark.parametrize("format", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
@pytest.mark.slow
def test_a_million_pairs(format: str, name: str) -> None:
    _check(format, name, _pairs(format, 1_000_000))

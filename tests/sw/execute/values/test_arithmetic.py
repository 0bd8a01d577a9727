"""What the execute unit's interpreter computes, against NumPy's and Python's numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gnarl.hw.lib.encoding.execute_assembly import assemble
from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.hw.lib.operation import Operation
from gnarl.sw.execute.values import execute
from gnarl.sw.golden.arithmetic import arithmetic
from gnarl.sw.golden.division import divide, square_root
from tests.support.arithmetic.floats import fresh_rng
from tests.support.arithmetic.numbers import corners, crossed, random_pairs

FLOAT32 = FLOAT_FORMATS["float32"]
LANES = 8

Words = np.ndarray


def ran(text: str, memory: Words, lanes: int = LANES, **constants: int) -> Words:
    """Memory after a program; what was there before stays as it was given."""
    after = memory.copy()
    execute.run(assemble(text, "test", constants).words(), after, lanes)
    return after


def mapped(statement: str, *operands: Words, kind: str) -> Words:
    """What a statement makes of v1, v2, v3 or s1, s2, s3, in v4 or s4, for each element."""
    count = -(-len(operands[0]) // LANES) * LANES
    memory = np.zeros((len(operands) + 1, count), np.uint32)
    memory[:-1, : len(operands[0])] = operands
    suffix, step = (".v", LANES) if kind == "v" else ("", 1)
    loads = [
        f"load{suffix} {kind}{place + 1}, [s10 + {place * count}]" for place in range(len(operands))
    ]
    store = f"store{suffix} {kind}4, [s10 + {len(operands) * count}], s10 += {step}"
    lines = [f"add s11, zero, {count // step}", "loop s11, end", *loads, statement, store]
    after = ran("\n".join([*lines, "end: halt"]), memory.reshape(-1))
    return after.reshape(memory.shape)[-1, : len(operands[0])]


def check(name: str, expected: Words, *operands: Words) -> None:
    """As an instruction on vectors and on scalars; scalars run fewer, for time."""
    for kind, suffix in (("v", ".v"), ("s", "")):
        places = ", ".join(f"{kind}{place + 1}" for place in range(len(operands)))
        result = mapped(f"{name}{suffix} {kind}4, {places}", *operands, kind=kind)
        assert np.array_equal(result, expected), kind


def pairs() -> tuple[Words, Words]:
    named = np.stack(crossed(corners(FLOAT32)))
    random = np.stack(random_pairs(FLOAT32, 40_000, fresh_rng()))
    left, right = np.concatenate([named, random], axis=1).astype(np.uint32)
    return left, right


def golden(operation: Operation, left: Words, right: Words) -> Words:
    numbers = arithmetic("float32")
    return numbers.words(numbers.apply(operation, numbers.numbers(left), numbers.numbers(right)))


@pytest.mark.parametrize(
    "name, operation",
    [
        ("fadd", Operation.ADD),
        ("fsub", Operation.SUB),
        ("fmul", Operation.MUL),
        ("fmin", Operation.MIN),
        ("fmax", Operation.MAX),
    ],
)
def test_floating_point(name: str, operation: Operation) -> None:
    left, right = pairs()
    check(name, golden(operation, left, right), left, right)


def test_quotients_and_roots() -> None:
    left, right = pairs()
    check("fdiv", divide(left, right, "float32"), left, right)
    check("fsqrt", square_root(left, "float32"), left)


def test_products_are_rounded_before_they_are_added() -> None:
    left, right = pairs()
    product = golden(Operation.MUL, left, right)
    # Close to what is taken away, so that little but the product's rounding is left.
    addend = product ^ np.uint32(1 << 31)
    addend[::2] = np.roll(left, 5)[::2]
    expected = golden(Operation.ADD, product, addend)
    with np.errstate(all="ignore"):
        wide = [part.view(np.float32).astype(np.float64) for part in (left, right, addend)]
        fused = (wide[0] * wide[1] + wide[2]).astype(np.float32).view(np.uint32)
    assert np.count_nonzero(fused != expected) > 1000
    check("fmul_add", expected, left, right, addend)


def test_signs_are_taken_away_from_nans_too() -> None:
    words = corners(FLOAT32).astype(np.uint32)
    check("fabs", words & np.uint32(0x7FFF_FFFF), words)


@pytest.mark.parametrize(
    "name, compares",
    [("fless", np.less), ("fless_equal", np.less_equal), ("fequal", np.equal)],
)
def test_comparisons(name: str, compares: Callable[..., Words]) -> None:
    """Masks by what they select, 1 and 0 as scalars."""
    left, right = pairs()
    expected = compares(left.view(np.float32), right.view(np.float32))
    chosen = mapped(f"{name}.v m2, v1, v2\nselect.v v4, v1, v2, m2", left, right, kind="v")
    assert np.array_equal(chosen, np.where(expected, left, right))
    assert np.array_equal(mapped(f"{name} s4, s1, s2", left, right, kind="s"), expected)


WHOLE = np.array(
    [0, 1, 2, 5, 31, 32, 33, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, 0xFFFF_FFFE, 0xFFFF_FFFF],
    np.uint32,
)


def signed(word: int) -> int:
    return word - (word >> 31 << 32)


@pytest.mark.parametrize(
    "name, means",
    [
        ("add", lambda a, b: a + b),
        ("sub", lambda a, b: a - b),
        ("mul", lambda a, b: a * b),
        ("and", lambda a, b: a & b),
        ("or", lambda a, b: a | b),
        ("xor", lambda a, b: a ^ b),
        ("shift_left", lambda a, b: a << b % 32),
        ("shift_right", lambda a, b: a >> b % 32),
        ("min", min),
        ("max", max),
        ("less", lambda a, b: a < b),
    ],
)
def test_integers(name: str, means: Callable[[int, int], int]) -> None:
    words = np.concatenate([WHOLE, fresh_rng().integers(0, 1 << 32, 30, np.uint32)])
    left, right = crossed(words)
    expected = [
        means(signed(a), signed(b)) & 0xFFFF_FFFF
        for a, b in zip(left.tolist(), right.tolist(), strict=True)
    ]
    check(name, np.array(expected, np.uint32), left, right)


def test_integers_become_floating_point() -> None:
    """To nearest even: beyond 24 bits, halves go to the even side."""
    ties = np.array([(1 << 24) + 1, (1 << 24) + 3, (1 << 25) + 2, (1 << 25) + 3], np.uint32)
    random = fresh_rng().integers(0, 1 << 32, 1000, np.uint32)
    words = np.concatenate([WHOLE, ties, -ties, random])
    exact = words.view(np.int32).astype(np.float64)
    check("to_float", exact.astype(np.float32).view(np.uint32), words)
    result = mapped("to_float s4, s1", ties, kind="s").view(np.float32)
    assert result.tolist() == [1 << 24, (1 << 24) + 4, (1 << 25), (1 << 25) + 4]


REDUCTIONS = {
    "reduce_add": (Operation.ADD, 0),
    "reduce_max": (Operation.MAX, FLOAT32.infinity | 1 << 31),
    "reduce_min": (Operation.MIN, FLOAT32.infinity),
}


def tree(operation: Operation, words: Words) -> int:
    if len(words) == 1:
        return int(words[0])
    half = len(words) // 2
    return tree(operation, golden(operation, words[:half], words[half:]))


@pytest.mark.parametrize("lanes", [2, 4, 16])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_are_a_tree(name: str, lanes: int) -> None:
    operation, neutral = REDUCTIONS[name]
    rng = fresh_rng()
    for mask in [(1 << lanes) - 1, 0, 1, *rng.integers(0, 1 << lanes, 5).tolist()]:
        words = rng.normal(size=lanes).astype(np.float32).view(np.uint32)
        words[rng.integers(lanes)] = rng.choice(corners(FLOAT32))
        memory = np.append(words, 0).astype(np.uint32)
        text = f"load.v v1, [0]\nlanes m1, {mask}\n{name}.v s1, v1, m1\nstore s1, [LANES]\nhalt"
        used = np.array([mask >> lane & 1 for lane in range(lanes)])
        left = np.where(used, words, np.uint32(neutral)).astype(np.uint32)
        assert ran(text, memory, lanes, LANES=lanes)[-1] == tree(operation, left)


def test_a_sum_without_lanes_is_plus_zero() -> None:
    memory = np.full(9, 1 << 31, np.uint32)
    text = "load.v v1, [0]\nlanes m1, zero\nreduce_add.v s1, v1, m1\nstore s1, [8]\nhalt"
    assert ran(text, memory)[8] == 0

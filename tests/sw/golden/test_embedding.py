"""The golden model of embedding layers, against plain loops and float32 sums of many orders."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gnarl.sw.golden import embedding
from gnarl.sw.golden.embedding import bound, embedding_bags, exact_in_any_order, pool, pool_float64
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from gnarl.sw.workloads.embedding.model import (
    INDEX_TYPES,
    TABLE_TYPES,
    EmbeddingModel,
    Feature,
    FeatureInputs,
    PoolingFactors,
)
from gnarl.sw.workloads.embedding.rowwise import ROWWISE_FORMATS, RowwiseTable, quantise

F32 = np.float32


@dataclass
class Case:
    table: np.ndarray
    indices: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray | None
    pooling: str = "sum"
    output_type: str = "float32"

    @property
    def lookup(self) -> tuple[np.ndarray, FeatureInputs, str]:
        return self.table, FeatureInputs(self.indices, self.offsets, self.weights), self.pooling

    def terms(self, sample: int, column: int) -> tuple[list[float], list[float]]:
        """Elements of one bag's rows in a column, and their weights."""
        positions = range(int(self.offsets[sample]), int(self.offsets[sample + 1]))
        elements = [float(self.table[int(self.indices[at]), column]) for at in positions]
        if self.weights is None:
            return elements, [1.0] * len(elements)
        return elements, [float(self.weights[at]) for at in positions]


def case(
    rows: list[float],
    bags: list[list[int]],
    weights: list[float] | None = None,
    pooling: str = "sum",
    output_type: str = "float32",
) -> Case:
    """A table of one column."""
    return Case(
        np.array(rows, F32)[:, None],
        np.array([index for bag in bags for index in bag], np.int64),
        np.cumsum([0, *map(len, bags)]),
        None if weights is None else np.array(weights, F32),
        pooling,
        output_type,
    )


def elements(kind: str) -> Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]:
    """Numbers that are easy or hard to add in float32."""
    return {
        "steps": lambda rng, shape: rng.integers(-32, 33, shape) / 32,
        "normal": lambda rng, shape: rng.normal(size=shape),
        "far apart": lambda rng, shape: (
            rng.normal(size=shape) * 2.0 ** rng.integers(-30, 30, shape)
        ),
        "cancelling": lambda rng, shape: (
            np.where(rng.random(shape) < 0.5, -1, 1) * (1 + rng.random(shape) * 2.0**-10)
        ),
        "tiny": lambda rng, shape: rng.normal(size=shape) * 2.0**-140,
        "subnormal": lambda rng, shape: rng.integers(-9, 10, shape) * 2.0**-149,
        "mixed": lambda rng, shape: rng.choice([1.0, 2.0**24, 2.0**-24, -1.0, 0, 3], shape),
    }[kind]


KINDS = ["steps", "normal", "far apart", "cancelling", "tiny", "subnormal", "mixed"]


@st.composite
def cases(draw: st.DrawFn, poolings: tuple[str, ...] = ("sum", "mean", "max")) -> Case:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    lengths = draw(st.lists(st.one_of(st.integers(0, 3), st.integers(0, 40)), max_size=8))
    rows, dim = draw(st.integers(1, 30)), draw(st.integers(1, 5))
    pooling = draw(st.sampled_from(poolings))
    table = elements(draw(st.sampled_from(KINDS)))(rng, (rows, dim))
    type = INDEX_TYPES[draw(st.sampled_from(sorted(INDEX_TYPES)))]
    weights = None
    if pooling != "max" and draw(st.booleans()):
        weights = elements(draw(st.sampled_from(KINDS)))(rng, (sum(lengths),)).astype(F32)
    with np.errstate(over="ignore"):
        typed = table.astype(TABLE_TYPES[draw(st.sampled_from(sorted(TABLE_TYPES)))])
    return Case(
        # float16 has no larger numbers.
        np.where(np.isfinite(typed), typed, typed.dtype.type(1)),
        rng.integers(0, rows, sum(lengths)).astype(type),
        np.cumsum([0, *lengths]).astype(type),
        weights,
        pooling,
        draw(st.sampled_from(sorted(TABLE_TYPES))),
    )


def one_by_one(given: Case) -> np.ndarray:
    """The definition, one number after the other."""
    batch, dim = len(given.offsets) - 1, given.table.shape[1]
    outputs = np.zeros((batch, dim), TABLE_TYPES[given.output_type])
    for sample in range(batch):
        for column in range(dim):
            numbers, weights = given.terms(sample, column)
            if given.pooling == "max":
                total = F32(max(numbers, default=0.0))
            else:
                exact = 0.0
                for number, weight in zip(numbers, weights, strict=True):
                    exact += number * weight
                total = F32(exact)
            if given.pooling == "mean" and numbers:
                total = total / F32(len(numbers))
            with np.errstate(over="ignore"):
                outputs[sample, column] = total
    return outputs


def kernel(given: Case, rng: np.random.Generator, fused: bool) -> np.ndarray:
    """A kernel that adds in float32 in a random order: partial sums of random shape.

    Fused operations are rounded twice, by float64 first.
    """
    batch, dim = len(given.offsets) - 1, given.table.shape[1]
    outputs = np.zeros((batch, dim), TABLE_TYPES[given.output_type])
    for sample in range(batch):
        for column in range(dim):
            numbers, weights = given.terms(sample, column)
            order = rng.permutation(len(numbers))
            parts = [F32(0)] * int(rng.integers(1, 6))
            for at in order.tolist():
                part = int(rng.integers(len(parts)))
                if fused:
                    parts[part] = F32(weights[at] * numbers[at] + float(parts[part]))
                else:
                    parts[part] = parts[part] + F32(weights[at]) * F32(numbers[at])
            while len(parts) > 1:
                one = parts.pop(int(rng.integers(len(parts))))
                other = parts.pop(int(rng.integers(len(parts))))
                parts.append(one + other)
            total = parts[0]
            if given.pooling == "mean" and numbers:
                total = total / F32(len(numbers))
            outputs[sample, column] = total
    return outputs


# By hand.


def test_sums_means_and_maxima() -> None:
    rows, bags = [1.0, 2.0, 4.0, -3.0], [[1, 2], [], [3, 3, 0, 0], [3]]
    assert pool(*case(rows, bags).lookup, "float32").ravel().tolist() == [6, 0, -4, -3]
    mean = case(rows, bags, pooling="mean")
    assert pool(*mean.lookup, "float32").ravel().tolist() == [3, 0, -1, -3]
    largest = case(rows, bags, pooling="max")
    assert pool(*largest.lookup, "float32").ravel().tolist() == [4, 0, 1, -3]
    weights = [0.5, 2.0, 1.0, 1.0, 0.25, 0.25, -1.0]
    assert pool(*case(rows, bags, weights).lookup, "float32").ravel().tolist() == [9, 0, -5.5, 3]


def test_in_float64_nothing_is_rounded() -> None:
    one, other = float(F32(0.1)), float(F32(0.2))
    for pooling, expected in (("sum", one + other), ("mean", (one + other) / 2), ("max", other)):
        given = case([0.1, 0.2], [[0, 1], []], pooling=pooling)
        assert pool_float64(*given.lookup).ravel().tolist() == [expected, 0.0]


def test_a_weighted_mean_is_divided_by_the_number_of_indices() -> None:
    given = case([3.0], [[0, 0]], [4.0, 2.0], "mean")
    assert pool(*given.lookup, "float32") == 9


def test_sums_are_rounded_once() -> None:
    given = case([2.0**24, 1.0], [[0, 1, 1], [1, 0, 1], [0, 1]])
    assert pool(*given.lookup, "float32").ravel().tolist() == [2.0**24 + 2, 2.0**24 + 2, 2.0**24]


def test_means_are_quotients_of_float32() -> None:
    # A fifth of 2^24 + 1 would be 3355443.4, rounded 3355443.5; but the sum is rounded to 2^24.
    given = case([2.0**24, 1.0, 0.0], [[0, 1, 2, 2, 2]], pooling="mean")
    assert pool(*given.lookup, "float32") == 3355443.25


def test_outputs_are_rounded_to_nearest_even_from_float32() -> None:
    # 2049 is between two float16 numbers; a little more than that is float32's 2049 all the same.
    given = case([2049.0, 2051.0, 2.0**-20], [[0], [1], [0, 2]])
    halves = pool(*given.lookup, "float16")
    assert halves.dtype == np.float16
    assert halves.ravel().tolist() == [2048, 2052, 2048]
    brains = pool(*case([257.0, 259.0], [[0], [1]]).lookup, "bfloat16")
    assert brains.dtype == ml_dtypes.bfloat16
    assert brains.ravel().tolist() == [256, 260]


def test_outputs_may_overflow() -> None:
    given = case([65519.0, 65520.0, -3e38], [[0], [1], [2, 2]])
    assert pool(*given.lookup, "float16").ravel().tolist() == [65504, math.inf, -math.inf]
    assert pool(*given.lookup, "float32")[2] == -math.inf


@pytest.mark.parametrize("pooling", ["sum", "mean", "max"])
@pytest.mark.parametrize("bags", [[], [[]], [[], [], []], [[], [0], []], [[0], [], [], [0]]])
def test_empty_bags_give_zeroes(pooling: str, bags: list[list[int]]) -> None:
    given = case([-7.0], bags, pooling=pooling)
    outputs = pool(*given.lookup, "float32")
    assert outputs.shape == (len(bags), 1)
    assert outputs.ravel().tolist() == [-7.0 if bag else 0.0 for bag in bags]
    assert bound(*given.lookup, "float32").tolist() == np.zeros((len(bags), 1)).tolist()
    assert exact_in_any_order(*given.lookup)


def test_a_model_at_once() -> None:
    factors = PoolingFactors(5, 3, coverage=0.7)
    model = EmbeddingModel(
        "m",
        (
            Feature("a", 30, 4, "mean", "float16", "bfloat16", factors=factors),
            Feature("b", 50, 3, "max", index_type="int32", factors=factors),
            Feature("c", 20, 7, weighted=True, factors=factors),
        ),
    )
    tables, batch = synthesise_tables(model), synthesise_batch(model, 20)
    outputs = embedding_bags(model, tables, batch)
    for feature, table, inputs, output in zip(
        model.features, tables, batch.features, outputs, strict=True
    ):
        given = Case(
            table,
            inputs.indices,
            inputs.offsets,
            inputs.weights,
            feature.pooling,
            feature.output_type,
        )
        expected = one_by_one(given)
        assert output.dtype == expected.dtype
        assert output.tobytes() == expected.tobytes()


# Against the definition.


@given(cases())
def test_as_defined(given: Case) -> None:
    expected = one_by_one(given)
    outputs = pool(*given.lookup, given.output_type)
    assert outputs.dtype == expected.dtype
    np.testing.assert_array_equal(outputs, expected)


@settings(max_examples=30)
@given(cases(), st.integers(1, 50), st.integers(1, 90))
def test_as_defined_piece_by_piece(given: Case, lookups: int, numbers: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedding, "_LOOKUPS", lookups)
        patch.setattr(embedding, "_ELEMENTS", numbers)
        np.testing.assert_array_equal(pool(*given.lookup, given.output_type), one_by_one(given))


@given(cases(), st.integers(0, 2**32 - 1))
def test_the_order_of_indices_hardly_matters(given: Case, seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = np.arange(len(given.indices))
    for begin, end in zip(given.offsets[:-1], given.offsets[1:], strict=True):
        rng.shuffle(order[begin:end])
    weights = None if given.weights is None else given.weights[order]
    outputs = pool(*given.lookup, given.output_type).astype(np.float64)
    other = pool(
        given.table,
        FeatureInputs(given.indices[order], given.offsets, weights),
        given.pooling,
        given.output_type,
    ).astype(np.float64)
    if exact_in_any_order(*given.lookup):
        np.testing.assert_array_equal(outputs, other)
    limit = bound(*given.lookup, given.output_type)
    with np.errstate(invalid="ignore"):
        assert ((outputs == other) | (np.abs(outputs - other) <= limit)).all()


# How far a kernel may be off.


def test_the_bound_by_hand() -> None:
    # Three ones need two additions: 3 γ_2, some more than 2^-24 · 6, within a float32 of 3.
    given = case([1.0], [[0, 0, 0], [0], []])
    assert bound(*given.lookup, "float32").ravel().tolist() == [2 * 2.0**-22, 0.0, 0.0]
    # float16 has its next numbers 2^-9 away: no sum so near to 3 is rounded to them.
    assert bound(*given.lookup, "float16").ravel().tolist() == [0.0, 0.0, 0.0]
    # A single term is what it is, also in the middle of two of them; a sum there is not.
    single = case([2049.0], [[0]])
    assert bound(*single.lookup, "float16").ravel().tolist() == [0.0]
    middle = case([1.0, 2048.0], [[0, 1]])
    assert bound(*middle.lookup, "float16").ravel().tolist() == [2.0]


def test_a_product_is_rounded_too() -> None:
    given = case([1 + 2.0**-23], [[0]], [1 + 2.0**-23])
    assert 0 < bound(*given.lookup, "float32")[0, 0] <= 2.0**-22


def test_what_cancels_is_off_by_its_magnitudes() -> None:
    given = case([1e8, 1.0, -1e8], [[0, 1, 2]])
    off = bound(*given.lookup, "float32")[0, 0]
    assert 2 * 2.0**-24 * 2e8 < off < 2.01 * 2.0**-24 * 2e8
    assert (F32(1e8) + F32(1.0)) + F32(-1e8) == 0.0


def test_partial_sums_may_overflow() -> None:
    given = case([3e38, -3e38], [[0, 0, 1, 1], [0]])
    assert bound(*given.lookup, "float32").ravel().tolist() == [math.inf, 0.0]


def test_maxima_are_never_off() -> None:
    given = case([1e8, 0.1], [[0, 1]], pooling="max")
    assert bound(*given.lookup, "float16").tolist() == [[0.0]]


@settings(max_examples=150)
@given(cases(("sum", "mean")), st.booleans(), st.integers(0, 2**32 - 1))
def test_kernels_are_within_the_bound(given: Case, fused: bool, seed: int) -> None:
    golden = pool(*given.lookup, given.output_type).astype(np.float64)
    limit = bound(*given.lookup, given.output_type)
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        outputs = kernel(given, rng, fused).astype(np.float64)
        assert ((outputs == golden) | (np.abs(outputs - golden) <= limit)).all()
    if exact_in_any_order(*given.lookup):
        np.testing.assert_array_equal(outputs, golden)


def test_the_bound_is_no_larger_than_it_must_be() -> None:
    """Ones onto 2^24 are lost one by one: each addition is as wrong as it can be."""
    count = 1000
    given = case([2.0**24, 1.0], [[0] + [1] * count])
    total = F32(2.0**24)
    for _ in range(count):
        total = total + F32(1)
    off = float(pool(*given.lookup, "float32")[0, 0]) - float(total)
    assert off == count
    assert count <= bound(*given.lookup, "float32")[0, 0] <= count + 2


# Which sums have no choice.


@pytest.mark.parametrize(
    ("rows", "bags", "weights", "exact"),
    [
        # Up to 2^24 quarters, all partial sums are float32 numbers; not with one more.
        ([0.25, 2.0**21], [[0], [1, 1]], None, True),
        ([0.25, 2.0**21], [[0, 1, 1]], None, False),
        ([0.25, -(2.0**22)], [[1]], None, True),
        ([0.125, -(2.0**22)], [[1], [0]], None, False),
        # 3/4 · 3/4 is a multiple of 1/16, whatever the row; 0.1 is of 2^-27, its square of less.
        ([0.75, 2.0**19], [[0], [1]], [0.75, 0.75], True),
        ([0.75, 2.0**21], [[0], [1]], [0.75, 0.75], False),
        ([0.1], [[0]], None, True),
        ([0.1], [[0]], [0.1], False),
        # Rows that are not looked up say nothing.
        ([1.0, 0.1, 2.0**20], [[0, 2]], None, True),
        ([1.0, 0.1, 2.0**20], [[0, 2], [1]], None, False),
        # Zeroes are multiples of everything.
        ([0.0], [[0] * 9], None, True),
        ([0.0, 1.0], [[0], [1]], [9.0, 0.0], True),
        # Subnormal numbers add up exactly; products below them are lost.
        ([2.0**-149, 2.0**-140], [[0, 1, 1]], None, True),
        ([2.0**-149], [[0]], [0.5], False),
        ([0.5], [[0]], [2.0**-149], False),
        ([0.5], [[0]], [2.0**-148], True),
        ([2.0**-100], [[0]], [2.0**-100], False),
        # Nothing is claimed of sums that may overflow, or of no numbers.
        ([2.0**127], [[0]], None, False),
        ([math.inf], [[0]], None, False),
        ([math.nan, 1.0], [[0, 1]], None, False),
        ([0.0, 1.0], [[0], [1]], [math.inf, 1.0], False),
        # Neither by what is small beside a step, nor at the ends of the range.
        ([2.0**-149, 2.0**100], [[0, 1]], None, False),
    ],
)
def test_exact_in_any_order(
    rows: list[float], bags: list[list[int]], weights: list[float] | None, exact: bool
) -> None:
    assert exact_in_any_order(*case(rows, bags, weights).lookup) is exact


def test_maxima_are_exact() -> None:
    assert exact_in_any_order(*case([0.1, 1e30], [[0, 1]], pooling="max").lookup)


@settings(max_examples=150)
@example(-149, 0, -149, 24, [1, 2**24 - 1], 0)
@example(-149, 1, 0, 1, [1], 0)
@given(
    st.integers(-149, 80),
    st.integers(0, 24),
    st.integers(-40, 20),
    st.integers(0, 8),
    st.lists(st.integers(-(2**24), 2**24), min_size=1, max_size=20),
    st.integers(0, 2**32 - 1),
)
def test_exactness_is_never_claimed_falsely(
    step: int, bits: int, weight_step: int, weight_bits: int, numbers: list[int], seed: int
) -> None:
    """Terms near the border: multiples of a power of two, with so many bits."""
    rng = np.random.default_rng(seed)
    rows = [math.ldexp(number % (1 << bits), step) for number in numbers]
    factors = rng.integers(0, 1 << weight_bits, len(rows)).tolist()
    weights = [math.ldexp(factor, weight_step) for factor in factors] if weight_bits else None
    given = case(rows, [list(range(len(rows)))], weights)
    if not exact_in_any_order(*given.lookup):
        return
    terms = [
        Fraction(float(F32(row))) * (Fraction(weights[at]) if weights else 1)
        for at, row in enumerate(rows)
    ]
    for _ in range(5):
        exact = Fraction(0)
        for at in rng.permutation(len(terms)).tolist():
            exact += terms[at]
            assert Fraction(float(F32(float(exact)))) == exact
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(kernel(given, rng, False), pool(*given.lookup, "float32"))


@given(cases(), st.sampled_from(sorted(ROWWISE_FORMATS)))
def test_quantised_tables_are_tables_of_their_elements(given: Case, type: str) -> None:
    format, (_, inputs, pooling) = ROWWISE_FORMATS[type], given.lookup
    table = np.repeat(given.table.astype(F32), 2, axis=1)
    quantised = RowwiseTable(quantise(table, type), table.shape[1], format)
    for function in (pool, bound):
        found, wanted = (
            function(each, inputs, pooling, given.output_type) for each in (quantised, quantised[:])
        )
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("table_type", [*sorted(TABLE_TYPES), *ROWWISE_FORMATS])
@pytest.mark.parametrize("weighted", [False, True])
def test_synthesised_sums_are_exact(table_type: str, weighted: bool) -> None:
    factors = PoolingFactors(2000, 1000)
    feature = Feature("a", 500, 8, table_type=table_type, weighted=weighted, factors=factors)
    model = EmbeddingModel("m", (feature,))
    (table,), batch = synthesise_tables(model), synthesise_batch(model, 9)
    (inputs,) = batch.features
    assert exact_in_any_order(feature.elements(table), inputs, "sum")

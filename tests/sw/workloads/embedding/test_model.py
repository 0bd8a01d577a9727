"""Descriptions of embedding layers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.embedding.model import (
    EmbeddingModel,
    Feature,
    FeatureKind,
    PoolingFactors,
)
from tests.support.errors import refused

FEATURE = Feature("a", 9, 4)


def test_what_code_depends_on() -> None:
    feature = Feature("a", 9, 4, "mean", "float16", "bfloat16", "int32", True)
    assert feature.kind == FeatureKind(4, "mean", "float16", "bfloat16", True)


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("rows", 0, "must be a whole number from 1 to 2147483647"),
        ("rows", 2**31, "must be a whole number from 1 to 2147483647"),
        ("rows", 9.0, "must be a whole number from 1 to 2147483647"),
        ("dim", True, "must be a whole number from 1 to 4096"),
        ("dim", 4097, "must be a whole number from 1 to 4096"),
        ("pooling", "median", "must be one of sum, mean, max"),
        (
            "table_type",
            "float64",
            "must be one of float32, float16, bfloat16, int8_rowwise, int4_rowwise, fp8_rowwise",
        ),
        ("output_type", ["float32"], "must be one of float32, float16, bfloat16"),
        ("output_type", "int8_rowwise", "must be one of float32, float16, bfloat16"),
        ("index_type", "uint32", "must be one of int32, int64"),
        ("weighted", 1, "must be true or false"),
        ("factors", 7, "must be PoolingFactors"),
    ],
)
def test_refused_fields(field: str, value: Any, allowed: str) -> None:
    with refused(f"feature a: {field} = {value!r}: {allowed}"):
        replace(FEATURE, **{field: value})


def test_maxima_have_no_weights() -> None:
    with refused(
        "feature a: weighted = True: must be false with pooling max, weights are factors of sums"
    ):
        replace(FEATURE, weighted=True, pooling="max")


def test_rows_of_four_bit_codes_are_whole_bytes() -> None:
    with refused("feature a: dim = 3: must be even with table_type int4_rowwise"):
        replace(FEATURE, dim=3, table_type="int4_rowwise")


@pytest.mark.parametrize(
    ("table_type", "shape", "dtype"),
    [
        ("float32", (9, 4), np.float32),
        ("bfloat16", (9, 4), "bfloat16"),
        ("int8_rowwise", (9, 16), np.uint8),
    ],
)
def test_arrays_of_tables(table_type: str, shape: tuple[int, int], dtype: Any) -> None:
    feature = replace(FEATURE, table_type=table_type)
    assert (feature.table_shape, feature.table_dtype) == (shape, np.dtype(dtype))
    assert feature.elements(np.zeros(shape, dtype)).shape == (9, 4)


@pytest.mark.parametrize("name", ["", "a\nb", 7])
def test_names_are_printable(name: Any) -> None:
    with pytest.raises(WorkloadError) as error:
        replace(FEATURE, name=name)
    assert str(error.value) == f"feature {name!r}: must be named by printable characters"


@pytest.mark.parametrize(
    ("factors", "violation"),
    [
        (PoolingFactors(mean=-1), "mean = -1: must be a number from 0 to 1048576"),
        (PoolingFactors(mean="5"), "mean = '5': must be a number from 0 to 1048576"),  # type: ignore[arg-type]
        (PoolingFactors(std=math.nan), "std = nan: must be a number from 0 to 1048576"),
        (PoolingFactors(coverage=1.5), "coverage = 1.5: must be a number from 0 to 1"),
        (PoolingFactors(coverage=True), "coverage = True: must be a number from 0 to 1"),
        (
            PoolingFactors(5, 1, maximum=5.0),  # type: ignore[arg-type]
            "maximum = 5.0: must be a whole number from 1 to 1048576",
        ),
        (PoolingFactors(2.5), "mean = 2.5: must be a whole number, since std is 0"),
        (
            PoolingFactors(5, 0, maximum=4),
            "mean = 5: must be a whole number, at most maximum = 4, since std is 0",
        ),
        (
            PoolingFactors(64.5, 2, maximum=4),
            "mean = 64.5: must be at most 30 standard deviations above maximum = 4",
        ),
    ],
)
def test_refused_pooling_factors(factors: PoolingFactors, violation: str) -> None:
    assert factors.violation() == violation
    with refused(f"feature a: factors.{violation}"):
        replace(FEATURE, factors=factors)


@pytest.mark.parametrize(
    "factors",
    [PoolingFactors(0), PoolingFactors(np.float64(5)), PoolingFactors(64, 2, maximum=4)],
)
def test_pooling_factors_at_their_limits(factors: PoolingFactors) -> None:
    assert replace(FEATURE, factors=factors).factors is factors


def test_limits_of_pooling_factors() -> None:
    assert PoolingFactors(5, 2, maximum=9).limit == 9
    assert PoolingFactors(5, 2.25).limit == 28
    assert PoolingFactors(0, 0).limit == 1


def test_models_have_features_of_different_names() -> None:
    with refused("model m: has no features"):
        EmbeddingModel("m", ())
    with refused("model m: two features are named a"):
        EmbeddingModel("m", (FEATURE, replace(FEATURE, name="b"), FEATURE))
    with refused("model m: features[1] is str: must be a Feature"):
        EmbeddingModel("m", (FEATURE, "b"))  # type: ignore[arg-type]
    with refused("model m: features must be a list"):
        EmbeddingModel("m", FEATURE)  # type: ignore[arg-type]


def test_features_may_be_a_list() -> None:
    model = EmbeddingModel("m", [FEATURE])  # type: ignore[arg-type]
    assert model == EmbeddingModel("m", (FEATURE,))
    assert hash(model) == hash(EmbeddingModel("m", (FEATURE,)))


def test_the_digest_is_that_of_the_features() -> None:
    def digest(**fields: Any) -> str:
        return EmbeddingModel("m", (replace(FEATURE, **fields),)).digest

    assert digest() == EmbeddingModel("another", (FEATURE,)).digest
    assert digest(factors=PoolingFactors(2)) == digest()
    others = [
        digest(rows=8),
        digest(dim=8),
        digest(pooling="max"),
        digest(table_type="float16"),
        digest(output_type="float16"),
        digest(index_type="int32"),
        digest(weighted=True),
    ]
    assert len({digest(), *others}) == 1 + len(others)
    # Files of schedules carry it, so it stays.
    assert digest().startswith("92d7df3daf990c0f")

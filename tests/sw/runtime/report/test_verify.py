"""Results beside the golden model's and float64's: dense, sparse and labelled."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from gnarl.sw.program.tensor_spec import Array, Labelled, Sparse, Storage, TensorSpec, labels_of
from gnarl.sw.runtime.report.tally import Counted
from gnarl.sw.runtime.report.verify import Verification, compare, compare_closely
from gnarl.sw.workloads.tensor.tensor import Tensor

SPARSE = Sparse(("compressed", "compressed"), (0, 1))
HUGE = 2**62


def verified(
    spec: TensorSpec, found: Array, golden: Array, reference: Array | None = None
) -> Verification:
    wanted = golden if reference is None else reference
    return compare([spec], {"x": found}, {"x": golden}, {"x": wanted})


def dense(values: object, type: str = "float32") -> np.ndarray:
    return np.array(values, TensorSpec("x", (), type).dtype)


def spec(array: Array, type: str = "float32", storage: Storage | None = None) -> TensorSpec:
    shape = tuple(array.shape)
    return (
        TensorSpec("x", shape, type) if storage is None else TensorSpec("x", shape, type, storage)
    )


def tensor(shape: tuple[int, ...], entries: dict[tuple[int, ...], float]) -> Tensor:
    places = np.array(sorted(entries), np.int64).reshape(len(entries), len(shape))
    values = np.array([entries[tuple(place)] for place in places.tolist()], np.float32)
    return Tensor(shape, places, values)


def test_equal_bits_are_exact() -> None:
    values = dense([[0.5, np.inf], [np.nan, -1.0]])
    found = verified(spec(values), values, values.copy())
    assert (found.bit_exact, found.difference, found.max_rel_error) == (True, "", 0.0)
    assert found.not_finite == Counted(2, 4, "x[0,1] = inf, in float64 inf")
    assert found.lost is None


def test_the_error_is_float64s() -> None:
    values = dense([0.5, 2.0])
    found = verified(spec(values), values, values, np.array([0.5, 4.0]))
    assert found == Verification(True, "", 0.5)


def test_the_first_difference_of_a_dense_tensor_is_named() -> None:
    golden = dense([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    found = golden.copy()
    found[1, 0], found[1, 2] = -4.0, 7.0
    assert verified(spec(golden), found, golden).difference == (
        "2 of 6 outputs differ; the first is x[1,0]: 0xc0800000, must be 0x40800000"
    )


def test_a_scalar_has_its_own_name() -> None:
    assert verified(spec(dense(1.0)), dense(1.0), dense(2.0)).difference == (
        "1 of 1 outputs differ; the first is x: 0x3f800000, must be 0x40000000"
    )


@pytest.mark.parametrize(
    ("type", "found", "golden"),
    [
        ("uint8", "0x01", "0x02"),
        ("int64", "0x0000000000000001", "0x0000000000000002"),
        ("float16", "0x3c00", "0x4000"),
        ("bfloat16", "0x3f80", "0x4000"),
        ("float64", "0x3ff0000000000000", "0x4000000000000000"),
    ],
)
def test_bits_of_any_type(type: str, found: str, golden: str) -> None:
    one, two = dense([1], type), dense([2], type)
    assert verified(spec(one, type), one, two).difference == (
        f"1 of 1 outputs differ; the first is x[0]: {found}, must be {golden}"
    )


def test_labelled_outputs_are_called_by_label_and_have_two_zeros() -> None:
    golden = dense([0.0, 1.0])
    found = dense([-0.0, 1.0])
    labelled = spec(golden, storage=Labelled(labels_of(["größe", "b"])))
    assert verified(labelled, golden, golden).bit_exact
    result = verified(labelled, found, golden)
    assert not result.bit_exact
    assert result.max_rel_error == 0.0
    assert result.difference == (
        "1 of 2 outputs differ; the first is größe: 0x80000000, must be 0x00000000"
    )


def test_nan_of_other_bits_differs() -> None:
    one = np.array([0x7FC00000], np.uint32).view(np.float32)
    other = np.array([0x7FC00001], np.uint32).view(np.float32)
    result = verified(spec(one), other, one)
    assert not result.bit_exact
    assert np.isnan(result.max_rel_error)


def test_zeros_of_a_sparse_tensor_may_be_absent_or_of_either_sign() -> None:
    one = tensor((3, 4), {(0, 1): 2.0, (2, 3): -0.0})
    other = tensor((3, 4), {(0, 0): 0.0, (0, 1): 2.0})
    assert verified(spec(one, storage=SPARSE), one, other) == Verification(True, "", 0.0)


def test_entries_that_are_missing_or_too_many_differ() -> None:
    one = tensor((3, 4), {(0, 1): 2.0, (2, 3): 1.0})
    other = tensor((3, 4), {(0, 1): 2.0, (1, 2): 4.0})
    assert verified(spec(one, storage=SPARSE), one, other).difference == (
        "2 of 3 outputs differ; the first is x[1,2]: 0x00000000, must be 0x40800000"
    )
    assert verified(spec(one, storage=SPARSE), other, one).max_rel_error == np.inf


def test_sparse_beside_dense() -> None:
    found = tensor((2, 2), {(0, 1): 2.0})
    assert verified(spec(found, storage=SPARSE), found, dense([[0, 2], [0, 0]])).bit_exact
    assert verified(spec(found, storage=SPARSE), found, dense([[0, 2], [0, 3]])).difference == (
        "1 of 4 outputs differ; the first is x[1,1]: 0x00000000, must be 0x40400000"
    )


def test_places_beyond_64_bits() -> None:
    shape = (HUGE, HUGE, 3)
    one = tensor(shape, {(0, 1, 2): 1.0, (HUGE - 1, HUGE - 1, 2): 2.0})
    other = tensor(shape, {(0, 1, 2): 1.0, (HUGE - 1, HUGE - 1, 1): 2.0})
    storage = Sparse(("compressed",) * 3, (0, 1, 2))
    assert verified(spec(one, storage=storage), one, one) == Verification(True, "", 0.0)
    assert verified(spec(one, storage=storage), one, other).difference == (
        f"2 of 3 outputs differ; the first is x[{HUGE - 1},{HUGE - 1},1]: 0x00000000, "
        "must be 0x40000000"
    )


def test_lost_entries_of_a_sparse_tensor_have_their_coordinates() -> None:
    found = tensor((3, 4), {(0, 1): 2.0, (2, 0): np.inf})
    exact = tensor((3, 4), {(0, 1): 2.0, (1, 2): 3.0, (2, 0): 1.0})
    result = verified(spec(found, storage=SPARSE), found, found, exact)
    assert result.lost == Counted(2, 3, "x[1,2] = 0, in float64 3")
    assert result.not_finite == Counted(1, 3, "x[2,0] = inf, in float64 1")


def test_lost_outputs_of_several_tensors_and_other_machines() -> None:
    specs = [TensorSpec("a", (2,), "float32"), TensorSpec("b", (), "float32")]
    found = {"a": dense([1, np.nan]), "b": dense(0.0)}
    exact = {"a": np.array([1.0, np.nan]), "b": np.array(1e-60)}
    for result in (
        compare(specs, found, found, exact),
        compare_closely(specs, specs, found, found, exact),
    ):
        assert (result.bit_exact, result.max_rel_error) == (True, 1.0)
        assert result.not_finite == Counted(1, 3, "a[1] = nan, in float64 nan")
        assert result.lost == Counted(1, 3, "b = 0, in float64 1e-60")


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_nothing_is_equal_to_nothing(shape: tuple[int, ...]) -> None:
    empty = np.zeros(shape, np.float32)
    assert verified(spec(empty), empty, empty) == Verification(True, "", 0.0)


def test_all_outputs_count() -> None:
    specs = [TensorSpec("a", (2,), "float32"), TensorSpec("b", (), "uint8")]
    found = {"a": dense([1, 2]), "b": dense(3, "uint8")}
    golden = {"a": dense([1, 2]), "b": dense(4, "uint8")}
    result = compare(specs, found, golden, golden)
    assert result.difference == "1 of 3 outputs differ; the first is b: 0x03, must be 0x04"
    assert result.max_rel_error == 0.25


def test_values_of_ml_dtypes_have_errors() -> None:
    values = np.array([1.0, 3.0], ml_dtypes.bfloat16)
    assert verified(spec(values, "bfloat16"), values, values, np.array([1.0, 4.0])) == (
        Verification(True, "", 0.25)
    )


def close(found: np.ndarray, type: str, golden: np.ndarray, golden_type: str) -> Verification:
    specs = ([spec(found, type)], [spec(golden, golden_type)])
    return compare_closely(*specs, {"x": found}, {"x": golden}, {"x": golden.astype(np.float64)})


@pytest.mark.parametrize(
    ("type", "golden_type", "step"),
    [
        ("float32", "float32", 2.0**-23),
        ("float32", "float16", 2.0**-10),
        ("bfloat16", "float16", 2.0**-7),
        ("float64", "float64", 2.0**-52),
        ("fixed16.8", "fixed16.8", 2.0**-8 / 4),
    ],
)
def test_what_another_machine_adds_up_may_be_64_units_of_the_largest_off(
    type: str, golden_type: str, step: float
) -> None:
    golden = dense([-4.0, 0.0, np.inf, np.nan], golden_type)
    found = dense([-4.0, 0.0, np.inf, np.nan], type)
    assert close(found, type, golden, golden_type).bit_exact == (type == golden_type)
    found = dense([-4.0, 0.5 * 4 * 64 * step, np.inf, np.nan], type)
    assert not close(found, type, golden, golden_type).difference
    assert not close(found, type, golden, golden_type).bit_exact
    found = dense([-4.0, 2 * 4 * 64 * step, np.inf, np.nan], type)
    assert close(found, type, golden, golden_type).difference.startswith(
        f"1 of 4 outputs differ; the first is x[1]: {2 * 4 * 64 * step!r}, must be 0.0 within "
    )


def test_infinities_and_integers_must_be_equal() -> None:
    golden = dense([1.0, np.inf])
    assert close(dense([1.0, -np.inf]), "float32", golden, "float32").difference == (
        "1 of 2 outputs differ; the first is x[1]: -inf, must be inf within 7.6e-06"
    )
    ints = dense([2**60, 5], "int64")
    assert close(ints, "int64", ints, "int64") == Verification(True, "", 0.0)
    assert close(ints + 1, "int64", ints, "int64").difference

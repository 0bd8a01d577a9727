"""A model's tables and one batch of inputs, in a file of a user's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gnarl.hw.lib.errors import WorkloadError, damaged_as, short
from gnarl.hw.lib.formats import range_of
from gnarl.sw.program.npz import EXPANDED, ArrayFileError, Npz
from gnarl.sw.workloads.embedding.data import batch_of, check_batch
from gnarl.sw.workloads.embedding.left_out import without_tails
from gnarl.sw.workloads.embedding.model import (
    INDEX_TYPES,
    Batch,
    EmbeddingModel,
    Feature,
    FeatureInputs,
)
from gnarl.sw.workloads.refusals import refuse_first, refuse_not_finite

PARTS = ("indices", "offsets", "weights", "table")

_WIDEST = 4
"""Bytes of a table's element in a file, at most."""


@dataclass(frozen=True)
class EmbeddingValues:
    """What a file gives: a batch, and the tables of some features by their number.

    ``arrays`` are what they were made of, in the types that they were given in.
    """

    batch: Batch
    tables: dict[int, np.ndarray]
    arrays: Mapping[str, np.ndarray]


def load_values(path: Path, model: EmbeddingModel) -> EmbeddingValues:
    """Reads an ``.npz`` file of arrays ``FEATURE.indices``, ``FEATURE.offsets`` and, for weighted
    features, ``FEATURE.weights`` for every feature, and ``FEATURE.table`` for those that have one.

    Whole numbers of any type are taken as indices and offsets if the feature's type holds them;
    tables are float32, or of the feature's type, and bfloat16 ones may be given as uint16 bits;
    quantised ones are uint8 [rows, row bytes], as ``rowwise.quantise`` makes them. What is past a
    feature's last offset is left out.
    Raises ``WorkloadError`` naming the file and the array.
    """
    with damaged_as(WorkloadError, path):
        try:
            given = values_of(_arrays(path, model), model)
            values = replace(given, batch=without_tails(model, given.batch))
            check_batch(model, values.batch)
            _require_finite(values, model)
        except ArrayFileError as error:
            raise WorkloadError(f"{path}: is not an .npz file of arrays: {error}") from error
        except WorkloadError as error:
            raise WorkloadError(f"{path}: {error}") from error
        except OSError as error:
            raise WorkloadError(f"{path}: {error.strerror}") from error
    return values


def names_in(path: Path, model: EmbeddingModel) -> list[str]:
    """Names of the arrays in a file that ``load_values`` takes."""
    with path.open("rb") as file:
        return _archive(file, model).arrays


def values_of(arrays: Mapping[str, np.ndarray], model: EmbeddingModel) -> EmbeddingValues:
    """Arrays by the names that ``load_values`` reads. Tables of the features' types are not copied.

    Raises ``WorkloadError`` naming the array, but does not check the batch; see ``check_batch``.
    """
    _require_known(arrays, model)
    inputs = [_inputs(feature, arrays) for feature in model.features]
    tables = {
        number: _table(feature, arrays[f"{feature.name}.table"])
        for number, feature in enumerate(model.features)
        if f"{feature.name}.table" in arrays
    }
    return EmbeddingValues(batch_of(model, inputs), tables, arrays)


def _require_finite(values: EmbeddingValues, model: EmbeddingModel) -> None:
    """Refuses infinities and NaNs in a file; arrays of Python may have those of their types."""
    for number, (feature, inputs) in enumerate(
        zip(model.features, values.batch.features, strict=True)
    ):
        table = values.tables.get(number)
        elements = None if table is None else feature.elements(table)[:]
        for part, array in (("table", elements), ("weights", inputs.weights)):
            if array is not None:
                name = partial(_element, f"{feature.name}.{part}", array)
                refuse_not_finite(array.reshape(-1), name)


def _element(name: str, array: np.ndarray, at: int) -> str:
    """``name[2,3]`` for the element that is number ``at`` of all."""
    return f"{name}[{','.join(map(str, np.unravel_index(at, array.shape)))}]"


def _arrays(path: Path, model: EmbeddingModel) -> dict[str, np.ndarray]:
    with path.open("rb") as file:
        archive = _archive(file, model)
        _require_known([*archive.arrays, *archive.others], model)
        return {name: archive.array(name) for name in archive.arrays}


def _archive(file: BinaryIO, model: EmbeddingModel) -> Npz:
    """Compressed arrays up to the size of the model's tables and more."""
    tables = sum(
        feature.rows * max(feature.dim * _WIDEST, feature.row_bytes) for feature in model.features
    )
    return Npz(file, EXPANDED + tables)


def _require_known(names: Iterable[str], model: EmbeddingModel) -> None:
    known = {f"{feature.name}.{part}" for feature in model.features for part in PARTS}
    for name in names:
        if name not in known:
            raise WorkloadError(
                f"{short(name)}: the model has no such array; names are FEATURE.indices, "
                f"FEATURE.offsets, FEATURE.weights and FEATURE.table, features "
                f"{model.features[0].name} to {model.features[-1].name}"
            )


def _inputs(feature: Feature, arrays: Mapping[str, np.ndarray]) -> FeatureInputs:
    def part(name: str) -> np.ndarray:
        key = f"{feature.name}.{name}"
        if key not in arrays:
            raise WorkloadError(f"{key}: is missing")
        return arrays[key]

    name, weights = f"{feature.name}.weights", None
    if feature.weighted:
        weights = _rounded(name, part("weights"), np.dtype(np.float32))
    elif name in arrays:
        raise WorkloadError(f"{name}: the feature is not weighted: must be left out")
    return FeatureInputs(
        _whole(f"{feature.name}.indices", part("indices"), feature),
        _whole(f"{feature.name}.offsets", part("offsets"), feature),
        weights,
    )


def _whole(name: str, array: np.ndarray, feature: Feature) -> np.ndarray:
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise WorkloadError(
            f"{name}: is {array.dtype} {list(array.shape)}: must be whole numbers in one dimension"
        )
    converted = array.astype(INDEX_TYPES[feature.index_type], copy=False)
    refuse_first(
        converted != array,
        lambda at: f"{name}[{at}] = {array[at]}: must be a value of {feature.index_type}",
    )
    return np.ascontiguousarray(converted)


def _table(feature: Feature, array: np.ndarray) -> np.ndarray:
    name, wanted = f"{feature.name}.table", feature.table_dtype
    shape = list(feature.table_shape)
    if list(array.shape) != shape:
        raise WorkloadError(f"{name}: has shape {list(array.shape)}: must be {shape}")
    if feature.table_type == "bfloat16" and array.dtype == np.uint16:
        return np.ascontiguousarray(array).view(wanted)
    taken = dict.fromkeys((wanted, wanted if feature.rowwise else np.dtype(np.float32)))
    if array.dtype not in taken:
        raise WorkloadError(
            f"{name}: is {array.dtype}: must be {' or '.join(type.name for type in taken)}"
        )
    return _rounded(name, array, wanted)


def _rounded(name: str, array: np.ndarray, type: np.dtype) -> np.ndarray:
    """Rounds to nearest, ties to even. Raises ``WorkloadError`` for numbers beyond the type's
    largest."""
    if array.dtype == type:
        return np.ascontiguousarray(array)
    if not np.can_cast(array.dtype, np.float64):
        raise WorkloadError(f"{name}: is {array.dtype}: must be real numbers")
    with np.errstate(over="ignore"):
        rounded = np.ascontiguousarray(array, type)
    numbers = array.reshape(-1)
    refuse_first(
        np.isinf(rounded.reshape(-1)) & np.isfinite(numbers),
        lambda at: f"{_element(name, array, at)} = {numbers[at]!s}: {range_of(type.name)}",
    )
    return rounded

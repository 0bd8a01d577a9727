"""Synthesis of tables and of batches that look them up, and the check of batches.

Everything follows from a seed, and each part from its own stream of random numbers: table, bags
and indices of a feature in batch k are the same whatever else is synthesised, in any order.

Distributions are those of the paper's generator (RecFlex, section VI-A and its artefact): pooling
factors from a truncated normal distribution, rounded down; rows by popularities that follow a
power law; sizes of batches from a log-normal distribution, with larger queries split.

Tables hold multiples of 2^-5 from -1 to 1, weights are multiples of 2^-2 from 2^-2 to 2, and no
zero is negative: float32 sums of fewer than 2^16 such products are exact in any order, and all of
it is exact in float16 and bfloat16.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.embedding.model import (
    INDEX_TYPES,
    MAXIMUM_BATCH,
    TABLE_TYPES,
    Batch,
    EmbeddingModel,
    Feature,
    FeatureInputs,
    PoolingFactors,
)
from gnarl.sw.workloads.embedding.rowwise import RowwiseFormat
from gnarl.sw.workloads.embedding.truncated_normal import TruncatedNormal
from gnarl.sw.workloads.refusals import refuse_first

LARGEST_QUERY = 512
"""Samples of the largest batch (RecFlex, VI-D); serving systems split larger queries."""

TABLE_STEPS = 32
WEIGHT_STEPS = 4
"""Steps of synthesised table elements and weights between 0 and 1."""

_QUERY_MEAN = 256
_QUERY_STD = 128

_ROWWISE_VALUES = 16

# Streams of random numbers.
_TABLE, _POPULARITY, _INPUTS, _SIZES, _PAST_SIZES = range(5)

_PAST = 1 << 30
"""Numbers of past batches begin here."""

# Indices drawn at a time: what fits in a cache.
_CHUNK = 1 << 15


def synthesise_tables(model: EmbeddingModel, seed: int = 0) -> list[np.ndarray]:
    """One for each feature, as ``Feature.table_shape`` says."""
    return [_table(feature, _stream(seed, _TABLE, at)) for at, feature in enumerate(model.features)]


def synthesise_batch(model: EmbeddingModel, size: int, seed: int = 0, number: int = 0) -> Batch:
    """Batch ``number`` of the data set of ``seed``, with ``size`` samples.

    Batches of one data set share popularities of rows. Raises ``WorkloadError`` for a size out of
    range, or for more indices than a feature's index type can count.
    """
    _require_size(size)
    inputs = []
    for at, feature in enumerate(model.features):
        key = int(_sequence(seed, _POPULARITY, at).generate_state(1, np.uint64)[0])
        inputs.append(_inputs(feature, size, key, _stream(seed, _INPUTS, at, number)))
    return Batch(size, inputs)


def batch_sizes(count: int, seed: int = 0) -> list[int]:
    """Sizes of ``count`` batches, 1 to ``LARGEST_QUERY``.

    Queries are log-normal, with the logarithms of 256 and 128 as mean and standard deviation; of
    those that are too large, one of their parts is drawn.
    """
    return _sizes(count, _stream(seed, _SIZES))


def past_batches(model: EmbeddingModel, count: int, seed: int = 0) -> Iterator[Batch]:
    """Batches of the data set of ``seed`` that are older than its number 0.

    What tuning and static thread mappings go by, so that nothing is measured on what it was made
    for. Raises ``WorkloadError`` as ``synthesise_batch`` does.
    """
    for number, size in enumerate(_sizes(count, _stream(seed, _PAST_SIZES)), _PAST):
        yield synthesise_batch(model, size, seed, number)


def popularities(rows: np.ndarray, key: int) -> np.ndarray:
    """For rows (uint64 [n]) the cubes of the weights that they are drawn by, 0 to 1: float64 [n].

    A weight w has density 3 w^2, so its cube is uniform: a hash of the row (SplitMix64: Steele,
    Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
    """
    hashes = rows * np.uint64(0x9E3779B97F4A7C15) + np.uint64(key)
    hashes ^= hashes >> np.uint64(30)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    hashes ^= hashes >> np.uint64(27)
    hashes *= np.uint64(0x94D049BB133111EB)
    hashes ^= hashes >> np.uint64(31)
    return (hashes >> np.uint64(11)) * 2.0**-53


def bag_lengths(factors: PoolingFactors, size: int, random: np.random.Generator) -> np.ndarray:
    """Numbers of indices of ``size`` samples: int64 [size]."""
    if factors.std == 0:
        lengths = np.full(size, factors.mean)
    else:
        normal = TruncatedNormal(factors.mean, factors.std, 0, factors.limit)
        lengths = normal.quantiles(random.random(size))
    present = random.random(size) < factors.coverage
    return (lengths * present).astype(np.int64)


def check_tables(model: EmbeddingModel, tables: Sequence[np.ndarray]) -> None:
    """Raises ``WorkloadError`` naming the feature whose table is not as it says."""
    if len(tables) != len(model.features):
        raise WorkloadError(
            f"tables: there are {len(tables)}: must be {len(model.features)}, one for each feature"
        )
    for feature, table in zip(model.features, tables, strict=True):
        shape, type = feature.table_shape, feature.table_dtype
        if table.shape != shape or table.dtype != type:
            raise WorkloadError(
                f"table of {feature.name}: is {table.dtype} {list(table.shape)}: must be {type} "
                f"{list(shape)}"
            )


def batch_of(model: EmbeddingModel, features: Sequence[FeatureInputs]) -> Batch:
    """A batch of as many samples as the offsets of the first feature say; ``WorkloadError`` if they
    say nothing."""
    size = len(features[0].offsets) - 1
    if size < 0:
        raise WorkloadError(
            f"{model.features[0].name}.offsets: has no elements: must have one more than the batch "
            "has samples"
        )
    return Batch(size, features)


def check_batch(model: EmbeddingModel, batch: Batch, *, indices: bool = True) -> None:
    """Raises ``WorkloadError`` naming feature, position, value and range, if anything is wrong.

    ``indices``: whether each index is looked at; types, lengths and offsets always are.
    """
    _require_size(batch.size)
    if len(batch.features) != len(model.features):
        raise WorkloadError(
            f"batch: inputs of {len(batch.features)} features: must be {len(model.features)}, as "
            f"model {model.name} has"
        )
    for feature, inputs in zip(model.features, batch.features, strict=True):
        check_vectors(feature, inputs)
        check_offsets(feature.name, inputs.offsets, batch.size, len(inputs.indices))
        if indices:
            check_indices(feature, inputs)


def _sizes(count: int, random: np.random.Generator) -> list[int]:
    queries = np.exp(random.normal(math.log(_QUERY_MEAN), math.log(_QUERY_STD), count))
    queries = np.maximum(1, np.minimum(queries, 2.0**52)).astype(np.int64)
    parts = -(-queries // LARGEST_QUERY)
    last = queries - (parts - 1) * LARGEST_QUERY
    is_last = random.integers(0, parts) == parts - 1
    return np.where(is_last, last, LARGEST_QUERY).tolist()


def _sequence(seed: int, *stream: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=stream)


def _stream(seed: int, *stream: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(_sequence(seed, *stream)))


def _table(feature: Feature, random: np.random.Generator) -> np.ndarray:
    if feature.rowwise:
        return _rowwise_table(feature, feature.rowwise, random)
    steps = np.rint(np.linspace(-TABLE_STEPS, TABLE_STEPS, 256)).astype(np.int64)
    elements = (steps / TABLE_STEPS).astype(TABLE_TYPES[feature.table_type])
    choices = np.frombuffer(random.bytes(feature.rows * feature.dim), np.uint8)
    return elements[choices].reshape(feature.rows, feature.dim)


def _rowwise_table(
    feature: Feature, format: RowwiseFormat, random: np.random.Generator
) -> np.ndarray:
    """Each row has 16 whole values in sequence, from any that codes have on, with a scale and a
    bias of so many steps that elements are steps between -1 and 1."""
    last = _ROWWISE_VALUES - 1
    wholes = int(np.argmin(np.isin(np.arange(257), format.values)))  # codes have those below
    lowest = random.integers(0, wholes - last, feature.rows)
    scale = random.integers(1, 2 * TABLE_STEPS // last + 1, feature.rows)
    least = random.integers(-TABLE_STEPS, TABLE_STEPS - last * scale + 1)
    drawn = np.frombuffer(random.bytes(feature.rows * feature.dim), np.uint8) % _ROWWISE_VALUES
    values = lowest.astype(np.uint8)[:, None] + drawn.reshape(feature.rows, feature.dim)
    codes = np.arange(wholes).astype(format.type).view(np.uint8)[values]
    bias = least - scale * lowest
    return format.rows(codes, scale / TABLE_STEPS, bias / TABLE_STEPS)


def _inputs(feature: Feature, size: int, key: int, random: np.random.Generator) -> FeatureInputs:
    lengths = bag_lengths(feature.factors, size, random)
    values = int(lengths.sum())
    type = INDEX_TYPES[feature.index_type]
    if values > np.iinfo(type).max:
        raise WorkloadError(
            f"feature {feature.name}: index_type = {feature.index_type!r}: cannot count "
            f"{values} indices"
        )
    offsets = np.zeros(size + 1, type)
    np.cumsum(lengths, out=offsets[1:])
    indices = _indices(feature.rows, values, key, random).astype(type, copy=False)
    if not feature.weighted:
        return FeatureInputs(indices, offsets)
    steps = 1 + (np.frombuffer(random.bytes(values), np.uint8) % (2 * WEIGHT_STEPS))
    return FeatureInputs(indices, offsets, steps.astype(np.float32) / np.float32(WEIGHT_STEPS))


def _indices(rows: int, values: int, key: int, random: np.random.Generator) -> np.ndarray:
    """Rows drawn in proportion to their weights, by rejection of uniform ones: int64 [values].

    Popular or not, a row needs no memory; three of four candidates are kept.
    """
    indices = np.empty(values, np.int64)
    done = 0
    while done < values:
        count = min(_CHUNK, (values - done) * 4 // 3 + 16)
        candidates = random.integers(0, rows, count, np.uint32).astype(np.uint64)
        chances = random.random(count)
        kept = candidates[chances * chances * chances < popularities(candidates, key)]
        kept = kept[: values - done]
        indices[done : done + len(kept)] = kept
        done += len(kept)
    return indices


def _require_size(size: int) -> None:
    if type(size) is not int or not 0 <= size <= MAXIMUM_BATCH:
        raise WorkloadError(
            f"batch size {size!r}: must be a whole number from 0 to {MAXIMUM_BATCH}"
        )


def check_vectors(feature: Feature, inputs: FeatureInputs) -> None:
    """Raises ``WorkloadError`` for wrong types, or not as many weights as indices."""
    type = INDEX_TYPES[feature.index_type]
    _check_vector(f"indices of {feature.name}", inputs.indices, type)
    _check_vector(f"offsets of {feature.name}", inputs.offsets, type)
    name = f"weights of {feature.name}"
    if not feature.weighted:
        if inputs.weights is not None:
            raise WorkloadError(f"{name}: given: the feature is not weighted")
        return
    if inputs.weights is None:
        raise WorkloadError(f"{name}: missing: the feature is weighted")
    _check_vector(name, inputs.weights, np.dtype(np.float32))
    if len(inputs.weights) != len(inputs.indices):
        raise WorkloadError(
            f"{name}: {len(inputs.weights)} values: must be {len(inputs.indices)}, the number of "
            "indices"
        )


def _check_vector(name: str, vector: object, type: np.dtype) -> None:
    if not isinstance(vector, np.ndarray):
        given = vector.__class__.__name__
    elif vector.ndim != 1 or vector.dtype != type:
        given = f"{vector.dtype} {list(vector.shape)}"
    else:
        return
    raise WorkloadError(f"{name}: {given}: must be a NumPy vector of {type}")


def check_offsets(feature: str, offsets: np.ndarray, size: int, values: int) -> None:
    """Raises ``WorkloadError`` unless they cut so many values into bags of so many samples."""
    name = f"offsets of {feature}"
    if len(offsets) != size + 1:
        raise WorkloadError(f"{name}: {len(offsets)} values: must be {size + 1} for {size} samples")
    check_bag_offsets(name, offsets, values)


def check_bag_offsets(name: str, offsets: np.ndarray, values: int) -> None:
    """Raises ``WorkloadError`` unless offsets cut so many values into bags, as PyTorch wants them:
    from 0 to ``values``, none below the one before."""
    if not len(offsets):
        raise WorkloadError(f"{name}: is empty: must have the end of the last bag")
    if offsets[0] != 0:
        raise WorkloadError(f"{name}[0] = {offsets[0]}: must be 0")
    refuse_first(
        offsets[1:] < offsets[:-1],
        lambda at: (
            f"{name}[{at + 1}] = {offsets[at + 1]}: must be at least {offsets[at]}, as the "
            "one before"
        ),
    )
    if offsets[-1] != values:
        raise WorkloadError(
            f"{name}[{len(offsets) - 1}] = {offsets[-1]}: must be {values}, the number of indices"
        )


def check_indices(feature: Feature, inputs: FeatureInputs) -> None:
    """Raises ``WorkloadError`` for the first index that the feature cannot look up."""
    indices = inputs.indices
    first = feature.first_index
    if len(indices) and (indices.min() < first or indices.max() >= feature.rows):
        refuse_first(
            (indices < first) | (indices >= feature.rows),
            lambda at: (
                f"indices of {feature.name}[{at}] = {indices[at]}: must be from {first} to "
                f"{feature.rows - 1}"
            ),
        )

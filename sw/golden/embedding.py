"""What embedding layers mean: tables looked up and pooled, in NumPy.

A sum is taken in float64, in the order of the indices, and rounded to float32; a mean is that,
divided as float32 by the number of indices; either is then rounded to the output type, to nearest,
ties to even. A maximum is of the elements as they are. Bags without indices give zeroes. Indices of
padding are as if they were not there; those of pruned rows add nothing. Tables and weights hold no
NaN. Elements of quantised tables are float32 numbers, as ``rowwise`` defines them.

How far float32 sums in another order may be off is bounded as in Higham, "Accuracy and Stability
of Numerical Algorithms" (2nd edition, 2002), chapters 3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse

from gnarl.sw.golden.float32_sums import UNDERFLOW, common_step, gamma
from gnarl.sw.workloads.embedding.left_out import without_padding, without_pruned
from gnarl.sw.workloads.embedding.model import TABLE_TYPES, Batch, EmbeddingModel, FeatureInputs
from gnarl.sw.workloads.embedding.rowwise import RowwiseTable

Table = np.ndarray | RowwiseTable
"""[rows, dim], of a type of ``TABLE_TYPES`` or of float32 when rows are taken."""

# What is worked on at a time: look-ups, and elements of tables.
_LOOKUPS = 1 << 20
_ELEMENTS = 1 << 22


def embedding_bags(
    model: EmbeddingModel, tables: Sequence[np.ndarray], batch: Batch
) -> list[np.ndarray]:
    """The output of each feature, [batch, dim] of its output type.

    ``tables`` has one array for each feature, as ``Feature.table_shape`` says.
    """
    batch = what_is_pooled(model, batch)
    return [
        pool(feature.elements(table), inputs, feature.pooling, feature.output_type)
        for feature, table, inputs in zip(model.features, tables, batch.features, strict=True)
    ]


def what_is_pooled(model: EmbeddingModel, batch: Batch) -> Batch:
    """The batch with those of its indices that are rows to be pooled."""
    return without_pruned(model, without_padding(model, batch))


def pool(table: Table, inputs: FeatureInputs, pooling: str, output_type: str) -> np.ndarray:
    """[batch, dim] of ``output_type``, a name of ``TABLE_TYPES``.

    table
        [rows, dim]; see ``Feature.elements``.
    inputs
        All indices are rows of the table; no weights with ``max``.
    pooling
        One of ``POOLINGS``.

    O(values · dim); beyond arguments and result it needs a few tens of MB, and for tables of more
    than a million used rows one of their columns.
    """
    totals = _maxima(table, inputs) if pooling == "max" else _sums(table, inputs)
    return _finished(totals, inputs.lengths, pooling, output_type)


def pool_float64(table: Table, inputs: FeatureInputs, pooling: str) -> np.ndarray:
    """Pools as ``pool`` does, but in float64 to the end: [batch, dim]."""
    if pooling == "max":
        return _maxima(table, inputs)
    sums = _sums(table, inputs)
    if pooling == "mean":
        sums /= np.maximum(inputs.lengths, 1)[:, None]
    return sums


def bound(table: Table, inputs: FeatureInputs, pooling: str, output_type: str) -> np.ndarray:
    """How far a kernel's output may be off ``pool``'s, float64 [batch, dim]; arguments are its.

    It holds for a kernel that adds in float32, in any order, products being rounded or fused with
    an addition, with gradual underflow; then divides for a mean, and rounds to the output type. Of
    n terms t each takes part in at most n - 1 additions and, with weights, one more rounding. So
    the computed sum is within γ_k Σ|t| of the exact one, where k is n - 1, or n with weights,
    γ_k = ku / (1 - ku), and u = 2^-24 (Higham, section 4.2, equation 4.4, and 3.1, equation 3.4;
    infinite from ku = 1). Products and fused operations may underflow besides, by 2^-150 each.
    Division and rounding never turn round the order of two numbers, so the ends of that interval
    become those of the output.

    Infinite where the output may overflow; an output that equals ``pool``'s is always in order.
    """
    counts = inputs.lengths
    if pooling == "max":
        return np.zeros((len(counts), table.shape[1]))
    terms = np.diff(inputs.offsets).astype(np.float64)
    sums = _sums(table, inputs)
    golden = _finished(sums, counts, pooling, output_type).astype(np.float64)
    magnitudes = _sums(table, inputs, absolute=True)
    roundings = np.maximum(terms - 1, 0) if inputs.weights is None else terms
    # Besides, what the float64 sums here are off, generously.
    factors = (gamma(roundings) + terms * 2.0**-52 * (terms > 1)) * (1 + terms * 2.0**-50)
    with np.errstate(invalid="ignore"):
        radii = np.where(magnitudes == 0, 0.0, factors[:, None] * magnitudes)
    # Partial sums may overflow where the whole does not.
    radii[magnitudes + radii >= np.finfo(np.float32).max] = np.inf
    if inputs.weights is not None:
        radii += (2 * terms * UNDERFLOW)[:, None]
    exact = radii == 0
    with np.errstate(all="ignore"):
        ends = [
            np.where(exact, sums, np.nextafter(sums + side * radii, side * np.inf))
            for side in (-1.0, 1.0)
        ]
        low, high = (
            _finished(end, counts, pooling, output_type).astype(np.float64) for end in ends
        )
        off = np.maximum(golden - low, high - golden)
    return np.where(np.isnan(off), np.inf, off)


def exact_in_any_order(table: Table, inputs: FeatureInputs, pooling: str) -> bool:
    """Whether float32 sums of these bags give ``pool``'s numbers in whatever order they are taken.

    So it is if all terms are multiples of one power of two g and no bag's magnitudes can add up
    to more than 2^24 g: then each product and partial sum is one of the multiples of g up to
    2^24 g, all of which float32 has. May say no where an order of additions is exact by luck;
    never says yes wrongly. Signs of zeroes are not looked at.
    """
    if pooling == "max" or not len(inputs.indices):
        return True
    weights = np.ones(1, np.float32) if inputs.weights is None else inputs.weights
    elements = max(float(np.abs(rows).max()) for *_, rows, _ in _pieces(table, inputs))
    total = float(np.diff(inputs.offsets).max()) * elements * float(np.abs(weights).max())
    if not total < 2.0**127:
        return False
    if total == 0:
        return True
    # The smallest g that would do, which float32 has too; is it one?
    fraction, exponent = np.frexp(total)
    step = 2.0 ** max(int(exponent - (fraction == 0.5) - 24), -149)
    scale = common_step(weights) / step
    return all(
        np.array_equal(multiples, np.rint(multiples))
        for multiples in (rows.astype(np.float64) * scale for *_, rows, _ in _pieces(table, inputs))
    )


def _finished(totals: np.ndarray, counts: np.ndarray, pooling: str, output_type: str) -> np.ndarray:
    """Totals in float64 [batch, dim] as outputs."""
    with np.errstate(over="ignore"):
        finished = totals.astype(np.float32)
        if pooling == "mean":
            finished /= np.maximum(counts, 1).astype(np.float32)[:, None]
        return finished.astype(TABLE_TYPES[output_type])


def _sums(table: Table, inputs: FeatureInputs, absolute: bool = False) -> np.ndarray:
    """float64 [batch, dim]: sums of terms, or their magnitudes, in the order of the indices."""
    offsets, weights = inputs.offsets, inputs.weights
    sums = np.zeros((len(offsets) - 1, table.shape[1]))
    for samples, lookups, columns, rows, at in _pieces(table, inputs):
        factors = np.ones(len(at)) if weights is None else weights[lookups].astype(np.float64)
        begins = offsets[samples.start : samples.stop + 1] - offsets[samples.start]
        elements = rows.astype(np.float64)
        if absolute:
            factors, elements = np.abs(factors), np.abs(elements)
        matrix = scipy.sparse.csr_array(
            (factors, at, begins), shape=(len(begins) - 1, len(rows)), copy=False
        )
        sums[samples, columns] = matrix @ elements
    return sums


def _maxima(table: Table, inputs: FeatureInputs) -> np.ndarray:
    """float64 [batch, dim]; zeroes for empty bags."""
    offsets = inputs.offsets
    maxima = np.zeros((len(offsets) - 1, table.shape[1]))
    for samples, _, columns, rows, at in _pieces(table, inputs):
        begins = offsets[samples.start : samples.stop + 1] - offsets[samples.start]
        filled = np.flatnonzero(np.diff(begins))
        # reduceat has no empty runs; those that have indices follow one another without gaps.
        largest = np.maximum.reduceat(rows.astype(np.float32)[at], begins[filled], axis=0)
        maxima[samples.start + filled, columns] = largest
    return maxima


def _pieces(
    table: Table, inputs: FeatureInputs
) -> Iterator[tuple[slice, slice, slice, np.ndarray, np.ndarray]]:
    """Cuts the work in pieces that are not too large: samples, their look-ups and columns.

    Each comes with those columns of the rows that it uses, and where among them its look-ups are.
    """
    offsets, first = inputs.offsets, 0
    while first < len(offsets) - 1:
        end = int(np.searchsorted(offsets, offsets[first] + _LOOKUPS, side="right")) - 1
        samples = slice(first, max(end, first + 1))
        lookups = slice(int(offsets[samples.start]), int(offsets[samples.stop]))
        first = samples.stop
        if lookups.start == lookups.stop:
            continue
        rows, at = _used_rows(table, inputs.indices[lookups])
        width = max(1, _ELEMENTS // max(len(rows), len(at)))
        for column in range(0, table.shape[1], width):
            columns = slice(column, column + width)
            yield samples, lookups, columns, rows[:, columns], at


def _used_rows(table: Table, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the table, at least those that are used, at most so many; where the indices are."""
    if len(table) <= len(indices):
        return table[:], indices
    used, at = np.unique(indices, return_inverse=True)
    return table[used], at

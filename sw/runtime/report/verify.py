"""Compares what a machine returned with the golden model and with float64."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from gnarl.hw.lib.formats import FixedFormat, parse_format
from gnarl.sw.golden.words import as_float64
from gnarl.sw.program.tensor_spec import INTEGER_TYPES, REAL_TYPES, Array, Labelled, TensorSpec
from gnarl.sw.runtime.report.tally import Counted, Tally
from gnarl.sw.workloads.refusals import first_true

UNITS = 64
"""In the last place, by which sums in another order may differ, see ``compare_closely``."""


@dataclass(frozen=True)
class Verification:
    """How far results are from what they should be.

    bit_exact
        whether every output has the golden model's bits.
    difference
        the first output that is not what it must be, and how many; empty if all are.
    max_rel_error
        largest error of an output, relative to float64's value of the source workload. Infinite
        where one of the two is not finite and the other is something else. Outputs that both have
        as the same infinity, or as NaN, have no error: NaN where there are no others.
    not_finite
        outputs that are infinite or NaN; ``None`` if there are none.
    lost
        outputs that are 0, infinite or NaN where float64's value is not 0, not infinite, or not
        NaN; ``None`` if there are none.
    """

    bit_exact: bool
    difference: str
    max_rel_error: float
    not_finite: Counted | None = None
    lost: Counted | None = None


def compare(
    specs: Sequence[TensorSpec],
    found: Mapping[str, Array],
    golden: Mapping[str, Array],
    reference: Mapping[str, Array],
) -> Verification:
    """Compares outputs by name; those of ``reference`` are float64.

    Bits must be equal. Elements that a sparse tensor leaves out are zero; there, and in dense
    results of the same statements, an explicit zero of either sign and an absent one are equal.
    """
    wrong, count, first, tally = 0, 0, "", Tally()
    for spec in specs:
        name = spec.name
        keys, (got, wanted, exact) = _aligned(found[name], golden[name], reference[name])
        element = partial(_element, spec, keys, found[name].shape)
        differs = _bits(got, spec) != _bits(wanted, spec)
        if (at := first_true(differs)) is not None:
            first = first or (
                f"{element(at)}: {_shown(got[at], spec)}, must be {_shown(wanted[at], spec)}"
            )
        wrong += int(differs.sum())
        count += len(differs)
        tally.add(as_float64(got), as_float64(exact), element)
    return verification(not wrong, difference(wrong, count, first), tally)


def compare_closely(
    specs: Sequence[TensorSpec],
    golden_specs: Sequence[TensorSpec],
    found: Mapping[str, Array],
    golden: Mapping[str, Array],
    reference: Mapping[str, Array],
) -> Verification:
    """Compares outputs by name with the golden model of another machine, which may add in another
    order and round to another format.

    Each must be within ``UNITS`` units in the last place of the tensor's largest golden number, in
    the coarser of both formats; integers must be equal. Arguments are those of ``compare``.
    """
    exact_bits, wrong, count, first, tally = True, 0, 0, "", Tally()
    types = {spec.name: spec.type for spec in golden_specs}
    for spec in specs:
        name = spec.name
        keys, (got, wanted, exact) = _aligned(found[name], golden[name], reference[name])
        element = partial(_element, spec, keys, found[name].shape)
        values, right = as_float64(got), as_float64(wanted)
        same_type = spec.type == types[name]
        differs = got != wanted if same_type else values != right
        differs &= ~(np.isnan(values) & np.isnan(right))
        exact_bits = exact_bits and same_type and not differs.any()
        largest = float(np.abs(right[np.isfinite(right)]).max(initial=0.0))
        limit = UNITS * max(_unit(type, largest) for type in (spec.type, types[name]))
        with np.errstate(invalid="ignore"):  # of equal infinities
            differs &= ~(np.abs(values - right) <= limit)
        if (at := first_true(differs)) is not None:
            first = first or (
                f"{element(at)}: {float(values[at])!r}, must be "
                f"{float(right[at])!r} within {limit:.1e}"
            )
        wrong += int(differs.sum())
        count += len(differs)
        tally.add(values, as_float64(exact), element)
    return verification(exact_bits, difference(wrong, count, first), tally)


def verification(bit_exact: bool, difference: str, tally: Tally) -> Verification:
    """A verification with what ``tally`` has counted."""
    return Verification(bit_exact, difference, tally.max_rel_error, tally.not_finite, tally.lost)


def _unit(type: str, largest: float) -> float:
    """The unit in the last place of the ``largest`` number of a type."""
    if type in INTEGER_TYPES:
        return 0.0
    if type in REAL_TYPES:
        return float(np.finfo(type).eps) * largest
    format = parse_format(type)
    return format.smallest if isinstance(format, FixedFormat) else 2.0**-format.fraction * largest


def difference(wrong: int, count: int, first: str) -> str:
    """``Verification.difference`` for so many wrong outputs of ``count``, the ``first`` in text."""
    return f"{wrong:,} of {count:,} outputs differ; the first is {first}" if wrong else ""


def element_name(spec: TensorSpec, place: Sequence[int]) -> str:
    """What to call one element: its label, ``X[0,3]``, or a scalar's own name."""
    if isinstance(spec.storage, Labelled):
        return str(spec.storage.labels[place[0]])
    return entry_name(spec.name, place)


def entry_name(tensor: str, place: Sequence[int] | np.ndarray) -> str:
    """``X[0,3]`` for coordinates; the tensor's name for a scalar."""
    return f"{tensor}[{','.join(map(str, place))}]" if len(place) else tensor


def _aligned(*arrays: Array) -> tuple[np.ndarray | None, list[np.ndarray]]:
    """Elements that lie at the same places, ascending: places as numbers, see ``_keys``, [n], or
    ``None`` for all in order; and each tensor's elements, [n]. O(n log n)."""
    dense = [array.reshape(-1) for array in arrays if isinstance(array, np.ndarray)]
    if len(dense) == len(arrays):
        return None, dense
    keys = [_keys(array, arrays[0].shape) for array in arrays]
    union, numbers = np.unique(np.concatenate(keys), return_inverse=True)
    columns, first = [], 0
    for array, own in zip(arrays, keys, strict=True):
        values = array.reshape(-1) if isinstance(array, np.ndarray) else array.values
        column = np.zeros(len(union), values.dtype)
        column[numbers[first : first + len(own)]] = values
        columns.append(column)
        first += len(own)
    return union, columns


def _keys(array: Array, shape: tuple[int, ...]) -> np.ndarray:
    """A number for each element, ascending as coordinates do; Python's where int64 is too short."""
    exact = np.int64 if math.prod(shape) < 2**63 else object
    if isinstance(array, np.ndarray):
        return np.arange(array.size).astype(exact)
    keys = np.zeros(len(array.values), exact)
    for size, column in zip(shape, array.coordinates.T, strict=True):
        keys = keys * size + column
    return keys


def _element(spec: TensorSpec, keys: np.ndarray | None, shape: tuple[int, ...], at: int) -> str:
    """The name of an element, by its number among those of ``_aligned``."""
    return element_name(spec, _place(at if keys is None else keys[at], shape))


def _place(key: int, shape: tuple[int, ...]) -> list[int]:
    """Coordinates of one element, from its number as ``_keys`` has it."""
    place = []
    for size in reversed(shape):
        key, coordinate = divmod(int(key), size)
        place.append(coordinate)
    return place[::-1]


def _bits(values: np.ndarray, spec: TensorSpec) -> np.ndarray:
    """Unsigned integers of the same bits; of sparse tensors with one zero only."""
    values = np.ascontiguousarray(values, spec.dtype)
    bits = values.view(f"u{values.dtype.itemsize}")
    if not isinstance(spec.storage, Labelled):
        bits = np.where(values == 0, bits.dtype.type(0), bits)
    return bits


def _shown(value: np.generic, spec: TensorSpec) -> str:
    typed = np.array([value], spec.dtype)
    size = typed.dtype.itemsize
    return f"{int(typed.view(f'u{size}')[0]):#0{2 + 2 * size}x}"

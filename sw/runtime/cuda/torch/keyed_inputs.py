"""Inputs of a whole embedding layer, from the forms that PyTorch and TorchRec have them in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.cuda.torch.bag_bounds import (
    common_index_type,
    end_to_end,
    stacked_bounds,
)
from gnarl.sw.runtime.cuda.torch.compaction import is_within, kept_first, reordered
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.variable_batch import padded_lengths, sample_rows, stride_varies

Tensors = Mapping[str, torch.Tensor]

Stack = Callable[[Sequence[torch.Tensor], Sequence[int], Sequence[str]], torch.Tensor]


@dataclass(frozen=True)
class InputLayout:
    """What the features of a module expect.

    features, keys
        each feature's name, and the name of the input that it looks up.
    weighted
        for each feature, whether it has weights.
    index_type
        of all features' indices and offsets; those of 32 bits are taken as they are.
    include_last_offset
        whether offsets end with the number of values, [batch + 1]; else they are [batch].
    """

    features: tuple[str, ...]
    keys: tuple[str, ...]
    weighted: tuple[bool, ...]
    index_type: torch.dtype
    include_last_offset: bool


@dataclass(frozen=True)
class PackedInputs:
    """All features' inputs, one feature after the other.

    values
        [values], indices.
    offsets
        [features * batch + 1], of the type of ``values``: those of feature ``f`` and sample ``s``
        are from ``offsets[f * batch + s]`` up to the next, as in a ``KeyedJaggedTensor``.
    weights
        float32, or float64 where they were given so, beside ``values``; those of features without
        weights mean nothing. ``None`` if no feature has any.
    rows
        [features, samples], of keys with batches of their own: the sample of the feature's that is
        each sample's; ``None`` where samples are the batch.
    """

    values: torch.Tensor
    offsets: torch.Tensor
    weights: torch.Tensor | None
    rows: torch.Tensor | None = None


def is_keyed_jagged(values: object) -> bool:
    """Whether ``values`` are TorchRec's ``KeyedJaggedTensor``, or like one, and not a mapping.

    Raises ``WorkloadError`` for what is neither.
    """
    if isinstance(values, Mapping):
        return False
    for name in ("keys", "values", "lengths", "weights_or_none", "length_per_key"):
        if not hasattr(values, name):
            raise WorkloadError(
                f"input: is {type(values).__name__}: must be tensors by key, or a KeyedJaggedTensor"
            )
    return True


def pack_keyed_jagged(layout: InputLayout, jagged: Any, *, checked: bool = False) -> PackedInputs:
    """Keys that no feature looks up are left out.

    checked
        whether rows of ``inverse_indices`` are looked at on a GPU, too, for which the host waits.

    If the keys are those of the features, in order, nothing is copied but offsets, and the device
    is not waited for; else it is if ``length_per_key`` does. Raises ``WorkloadError``.
    """
    keys = list(jagged.keys())
    place = _places(layout, keys)
    values = _as_indices(layout, "values", jagged.values())
    lengths, strides = _lengths_per_key(jagged, len(keys))
    if strides is not None:
        strides = [strides[place[key]] for key in layout.keys]
    rows = sample_rows(jagged, layout.keys, strides, lengths.shape[1], checked=checked)
    weights = _weights_beside(layout, values, jagged) if any(layout.weighted) else None
    if keys != list(layout.keys):
        counts = _counts_per_key(jagged, lengths)
        order = [place[key] for key in layout.keys]
        starts = [0, *accumulate(counts)]
        spans = [(starts[number], starts[number + 1]) for number in order]
        values = torch.cat([values[begin:end] for begin, end in spans])
        lengths = torch.stack([lengths[number] for number in order])
        if weights is not None:
            weights = torch.cat([weights[begin:end] for begin, end in spans])
        if strides is not None:
            lengths = lengths[:, : max(strides)]
    values = values.to(common_index_type(values.dtype, layout.index_type, values.shape[0]))
    return PackedInputs(values, _offsets(lengths.reshape(-1)).to(values.dtype), weights, rows)


def pack_sequences(
    layout: InputLayout, jagged: Any
) -> tuple[torch.Tensor, torch.Tensor, list[int], list[torch.Tensor]]:
    """Each feature's values, one after the other; where each begins, and the last one ends; how
    many it has, and the lengths of its samples.

    Keys may have batches of their own sizes. The device is waited for where ``length_per_key``
    does so. Raises ``WorkloadError``.
    """
    keys = list(jagged.keys())
    place = _places(layout, keys)
    order = [place[key] for key in layout.keys]
    values = _as_indices(layout, "values", jagged.values())
    lengths, strides = _lengths_per_key(jagged, len(keys))
    counts = _counts_per_key(jagged, lengths)
    if values.device.type == "cpu" and sum(counts) > values.shape[0]:
        raise WorkloadError(
            f"lengths: have the sum {sum(counts)}: must be at most {values.shape[0]}, the number "
            "of values"
        )
    starts, sums = [0, *accumulate(counts)], lengths.sum(1)
    if order == list(range(len(keys))):
        values = values[: starts[-1]]
    else:
        values = torch.cat([values[starts[number] : starts[number + 1]] for number in order])
        of_keys = sums.unbind()
        sums = torch.stack([of_keys[number] for number in order])
    values = values.to(common_index_type(values.dtype, layout.index_type, values.shape[0]))
    of_features = [lengths[number] for number in order]
    begins = _offsets(sums).to(values.dtype)
    if strides is not None:
        of_features = [lengths[number][: strides[number]] for number in order]
    return values, begins, [counts[number] for number in order], of_features


def _places(layout: InputLayout, keys: Sequence[str]) -> dict[str, int]:
    """Each key's number. Raises ``WorkloadError`` unless all that features look up are there."""
    place = {key: number for number, key in enumerate(keys)}
    for key in layout.keys:
        if key not in place:
            raise WorkloadError(f"input: has no key {key}; there are {_listed(keys)}")
    return place


def _lengths_per_key(jagged: Any, keys: int) -> tuple[torch.Tensor, list[int] | None]:
    """[keys, batch], and the samples of each key where they differ."""
    lengths = jagged.lengths()
    if lengths.dtype not in (torch.int32, torch.int64):
        raise WorkloadError(f"lengths: are {type_name(lengths.dtype)}: must be int32 or int64")
    if lengths.dim() == 1 and stride_varies(jagged):
        return padded_lengths(jagged, lengths, keys)
    if lengths.dim() != 1 or lengths.shape[0] % keys:
        raise WorkloadError(f"lengths: are {_shape(lengths)}: must be [{keys} * batch]")
    return lengths.view(keys, -1), None


def _counts_per_key(jagged: Any, lengths: torch.Tensor) -> list[int]:
    """Each key's values, for which the device is waited for if the tensor does not know them."""
    counts = list(jagged.length_per_key())
    if lengths.device.type == "cpu" and not torch.compiler.is_compiling():
        sums = lengths.sum(1).tolist()
        if counts != sums:
            raise WorkloadError(
                f"input: length_per_key is {_listed(map(str, counts))}: must be "
                f"{_listed(map(str, sums))}, the sums of lengths"
            )
    return counts


def _weights_beside(layout: InputLayout, values: torch.Tensor, jagged: Any) -> torch.Tensor:
    """float32 [values]."""
    weights = jagged.weights_or_none()
    if weights is None:
        feature = layout.features[layout.weighted.index(True)]
        raise WorkloadError(f"feature {feature}: has no weights, but is weighted")
    if weights.shape != values.shape:
        raise WorkloadError(f"weights: are {_shape(weights)}: must match values, {_shape(values)}")
    return _real(weights)


def pack_mapping(
    layout: InputLayout,
    values: Tensors,
    offsets: Tensors | None,
    lengths: Tensors | None,
    weights: Tensors | None,
    stack: Stack = stacked_bounds,
) -> PackedInputs:
    """Packs tensors by key, all of one batch size.

    values
        [values] with offsets or lengths, or [batch, length] without. int32 or int64.
    offsets
        [batch + 1] or [batch] by ``include_last_offset``.
    lengths
        [batch].
    weights
        in the shape of values, of weighted features.
    stack
        does as ``stacked_bounds``.

    Raises ``WorkloadError`` naming the feature or the key.
    """
    if offsets is not None and lengths is not None:
        raise WorkloadError("input: has both offsets and lengths: must have one of them")
    bounds_name, bounds = ("lengths", lengths) if offsets is None else ("offsets", offsets)
    bounds, weights = bounds or {}, weights or {}
    known = dict.fromkeys(layout.keys)
    weighted = [key for key, has in zip(layout.keys, layout.weighted, strict=True) if has]
    _refuse_unknown("values", values, known)
    _refuse_unknown(bounds_name, bounds, known)
    _refuse_unknown("weights", weights, weighted)
    parts: list[torch.Tensor] = []
    rows: list[torch.Tensor] = []
    weight_parts: list[torch.Tensor] = []
    for feature, key, has_weights in zip(
        layout.features, layout.keys, layout.weighted, strict=True
    ):
        if key not in values:
            raise WorkloadError(f"input: has no key {key}; there are {_listed(values)}")
        indices = _as_indices(layout, f"values of {key}", values[key])
        row = _bounds(layout, key, indices, bounds_name, bounds.get(key))
        if rows:
            _require_samples(layout, feature, row, rows[0])
        rows.append(row)
        parts.append(indices.reshape(-1))
        if weighted:
            part = _weights(feature, key, indices, weights, has_weights)
            weight_parts.append(part.reshape(-1))
    counts = [part.shape[0] for part in parts]
    table = stack(rows, counts, [f"{bounds_name} of {key}" for key in layout.keys])
    packed = torch.cat(parts)
    packed = packed.to(common_index_type(packed.dtype, layout.index_type, packed.shape[0]))
    weights_of = torch.cat(weight_parts) if weight_parts else None
    if _may_have_tails(layout, bounds_name, values) and _has_tails(table, counts):
        order = kept_first(is_within(table, counts))
        packed = packed[order]
        weights_of = None if weights_of is None else reordered(weights_of, order)
    return PackedInputs(packed, end_to_end(table, packed.dtype), weights_of)


def _may_have_tails(layout: InputLayout, bounds_name: str, values: Tensors) -> bool:
    """Whether a feature before the last may have values past the end of its last bag, by what
    tensors are given."""
    if bounds_name == "offsets" and not layout.include_last_offset:
        return False
    return any(values[key].dim() == 1 for key in layout.keys[:-1])


def _has_tails(bounds: torch.Tensor, counts: Sequence[int]) -> bool:
    """Whether there are such values; where a GPU would have to be waited for, that there may be."""
    if torch.compiler.is_compiling() or bounds.device.type != "cpu":
        return True
    return bool((bounds[:-1, -1] < torch.tensor(counts[:-1])).any())


def _require_samples(
    layout: InputLayout, feature: str, row: torch.Tensor, first: torch.Tensor
) -> None:
    """Refuses a feature that has not as many samples as the first one."""
    if row.shape != first.shape:
        raise WorkloadError(
            f"feature {feature}: has {row.shape[0] - 1} samples, "
            f"{layout.features[0]} has {first.shape[0] - 1}: must be equal"
        )


def _bounds(
    layout: InputLayout,
    key: str,
    indices: torch.Tensor,
    name: str,
    given: torch.Tensor | None,
) -> torch.Tensor:
    """[batch + 1]: where each sample's values begin, and the last one's end."""
    if indices.dim() == 2:
        if given is not None:
            raise WorkloadError(f"{name} of {key}: not supported with values [batch, length]")
        batch, length = indices.shape
        return torch.arange(batch + 1, device=indices.device) * length
    if indices.dim() != 1:
        raise WorkloadError(
            f"values of {key}: are {_shape(indices)}: must be [values] or [batch, length]"
        )
    if given is None:
        raise WorkloadError(f"input: has neither offsets nor lengths of {key}")
    if given.dim() != 1:
        raise WorkloadError(f"{name} of {key}: are {_shape(given)}: must have one dimension")
    given = _as_indices(layout, f"{name} of {key}", given)
    if name == "lengths":
        return _offsets(given)
    if layout.include_last_offset:
        if not given.shape[0]:
            raise WorkloadError(f"{name} of {key}: is empty: must have the end of the last bag")
        return given
    end = indices.shape[0] if given.shape[0] else 0
    return torch.cat([given.long(), given.new_full((1,), end, dtype=torch.int64)])


def _weights(
    feature: str, key: str, indices: torch.Tensor, given: Tensors, has_weights: bool
) -> torch.Tensor:
    if not has_weights:
        return torch.ones(indices.shape, dtype=torch.float32, device=indices.device)
    if key not in given:
        raise WorkloadError(f"feature {feature}: has no weights, but is weighted")
    weights = given[key]
    if weights.shape != indices.shape:
        raise WorkloadError(
            f"weights of {key}: are {_shape(weights)}: must match values, {_shape(indices)}"
        )
    return _real(weights)


def _real(weights: torch.Tensor) -> torch.Tensor:
    return weights if weights.dtype == torch.float64 else weights.float()


def _offsets(lengths: torch.Tensor) -> torch.Tensor:
    """int64 [bags + 1] from [bags]."""
    return torch.nn.functional.pad(lengths.cumsum(0, dtype=torch.int64), (1, 0))


def _as_indices(layout: InputLayout, place: str, given: torch.Tensor) -> torch.Tensor:
    if given.dtype in (layout.index_type, torch.int32):
        return given
    # Narrowing could turn an index that is out of range into one that is not.
    raise WorkloadError(
        f"{place}: are {type_name(given.dtype)}: must be {type_name(layout.index_type)}"
    )


def _refuse_unknown(name: str, given: Iterable[str], known: Iterable[str]) -> None:
    known = dict.fromkeys(known)
    for key in given:
        if key not in known:
            there = f"there are {_listed(known)}" if known else "no feature is weighted"
            raise WorkloadError(f"{name} of {key}: no feature looks it up; {there}")


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    return ", ".join(shown[:8]) + (f" and {len(shown) - 8} more" if len(shown) > 8 else "")


def _shape(tensor: torch.Tensor) -> str:
    return str(list(tensor.shape))


def type_name(type: torch.dtype) -> str:
    """``float32`` for ``torch.float32``."""
    return str(type).removeprefix("torch.")


def keyed_tensor_type() -> Callable[..., Any] | None:
    """TorchRec's ``KeyedTensor``, if somebody has imported that; arguments are those of
    ``PooledEmbeddings``."""
    module = sys.modules.get("torchrec.sparse.jagged_tensor")
    return None if module is None else module.KeyedTensor


class PooledEmbeddings:
    """Pooled embeddings side by side, as TorchRec's ``KeyedTensor`` offers them.

    Members: ``keys``, ``values`` [batch, sum of dims], ``length_per_key``, ``offset_per_key``,
    ``to_dict``, and ``[key]``.
    """

    def __init__(self, keys: Sequence[str], lengths: Sequence[int], values: torch.Tensor) -> None:
        self._keys = list(keys)
        self._lengths = list(lengths)
        self._values = values

    def keys(self) -> list[str]:
        return self._keys

    def values(self) -> torch.Tensor:
        return self._values

    def length_per_key(self) -> list[int]:
        """Each key's columns."""
        return self._lengths

    def offset_per_key(self) -> list[int]:
        """Each key's first column, and after the last one their number."""
        return [0, *accumulate(self._lengths)]

    def to_dict(self) -> dict[str, torch.Tensor]:
        """Views of ``values``, [batch, dim]."""
        return dict(zip(self._keys, self._values.split(self._lengths, dim=1), strict=True))

    def __getitem__(self, key: str) -> torch.Tensor:
        return self.to_dict()[key]

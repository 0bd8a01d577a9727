"""Tables of TorchRec's quantised collections, which are rows of FBGEMM's inference tables.

A row there is a scale and a bias of 16 bits and then the codes, padded; or, where the collection's
state has scales and biases of their own, the codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.workloads.embedding.rowwise import ROWWISE_FORMATS

_TYPES = {"INT8": "int8_rowwise", "INT4": "int4_rowwise"}
"""Types of tables by TorchRec's names."""

_REMAPPED = ("index_remappings_array", "index_remapping_hash_table")
"""Where FBGEMM's tables have what stands for pruned rows."""

_SCALE_BYTES = 4
"""Bytes of a row's scale and bias."""


def is_quantised(collection: Any) -> bool:
    """Whether tables are rows of bytes, whatever their elements are."""
    return any(_octets(bag).dtype == torch.uint8 for bag in collection.embedding_bags.values())


def in_output_order(configs: Sequence[Any]) -> list[Any]:
    """Configurations of tables in the order of outputs: those of one pooling side by side."""
    poolings = list(dict.fromkeys(config.pooling for config in configs))
    return sorted(configs, key=lambda config: poolings.index(config.pooling))


def refuse_unlike(collection: Any) -> None:
    """Raises ``WorkloadError`` for rows that are laid out otherwise, and for pruned indices."""
    for module in getattr(collection, "_emb_modules", ()):
        if getattr(module, "reverse_qparam", False):
            raise WorkloadError("collection: has scales behind codes: must have them before")
        remapped = [getattr(module, name, None) for name in _REMAPPED]
        if any(each is not None and each.numel() for each in remapped):
            raise WorkloadError(
                "collection: remaps indices of pruned tables: must not, values = remapping[values] "
                "does so before the call"
            )


def quantised_table(name: str, config: Any, bag: Any) -> tuple[str, torch.Tensor]:
    """Type and table, uint8 [rows, row bytes], of a feature that looks up such rows; a copy. Raises
    ``WorkloadError`` for other types."""
    found = getattr(config.data_type, "value", config.data_type)
    if found not in _TYPES:
        raise WorkloadError(
            f"table {name}: data_type {found} of a quantised collection: must be one of "
            f"{', '.join(_TYPES)}"
        )
    format, dim = ROWWISE_FORMATS[_TYPES[found]], config.embedding_dim
    octets, scale = _octets(bag), getattr(bag, "weight_qscale", None)
    coded = dim // format.per_byte
    if scale is None:
        parts = octets[:, :_SCALE_BYTES].contiguous().view(torch.float16)
        codes = octets[:, _SCALE_BYTES:][:, :coded]
    else:
        parts, codes = torch.cat([scale, bag.weight_qbias], dim=1), octets[:, :coded]
    if parts.shape != (len(octets), 2) or parts.dtype != torch.float16 or codes.shape[1] != coded:
        raise WorkloadError(
            f"table {name}: is {list(octets.shape)}: must have rows of {coded} bytes of codes, and "
            "scales and biases of float16"
        )
    rows = octets.new_zeros(len(octets), format.row_bytes(dim))
    place = format.scale_place(dim)
    rows[:, :coded] = codes
    rows[:, place : place + 2 * _SCALE_BYTES] = parts.float().contiguous().view(torch.uint8)
    return _TYPES[found], rows


def _octets(bag: Any) -> torch.Tensor:
    """The weights; those of codes of fewer than 8 bits are in a tensor around them."""
    weight = bag.weight
    octets: torch.Tensor = getattr(weight, "elem", weight)
    return octets

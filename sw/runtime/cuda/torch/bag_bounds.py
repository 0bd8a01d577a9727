"""Where the bags of each feature begin and end among its values: checks, and all features at once.

Where bounds are can be looked at without waiting for a GPU, bad ones are refused as
``torch.nn.EmbeddingBag`` refuses them. In graphs that are compiled an operator does it,
``gnarl::bag_bounds``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.cuda.packed import MAXIMUM_VALUES
from gnarl.sw.runtime.cuda.torch.extra import torch


def stacked_bounds(
    rows: Sequence[torch.Tensor], counts: Sequence[int], names: Sequence[str], checked: bool = False
) -> torch.Tensor:
    """int64 [features, batch + 1], from each feature's [batch + 1].

    counts
        each feature's values.
    names
        what each feature's bounds were made of, such as ``offsets of f`` or ``lengths of f``.

    checked
        whether bounds on a GPU are looked at, too.

    Raises ``WorkloadError`` for bounds that do not cut values into bags.
    """
    if torch.compiler.is_compiling():
        return torch.ops.gnarl.bag_bounds(list(rows), list(counts), "\n".join(names), checked)
    bounds = torch.stack([row.long() for row in rows])
    if checked or bounds.device.type == "cpu":
        _check(bounds.cpu(), counts, names)
    return bounds


@torch.library.custom_op("gnarl::bag_bounds", mutates_args=())
def _bag_bounds(
    rows: Sequence[torch.Tensor], counts: Sequence[int], names: str, checked: bool
) -> torch.Tensor:
    return stacked_bounds(rows, counts, names.split("\n"), checked)


@_bag_bounds.register_fake
def _fake(rows: Sequence[torch.Tensor], *arguments: Any) -> torch.Tensor:
    return rows[0].new_empty((len(rows), rows[0].shape[0]), dtype=torch.int64)


def end_to_end(bounds: torch.Tensor, index_type: torch.dtype) -> torch.Tensor:
    """[features * batch + 1]: bounds of all features, for values that are one behind the other.

    ``bounds``: as ``stacked_bounds`` gives them.
    """
    ends = bounds[:, -1].cumsum(0)
    begins = bounds[:, :-1] + (ends - bounds[:, -1])[:, None]
    return torch.cat([begins.reshape(-1), ends[-1:]]).to(index_type)


def common_index_type(given: torch.dtype, widest: torch.dtype, count: int) -> torch.dtype:
    """The type of so many values' offsets, and theirs: ``widest`` where kernels need more than 32
    bits.

    In graphs that are compiled it is as it was given; see ``require_countable``.
    """
    if torch.compiler.is_compiling() or count <= MAXIMUM_VALUES:
        return given
    return widest


def require_countable(values: torch.Tensor) -> None:
    """Raises ``WorkloadError`` for more values of 32 bits than kernels can count. O(1)."""
    if values.dtype == torch.int32 and values.shape[0] > MAXIMUM_VALUES:
        raise WorkloadError(
            f"input: has {values.shape[0]} values of int32: must be at most {MAXIMUM_VALUES}, or "
            "int64"
        )


def check_packed_offsets(offsets: torch.Tensor, count: int) -> None:
    """Raises ``WorkloadError`` unless offsets of all features together cut at most so many values
    into bags. Waits for the device."""
    offsets = offsets.cpu()
    if first := int(offsets[0]):
        raise WorkloadError(f"input: offsets begin with {first}: must be 0")
    if (last := int(offsets[-1])) > count:
        raise WorkloadError(
            f"input: offsets end with {last}: must be at most {count}, the number of indices"
        )
    falls = offsets[1:] < offsets[:-1]
    if falls.any():
        at = int(falls.int().argmax())
        raise WorkloadError(
            f"input: offsets[{at + 1}] = {offsets[at + 1]}: must be at least {offsets[at]}, as the "
            "one before"
        )


def _check(bounds: torch.Tensor, counts: Sequence[int], names: Sequence[str]) -> None:
    wrong = (bounds[:, 0] != 0) | (bounds[:, -1] > torch.tensor(counts))
    wrong |= (bounds[:, 1:] < bounds[:, :-1]).any(1)
    if wrong.any():
        number = int(wrong.int().argmax())
        name, row = names[number], bounds[number].tolist()
        raise WorkloadError(f"{name}{_fault(name, row, counts[number])}")


def _fault(name: str, row: Sequence[int], count: int) -> str:
    """What is wrong with the bounds of a feature, behind their name."""
    falls = [at for at in range(1, len(row)) if row[at] < row[at - 1]]
    if name.startswith("lengths"):
        if falls:
            at = falls[0]
            return f"[{at - 1}] = {row[at] - row[at - 1]}: must be at least 0"
        return f": have the sum {row[-1]}: must be at most {count}, the number of indices"
    if row[0]:
        return f"[0] = {row[0]}: must be 0"
    if falls:
        at = falls[0]
        return f"[{at}] = {row[at]}: must be at least {row[at - 1]}, as the one before"
    return f"[{len(row) - 1}] = {row[-1]}: must be at most {count}, the number of indices"

"""PyTorch's tensors without dimensions, and without elements, as loop nests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.loops.modules import module_workload
from tests.support.errors import refused
from tests.support.nests.pytorch_modules import bag, module, whole
from tests.support.nests.pytorch_nests import require_same

FILE = Path(__file__).name
SCALAR, NONE = torch.tensor(2.5), torch.zeros(0, dtype=torch.int64)


def sums(self, x):
    return x.sum(0), x.sum(-1, keepdim=True), x.mean([-1]), x.sum(), x.sum([])


def rearranged(self, x):
    return x.squeeze(0) * 1, x.t() * 1, x.transpose(0, -1) * 2, x.unsqueeze(-1) * 1


def joined(self, x):
    return torch.stack([x, x]), torch.cat([x.reshape(-1), x.reshape(-1)])


@pytest.mark.parametrize("forward", (sums, rearranged, joined))
@pytest.mark.parametrize("x", (SCALAR, whole(1), whole(0), whole(2, 0), whole(0, 3)))
def test_dimensions(forward: Callable[..., Any], x: torch.Tensor) -> None:
    require_same(module(forward), x)


@pytest.mark.parametrize("shape", ((0,), (2, 0), (0, 3), (1, 0, 2)))
@pytest.mark.parametrize("x", (whole(0), whole(2, 0), whole(0, 3)))
def test_shapes_without_elements(x: torch.Tensor, shape: tuple[int, ...]) -> None:
    require_same(module(lambda self, x: (x.reshape(shape) + 1, (x * 2).reshape(shape))), x)


def test_joined_tensors_without_elements_have_a_type() -> None:
    require_same(module(lambda self, x, y: torch.cat([x, y]) / 2), whole(0), torch.tensor([3, 4]))


@pytest.mark.parametrize("mode", ("sum", "mean", "max"))
@pytest.mark.parametrize("starts", ([], [0], [0, 0]))
def test_bags_of_no_index(mode: str, starts: list[int]) -> None:
    def forward(self, indices, offsets):
        return self.bag(indices, offsets)

    offsets = torch.tensor(starts, dtype=torch.int64)
    require_same(module(forward, bag=bag(mode)), NONE, offsets)


def looked_up(self, x, i):
    return torch.index_select(x, 0, i)


def added(self, x, i):
    return x.index_add(0, i, x)


def pooled(self, x, i):
    bags = torch.ops.aten.embedding_bag.padding_idx
    return bags(self.table, i[0], i, False, 0, False, None, False, None)[0]


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (looked_up, "index_select.default: of a tensor without dimensions: must have one"),
        (added, "index_add.default: a tensor without dimensions: all three must have some"),
        (pooled, "embedding_bag.padding_idx: indices and offsets: must have one dimension"),
    ],
)
def test_scalars_that_are_refused(forward: Callable[..., Any], message: str) -> None:
    place = f"{FILE}:{forward.__code__.co_firstlineno + 1 + (forward is pooled)}:1"
    with pytest.raises(WorkloadError) as caught:
        module_workload(module(forward, table=whole(3, 2)), (SCALAR, torch.tensor([0])))
    # Once a process has imported PyTorch Geometric, PyTorch refuses to export look-ups.
    exported = "looked_up: torch.export: IndexError: Dimension out of range"
    assert str(caught.value) == f"{place}: aten.{message}" or str(caught.value).startswith(exported)


def test_no_elements_of_too_large_a_shape() -> None:
    def doubled(self, x):
        return x * 2

    with refused(f"doubled:1:1: x has shape (0, {1 << 62}): NumPy has none that large"):
        module_workload(module(doubled), (torch.zeros(0, 1 << 62),))

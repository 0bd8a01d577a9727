"""Normalisations and attention as statements, against PyTorch."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.loops.modules import module_workload
from tests.support.nests.pytorch_modules import module
from tests.support.pytorch_programs import lines, require_same


def drawn(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("shape", [(4,), (3, 4)])
@pytest.mark.parametrize("affine", [False, True])
def test_layer_norm(shape: tuple[int, ...], affine: bool) -> None:
    made = torch.nn.LayerNorm(shape, elementwise_affine=affine)
    for parameter in made.parameters():
        torch.nn.init.uniform_(parameter)
    model = require_same(made, drawn(2, 3, 4))
    assert [each.partition("(")[0] for each in lines(model)] == [
        "layer_norm_mean",
        "layer_norm_sub",
        "layer_norm_square",
        "layer_norm_var",
        "layer_norm",
    ]


def test_layer_norm_of_one_element() -> None:
    def forward(self, x):
        return functional.layer_norm(x, (1,)) + functional.layer_norm(x + 1, (1, 1), eps=0.5)

    require_same(module(forward), drawn(3, 1, 1))


@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 4)])
@pytest.mark.parametrize("affine", [False, True])
def test_batch_norm(shape: tuple[int, ...], affine: bool) -> None:
    made = torch.nn.BatchNorm1d(3, affine=affine)
    made(drawn(*shape).float())
    for parameter in made.parameters():
        torch.nn.init.uniform_(parameter)
    assert len(lines(require_same(made, drawn(*shape)))) == 1
    changing = torch.nn.Sequential(made, torch.nn.ReLU(inplace=True))
    assert len(lines(require_same(changing, drawn(*shape)))) == 2


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_attention(batch: tuple[int, ...]) -> None:
    def forward(self, q, k, v):
        scaled = functional.scaled_dot_product_attention(q, k, v, scale=0.25)
        return functional.scaled_dot_product_attention(q, k, v) + scaled

    require_same(module(forward), drawn(*batch, 5, 4), drawn(*batch, 3, 4), drawn(*batch, 3, 2))


@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_with_a_mask_is_no_nest_of_loops(is_causal: bool) -> None:
    def forward(self, x, mask):
        given = None if is_causal else mask
        return functional.scaled_dot_product_attention(x, x, x, given, is_causal=is_causal)

    with pytest.raises(WorkloadError, match="with a mask: must be without: write torch.softmax"):
        module_workload(module(forward), (drawn(3, 2).float(), drawn(3, 3).float()))


def test_maxima_along_a_dimension() -> None:
    def forward(self, x):
        return x.max(1)[0], x.max(0, keepdim=True).values * x

    require_same(module(forward), drawn(3, 4))


def test_batch_norm_of_an_operator_without_training() -> None:
    def forward(self, x):
        normalised = torch.ops.aten._native_batch_norm_legit_no_training
        return (
            normalised(x, None, self.bias, self.bias / 2, self.bias * 2, 0.1, 1e-5)[0],
            normalised(x, self.bias * 3, None, self.bias, self.bias + 1, 0.1, 0.5)[0],
        )

    made = module(forward)
    made.register_buffer("bias", drawn(4) + 1)
    require_same(made, drawn(3, 4))


def test_dropout_that_drops_nothing() -> None:
    def forward(self, x):
        return functional.dropout(functional.dropout(x, 0.0, True), 0.5, False) * 2

    assert lines(require_same(module(forward), drawn(3, 4))) == ["mul(i,j)=x(i,j)*2.0"]


def test_dimensions_of_what_has_none() -> None:
    def forward(self, x):
        one = x.sum()
        return (
            one.permute(()) * 2,
            one.transpose(0, -1) + one.squeeze(0),
            one.squeeze() * one.unsqueeze(-1),
            one.flatten() - 1,
            x[0].t() * x.mT[:, 0],
        )

    require_same(module(forward), drawn(3, 4))


def test_norms_of_one_element() -> None:
    """The mean of no dimension is the element."""

    def forward(self, x):
        return functional.layer_norm(x, (1,), eps=2.0) + functional.layer_norm(x[:0], (1,)).sum()

    require_same(module(forward), drawn(3, 1))

"""Masks of scores as patterns that statements are computed on, against PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.pytorch.model import Model
from tests.support.errors import refused
from tests.support.nests.pytorch_modules import module
from tests.support.pytorch_programs import lines, require_same

SIZE, WIDTH = 6, 4
NOISE = torch.Generator().manual_seed(0)
X, Y, Z = (torch.randn(SIZE, WIDTH, generator=NOISE, dtype=torch.float64) for _ in range(3))
MASK = torch.rand(SIZE, SIZE, generator=NOISE) < 0.4
MASK[2], MASK[3] = False, True
FULL = MASK | torch.eye(SIZE, dtype=torch.bool)
"""An entry in each row."""


def with_buffer(forward: Callable[..., Any], mask: torch.Tensor) -> torch.nn.Module:
    made = module(forward)
    made.register_buffer("mask", mask)
    return made


def is_dense(model: Model) -> bool:
    """Whether something of the scores' size is computed that no mask is a factor of."""
    size = (SIZE, SIZE)
    inside = {name for name, each in model.program.formats.items() if each.levels[-1] != "dense"}
    for each in model.program.einsums:
        if model.shapes[each.name] == size:
            if not inside & {access.tensor for access in each.operands}:
                return True
            inside.add(each.name)
    return False


FORMS: list[Callable[..., Any]] = [
    lambda self, q, k, v, m: (q @ k.T / 2).masked_fill(~m, -math.inf).softmax(-1) @ v,
    lambda self, q, k, v, m: torch.where(m, q @ k.T, -math.inf).softmax(-1) @ v,
    lambda self, q, k, v, m: torch.where(~m, -math.inf, q @ k.T).softmax(-1) @ v,
    lambda self, q, k, v, m: (q @ k.T).masked_fill(m == 0, -math.inf).softmax(-1) @ v,
    lambda self, q, k, v, m: (q @ k.T).masked_fill(m.logical_not(), -math.inf).softmax(-1) @ v,
    lambda self, q, k, v, m: (q @ k.T).masked_fill(m, -math.inf).softmax(-1) @ v,
    lambda self, q, k, v, m: (q @ k.T).masked_fill(~m, -math.inf).div(2).softmax(-1) @ v,
    lambda self, q, k, v, m: 3 * (q @ k.T).masked_fill(~m, -math.inf).softmax(-1) @ v,
    lambda self, q, k, v, m: (
        (2 - (q @ k.T)).masked_fill(~m, -math.inf).add(v[:, 0]).softmax(-1) @ v
    ),
    lambda self, q, k, v, m: v.T @ (q @ k.T).masked_fill(~m, -math.inf).softmax(-1).permute(1, 0),
    lambda self, q, k, v, m: functional.scaled_dot_product_attention(q, k, v, m.double().bool()),
    lambda self, q, k, v, m: (q @ k.T).masked_fill(~m, -math.inf).softmax(-1).nan_to_num() @ v,
    lambda self, q, k, v, m: torch.nan_to_num((q @ k.T).where(m, -math.inf).softmax(-1) @ v, 0.0),
]
"""Masks as inputs."""


@pytest.mark.parametrize("forward", FORMS)
def test_masks_that_are_inputs(forward: Callable[..., Any]) -> None:
    model = require_same(module(forward), X, Y, Z, MASK)
    assert not is_dense(model)
    assert model.program.statements[0].name == "m_pattern"


KNOWN: list[Callable[..., Any]] = [
    lambda self, q, k, v: (q @ k.T).masked_fill(~self.mask, -math.inf).softmax(-1) @ v,
    lambda self, q, k, v: torch.where(self.mask, q @ k.T, float("-inf")).softmax(-1) @ v,
    lambda self, q, k, v: functional.scaled_dot_product_attention(q, k, v, self.mask),
    lambda self, q, k, v: (
        (q @ k.T + torch.zeros(SIZE, SIZE).masked_fill(~self.mask, -math.inf)).softmax(-1) @ v
    ),
    lambda self, q, k, v: (
        (
            q @ k.T + torch.full((SIZE, SIZE), 0.5).masked_fill(self.mask.logical_not(), -math.inf)
        ).softmax(-1)
        @ v
    ),
]


@pytest.mark.parametrize("forward", KNOWN)
@pytest.mark.parametrize("mask", [MASK, FULL])
def test_masks_that_are_buffers(forward: Callable[..., Any], mask: torch.Tensor) -> None:
    model = require_same(with_buffer(forward, mask), X, Y, Z)
    assert not is_dense(model)
    has_nan_rows = any("reciprocal" in line for line in lines(model))
    is_safe = "scaled_dot_product" in lines(model)[0]
    assert has_nan_rows == (mask is MASK and not is_safe)


def test_masks_that_are_added() -> None:
    def forward(self, q, k, v):
        later = torch.triu(torch.full((SIZE, SIZE), -math.inf), diagonal=1)
        return (q @ k.T + self.mask).softmax(-1) @ v, (later + q @ k.T).softmax(-1) @ v

    additive = torch.zeros(SIZE, SIZE, dtype=torch.float64).masked_fill(~FULL, -math.inf)
    model = require_same(with_buffer(forward, additive), X, Y, Z)
    assert not is_dense(model) and "add_bias" not in model.parameters
    model = require_same(with_buffer(forward, additive + X[:, :1]), X, Y, Z)
    assert not is_dense(model) and "add_bias" in model.parameters


def test_causal_attention() -> None:
    def forward(self, q, k, v):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    model = require_same(module(forward), X, Y[:5], Z[:5])
    assert model.shapes["scaled_dot_product_attention_mask"] == (SIZE, 5)
    assert not any("reciprocal" in line for line in lines(model))


def test_scores_are_computed_where_the_mask_is() -> None:
    model = require_same(module(FORMS[0]), X, Y, Z, MASK)
    assert lines(model) == [
        "m_pattern(i,j)=pattern[ne:0](m(i,j))",
        "matmul(i,j)=sum[l](q(i,l)*k(j,l)*m_pattern(i,j))",
        "div(i,j)=matmul(i,j)/2.0",
        "softmax_max(i)=greatest[j]((div(i,j)+0.0)*m_pattern(i,j))",
        "softmax_exp(i,j)=exp(div(i,j)-softmax_max(i))*m_pattern(i,j)",
        "softmax_sum(i)=sum[j](softmax_exp(i,j))",
        "softmax(i,j)=softmax_exp(i,j)/max(softmax_sum(i),1.0)",
        "matmul_1(i,j)=sum[l](softmax(i,l)*v(l,j))",
        "matmul_1_all(i,j)=matmul_1(i,j)+0.0*reciprocal(softmax_sum(i))",
    ]


def test_sums_of_broadcasts_under_a_mask() -> None:
    """Scores of a graph attention network."""

    def forward(self, x, left, right, adjacency):
        scores = functional.leaky_relu(x @ left + (x @ right).T, 0.2)
        weights = torch.where(adjacency > 0, scores, -math.inf).softmax(dim=1)
        return functional.relu(weights @ x)

    vectors = X[:4, :1], Y[:4, :1]
    model = require_same(module(forward), X, *vectors, FULL.double() * 3)
    assert not is_dense(model)
    assert "gt(i,j)" not in " ".join(lines(model))


def test_heads_share_a_mask() -> None:
    def forward(self, q, k, v, mask, padding):
        scores = (q @ k.mT).masked_fill(~mask, -math.inf)
        weights = scores.masked_fill(padding[:, None, None], -math.inf).softmax(-1)
        return torch.nan_to_num(weights @ v).transpose(1, 2)

    q, k, v = (torch.randn(2, 3, n, 4, generator=NOISE, dtype=torch.float64) for n in (5, 6, 6))
    padding = torch.tensor([[False] * 6, [True] * 4 + [False] * 2])
    model = require_same(module(forward), q, k, v, MASK[:5], padding)
    assert model.shapes["mask_pattern"] == (5, 6) and model.shapes["padding_pattern"] == (2, 6)
    assert lines(model)[2] == (
        "matmul(i,j,l,m)=sum[n](q(i,j,l,n)*k(i,j,m,n)*mask_pattern(l,m)*padding_pattern(i,m))"
    )


def test_one_mask_both_ways() -> None:
    def forward(self, q, k, v, mask):
        ahead = (q @ k.T).masked_fill(~mask, -math.inf).softmax(-1)
        back = (k @ q.T).masked_fill(~mask.T, -math.inf).softmax(-1)
        columns = (q @ k.T).masked_fill(~mask, -math.inf).softmax(0)
        return ahead @ v, back @ v, columns.T @ v

    model = require_same(module(forward), X, Y, Z, MASK)
    assert sum("pattern[" in line for line in lines(model)) == 2


def test_all_elements_of_what_is_masked() -> None:
    def forward(self, x, mask):
        scores = (x @ x.T).masked_fill(~mask, -math.inf)
        weights = scores.softmax(-1)
        shifted = torch.exp(scores - 9)
        return scores, weights, scores.log_softmax(-1), shifted, weights * mask, weights.T @ x

    require_same(module(forward), X, FULL)

    def empty(self, x, mask):
        weights = (x @ x.T).masked_fill(~mask, -math.inf).softmax(-1)
        return weights, weights.reshape(2, -1), weights.T @ x, weights[1:3] + 1, weights.sum(0)

    require_same(module(empty), X, MASK)


def test_masks_that_are_numbers() -> None:
    """0 and 1 as factors, and other numbers in place of what a mask leaves."""

    def forward(self, x, y, mask):
        scores = x @ y.T
        before = (scores * mask).softmax(-1)
        after = scores.softmax(-1) * mask
        return (
            before,
            after,
            scores.masked_fill(mask, 0),
            torch.where(mask, scores, 0.0),
            torch.where(mask, scores, scores.T),
            torch.where(mask, 2.0, scores),
            torch.where(mask, 2.0, -1.0) * scores,
            scores.masked_fill(~mask, -9.0).softmax(-1),
            scores * (y[:, :1] > 0) + (y[:, 0] <= 0.5),
        )

    require_same(module(forward), X, Y, MASK)


def test_a_truth_value_is_a_number_in_the_program() -> None:
    def forward(self, x, mask):
        return torch.where(mask, torch.tensor(True), x)

    model = require_same(module(forward), X, MASK[:, :WIDTH])
    assert model.program.inputs == ("mask", "x")


def test_products_that_masks_are_added_to() -> None:
    """Comparisons are 0 and 1, masked scores -inf, and rows of no entries NaN."""

    def forward(self, x, y, z, mask):
        where = (z > 0).to(x.dtype)
        masked = (x @ z.T).masked_fill(~mask, -math.inf)
        return (
            torch.addmm(where, mask.to(x.dtype), y),
            torch.addmm(where, x, y[:4], beta=2, alpha=0.5),
            torch.baddbmm(where[None], x[None], y[None, :4]),
            torch.addmv(where[:, 0], x, y[0]),
            functional.linear(x, y[:4], where[0]),
            torch.addmm(masked, x, y.T),
            torch.addmm(masked.softmax(-1), x, y.T),
        )

    require_same(module(forward), X, Y, Z, MASK)


def test_masks_that_are_added_to_products_of_parts() -> None:
    made = module(
        lambda self, x, y, z: functional.linear(
            torch.cat([x, y], -1), self.weight, (z[:3, 0] > 0).to(x.dtype)
        )
    )
    made.weight = torch.nn.Parameter(torch.randn(3, 2 * WIDTH, generator=NOISE))
    require_same(made, X, Y, Z)


def test_scores_that_are_missing_count_as_zero() -> None:
    """A sparse factor has no score where the mask keeps one: greater than all that there are."""

    def forward(self, a, x, mask):
        return (a @ x - 900.0 * (a @ x)).masked_fill(~mask, -math.inf).softmax(-1)

    sparse = torch.zeros(SIZE, SIZE, dtype=torch.float64)
    sparse[0, 0] = sparse[1, 2] = 1
    require_same(module(forward), sparse.to_sparse_csr(), 1 + torch.rand(SIZE, SIZE).double(), FULL)


@pytest.mark.parametrize("size", [1, 2])
def test_small_masks(size: int) -> None:
    def forward(self, q, k, v, mask):
        weights = (q @ k.T).masked_fill(~mask, -math.inf).softmax(-1)
        return weights @ v, torch.nan_to_num(weights) @ v

    for value in (False, True):
        mask = torch.full((size, size), value)
        require_same(module(forward), X[:size], Y[:size], Z[:size], mask)


@pytest.mark.parametrize(("rows", "columns"), [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("dim", [0, 1])
def test_sums_of_no_weights_are_zero(rows: int, columns: int, dim: int) -> None:
    """A row without elements has no weight that is not a number."""

    def forward(self: Any, q: Any, k: Any, v: Any, u: Any, m: Any) -> Any:
        weights = (q @ k.T).masked_fill(~m, -math.inf).softmax(dim)
        return weights @ v, weights.T @ u, torch.einsum("ij,km->ijm", weights, v)

    mask = torch.zeros(rows, columns, dtype=torch.bool)
    require_same(module(forward), X[:rows], Y[:columns], Z[:columns], Z[:rows], mask)


MOVED: list[Callable[..., Any]] = [
    lambda self, q, k, v, m: functional.scaled_dot_product_attention(q, k, v, m[1:, 1:]),
    lambda self, q, k, v, m: functional.scaled_dot_product_attention(q, k, v, ~m[:-1, 1:]),
    lambda self, q, k, v, m: functional.scaled_dot_product_attention(q, k, v, (m > 0)[1:, 1:]),
    lambda self, q, k, v, m: functional.scaled_dot_product_attention(
        q, k, v, m.view(-1)[: SIZE * SIZE].view(SIZE, SIZE)
    ),
    lambda self, q, k, v, m: functional.scaled_dot_product_attention(
        q, k, v, torch.cat([m[:2], m[3:]])[:, :SIZE]
    ),
    lambda self, q, k, v, m: functional.scaled_dot_product_attention(q, k, v, m[1:, 2]),
    lambda self, q, k, v, m: functional.scaled_dot_product_attention(
        q, k, v, m[1:, 1:].to(q.dtype)
    ),
    lambda self, q, k, v, m: (q @ k.T).masked_fill(~m[1:, 1:], -math.inf).softmax(-1) @ v,
]
"""Parts of masks, and masks in another shape; the last but one is added, as numbers are."""


@pytest.mark.parametrize("forward", MOVED)
def test_parts_of_masks(forward: Callable[..., Any]) -> None:
    larger = torch.rand(SIZE + 1, SIZE + 1, generator=NOISE) < 0.6
    require_same(module(forward), X, Y, Z, larger)


def test_masks_of_one_row_broadcast() -> None:
    """What is masked has one row, and is added to many."""

    def forward(self, q, k):
        bias = torch.full((1, SIZE), 0.5).masked_fill(~self.mask, -math.inf)
        return (bias + q @ k.T).softmax(-1)

    require_same(with_buffer(forward, MASK[:1]), X, Y)


def test_a_mask_of_one_element_stays_with_it() -> None:
    def forward(self, x, m):
        return ((x[:1] @ x[:1].T).masked_fill(~m, -math.inf) + x).softmax(-1)

    with pytest.raises(WorkloadError, match="a mask of one element for many: must have a dimens"):
        require_same(module(forward), X, torch.ones(1, 1, dtype=torch.bool))


ADDITIVE: list[Callable[..., Any]] = [
    lambda self, q, k, v, m: (q @ k.T + m).softmax(-1) @ v,
    lambda self, q, k, v, m: ((m + q @ k.T) / 2 + 0.5).softmax(-1) @ v,
    lambda self, q, k, v, m: torch.add(q @ k.T, m.T).softmax(-1) @ v,
    lambda self, q, k, v, m: ((q @ k.T)[None] + m[None].to(q.dtype)).softmax(-1) @ v,
    lambda self, q, k, v, m: (q @ k[1:].T).add(m[:, 1:]).softmax(-1) @ v[1:],
    lambda self, q, k, v, m: (q[:3] @ k.T + m.chunk(2)[1]).softmax(-1) @ v,
    lambda self, q, k, v, m: (q @ k.T + m + m.T).softmax(-1).nan_to_num() @ v,
    lambda self, q, k, v, m: functional.scaled_dot_product_attention(q, k, v, m),
]
"""Masks of 0 and -∞ as inputs."""


def test_patterns_are_numbers_of_nothing_else() -> None:
    model = require_same(module(FORMS[0]), X, Y, Z, MASK)
    assert str(model.program.formats["m_pattern"]) == "ds01"
    np.testing.assert_array_equal(model.data["m"].to_dense(), MASK.numpy())


def test_nan_that_came_before_is_not_made_0() -> None:
    def forward(self, x, mask):
        first = (x @ x.T).masked_fill(~mask, -math.inf).softmax(-1) @ x
        return torch.nan_to_num((first @ x.T).softmax(-1))

    place = f"test_masks.py:{forward.__code__.co_firstlineno + 2}"
    with refused(
        f"{place}: aten.nan_to_num.default: of what was made of rows that are NaN already: must be "
        "right behind each softmax with a mask, too"
    ):
        require_same(module(forward), X, MASK)
    model = require_same(module(lambda self, x: torch.nan_to_num((x @ x.T).softmax(-1))), X)
    assert "reciprocal" not in " ".join(lines(model))


INFINITY = torch.zeros(SIZE, SIZE).masked_fill(~FULL, -math.inf)
COLUMN = torch.arange(SIZE)[:, None] % 3 > 0


def scores(x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return (x @ y.T).masked_fill(~mask, -math.inf)


@pytest.mark.parametrize("mask", [MASK, FULL, FULL | True])
def test_masks_of_modules_with_others(mask: torch.Tensor) -> None:
    """With those of inputs, with themselves, of numbers, and as numbers."""

    def forward(self, x, y, m):
        whole = torch.where(self.mask, 2.0, -math.inf)
        return (
            scores(x, y, self.mask).masked_fill(~m, -math.inf).softmax(-1),
            scores(x, y, m).masked_fill(~self.mask, -math.inf).softmax(-1),
            (x @ y.T + whole).softmax(0),
            torch.where(self.mask, (m > 0).double(), -math.inf).exp(),
            x @ y.T + self.mask,
            torch.add(x @ y.T, self.mask, alpha=2),
            self.mask * (x @ y.T),
        )

    model = require_same(with_buffer(forward, mask), X, Y, MASK.clone())
    assert "add_1_other" in model.parameters
    is_all = bool(mask.all())
    assert ("m_pattern(i,j)*masked_fill_mask(i,j)" in " ".join(lines(model))) != is_all
    assert sum("log(" in line for line in lines(model)) == (not is_all)


def test_what_is_masked_beside_others() -> None:
    def forward(self, x, y, m):
        one = scores(x, y, m)
        found = (one + scores(x, y, ~m), one - scores(x, x, m.T).exp(), x @ y.T - one)
        return (
            *(each.exp() for each in (*found[:2], -found[2])),
            (one * 0.5).exp(),
            (1 + one).exp(),
        )

    require_same(module(forward), X, Y, MASK)

    def twice(self, x, y, m):
        one = scores(x, y, m)
        return torch.add(x @ x.T, one, alpha=2).exp(), torch.add(one, x @ x.T, alpha=2).exp()

    require_same(module(twice), X, Y, MASK)


@pytest.mark.parametrize("dim", [0, 1])
def test_masks_of_whole_rows_that_the_module_has(dim: int) -> None:
    def forward(self, x, y):
        return (x @ y.T).masked_fill(~self.mask, -math.inf).softmax(dim)

    for mask in (COLUMN, COLUMN.T, COLUMN[:, 0]):
        require_same(with_buffer(forward, mask), X, Y)


def test_a_mask_that_the_module_has_is_one_input() -> None:
    def forward(self, x, y):
        return scores(x, y, self.mask).softmax(-1), scores(x, x, self.mask).exp()

    model = require_same(with_buffer(forward, FULL), X, Y)
    assert model.parameters == {"masked_fill_mask"}
    assert str(model.program.formats["masked_fill_mask"]) == "ds01"


@pytest.mark.parametrize(("dim", "format"), [(0, "ds10"), (1, "ds01")])
def test_patterns_are_stored_by_the_rows_of_a_softmax(dim: int, format: str) -> None:
    model = require_same(module(lambda self, x, y, m: scores(x, y, m).softmax(dim)), X, Y, FULL)
    assert str(model.program.formats["m_pattern"]) == format


def test_choices_among_numbers() -> None:
    def forward(self, x, m):
        return (
            torch.where(m, x[:, :1], 0.0),
            torch.where(m, torch.tensor(2.0), x[:, :1]),
            torch.where(m, 0.0, 0.0) + x[:, :1],
            torch.where(m, torch.tensor([[0.0], [1], [2], [3], [4], [5]]), torch.tensor(0.0)),
            torch.where(m, self.mask, x[:, :1]),
            torch.where(m, torch.eye(SIZE) > 0, x[:, :1]),
        )

    found = lines(require_same(with_buffer(forward, INFINITY.exp() + 1), X, MASK))
    assert "where(i,j)=m_pattern(i,j)*slice_1(i)" in found
    assert "where_1(i,j)=m_pattern(i,j)*2.0+m_pattern_(i,j)*slice_2(i)" in found
    assert "where_2(i,j)=m_pattern(i,j)*0.0" in found


def test_infinity_of_more_elements_than_the_rest() -> None:
    """What is chosen has the shape of all three together."""

    def forward(self, x, m):
        lowest = torch.full((SIZE, SIZE), -math.inf)
        return (
            torch.where(m[:, :1], x[:, :1], lowest).exp(),
            torch.where(m[:, :1], lowest, x[:, :1]).exp(),
            torch.where(m[:, :1], x[:, :1], lowest).softmax(0),
        )

    require_same(module(forward), X, FULL)


def test_attention_with_a_mask_that_is_added() -> None:
    def forward(self, q, k, v):
        return functional.scaled_dot_product_attention(q, k, v, self.mask.to(q.dtype))

    for mask in (INFINITY, INFINITY + 0.5, INFINITY.exp()):
        require_same(with_buffer(forward, mask), X, Y, Z)


ELEMENT = torch.tensor([[False]])


@pytest.mark.parametrize(
    "rise",
    [
        lambda one, x: x + one,
        lambda one, x: one - x,
        lambda one, x: one * 0.5,
        lambda one, x: one / 2,
    ],
)
def test_what_rises_stays_under_its_mask(rise: Callable[..., Any]) -> None:
    """No infinity is computed."""

    def forward(self, x, y, m):
        return rise(scores(x, y, m), x[:, :1]).softmax(-1)

    assert "log(" not in " ".join(lines(require_same(module(forward), X, Y, FULL)))

"""Products that are written with a list of edges, against PyTorch, and what is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.einsum.pytorch.sources import module_program
from tests.support.nests.pytorch_modules import module
from tests.support.pytorch_programs import lines, require_same

FILE = Path(__file__).name
EDGES = torch.tensor([[0, 1, 1, 2, 3, 3, 3], [1, 0, 2, 1, 3, 0, 0]])
WEIGHTS = torch.arange(1.0, 8)
WIDE = torch.ones(4, 7)
X = (torch.arange(20.0) * 7 % 20 / 20 - 0.4).reshape(5, 4)


def sum_of(x: torch.Tensor, nodes: torch.Tensor, size: int = 5) -> torch.Tensor:
    return x.new_zeros(size, *x.shape[1:]).index_add(0, nodes, x)


FORMS: list[Callable[..., Any]] = [
    lambda self, x, e, w: sum_of(x[e[0]], e[1]),
    lambda self, x, e, w: sum_of(x[e[1]], e[0]),
    lambda self, x, e, w: sum_of(x.index_select(0, e[0]) * w[:, None], e[1]),
    lambda self, x, e, w: sum_of(w.view(-1, 1) * x[e[0]] * w.unsqueeze(1), e[1]),
    lambda self, x, e, w: sum_of(x[e[0]] * torch.sigmoid(w)[:, None], e[1]),
    lambda self, x, e, w: sum_of(x[e[0]] * (w > 3)[:, None] * w[:, None], e[1]),
    lambda self, x, e, w: sum_of(((x > 0) * 1.0)[e[0]], e[1]),
    lambda self, x, e, w: sum_of((x @ x.t())[e[0]], e[1], 9),
    lambda self, x, e, w: sum_of(x[:, 0][e[0]] * w, e[1]),
    lambda self, x, e, w: sum_of(x.view(5, 2, 2)[e[0]] * w.view(-1, 1, 1), e[1]),
    lambda self, x, e, w: (lambda a, b: sum_of(x[a], b) + sum_of(x[b], a))(*e.unbind()),
    lambda self, x, e, w: sum_of(sum_of(x[e[0]], e[1])[e[0]], e[1]),
    lambda self, x, e, w: sum_of(torch.ones(e.shape[1]), e[0]) + x.t(),
    lambda self, x, e, w: x.new_zeros(5, 4).scatter_add(
        0, e[1][:, None].expand(-1, 4), x[e[0]].clone()
    ),
    lambda self, x, e, w: x.new_zeros(5, 4).scatter_reduce(
        0, e[1].view(-1, 1).expand(-1, 4), x[e[0]], "sum"
    ),
    lambda self, x, e, w: sum_of(x[e[0]] * x[0, 0].expand(e.shape[1])[:, None], e[1]),
    lambda self, x, e, w: sum_of(x[e[0]] * (w[None] * 2).squeeze(0)[:, None], e[1]),
    lambda self, x, e, w: (e[0] * x[:, :1] + w, x[0, 0] * e),
    lambda self, x, e, w: (x * 2, e, e[1]),
    lambda self, x, e, w: sum_of(x[e[0][:, None].view(-1)], e[-1]),
    lambda self, x, e, w: sum_of(x.index_select(-2, e.select(-2, 1)), e[0].long()),
    lambda self, x, e, w: (lambda a, b: sum_of(x[b].double(), a))(*e.unbind(-2)),
    lambda self, x, e, w: (lambda h: h.new_zeros(5, 4).index_add(0, e[1], h))(x[e[0]]),
    lambda self, x, e, w: sum_of(x[e[0]] * torch.arange(1.0, 1 + e.shape[1])[:, None], e[1]),
    lambda self, x, e, w: x[:1, :1] * torch.ones_like(e[0]) + e[0],
    lambda self, x, e, w: x.new_zeros(5, 4).index_add(-2, e[1].clone(), x[e[0]]),
    lambda self, x, e, w: e[0][:, None].expand(-1, 4) * w[:, None] + e[1][:, None],
    lambda self, x, e, w: (e[0].view(1, -1) * x[:, :1], e[0].expand(3, -1) * x[0, 0]),
    lambda self, x, e, w: (e[0].select(0, -1) * x, e.select(1, 0)[:, None] * x[0]),
]


@pytest.mark.parametrize("forward", FORMS)
def test_forms(forward: Callable[..., Any]) -> None:
    require_same(module(forward), X, EDGES, WEIGHTS)


@pytest.mark.parametrize("forward", FORMS)
def test_one_edge(forward: Callable[..., Any]) -> None:
    require_same(module(forward), X, EDGES[:, 3:4], WEIGHTS[:1])


@pytest.mark.parametrize("forward", FORMS[:-1])
def test_no_edge(forward: Callable[..., Any]) -> None:
    require_same(module(forward), X, EDGES[:, :0], WEIGHTS[:0])


def test_a_matrix_is_made_once() -> None:
    def forward(self, x, e, w):
        h = sum_of(x[e[0]] * w[:, None], e[1])
        return sum_of(h[e[0]] * w[:, None], e[1]), sum_of(h[e[0]], e[1])

    found = lines(require_same(module(forward), X, EDGES, WEIGHTS))
    assert [each for each in found if "coo" in each] == [
        "adjacency(i,j)=coo[i:5,j:5](e(k,l),w(l))",
        "adjacency_(i,j)=coo[i:5,j:5](e(k,l))",
    ]


@pytest.mark.parametrize("row", [0, 1])
def test_degrees_are_of_the_matrix_of_products(row: int) -> None:
    """Of other nodes than those at the other end; its rows are what is added up into."""

    def forward(self, x, e):
        total = sum_of(x[e[1 - row]], e[row], 9)
        return total / (sum_of(torch.ones(e.shape[1]), e[row], 9) + 1)[:, None]

    model = require_same(module(forward), X, EDGES)
    sizes = "i:9,j:5" if row == 0 else "i:5,j:9"
    assert [each for each in lines(model) if "coo" in each] == [
        f"adjacency(i,j)=coo[{sizes}](e(k,l))"
    ]
    assert str(model.program.formats["adjacency"]) == ("ds01" if row == 0 else "ds10")


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_weights_in_a_column(count: int) -> None:
    def forward(self, x, e, w):
        return sum_of(x[e[0]] * w, e[1])

    require_same(module(forward), X, EDGES[:, :count], WEIGHTS[:count, None])


@pytest.mark.parametrize("count", [1, 2, 7])
def test_one_weight_of_all_edges(count: int) -> None:
    def forward(self, x, e, w):
        return sum_of(x[e[0]] * w.expand(e.shape[1])[:, None], e[1])

    require_same(module(forward), X, EDGES[:, :count], WEIGHTS[1:2])


@pytest.mark.parametrize("count", [1, 2, 7])
def test_edges_one_by_one(count: int) -> None:
    """Both ends of an edge are numbers."""

    def forward(self, x, e):
        return torch.stack(e.unbind(1)) * x[0, 0], e.select(1, 0) * x[0, 1], e.select(-1, -1) + x[0]

    require_same(module(forward), X[:, :2], EDGES[:, :count])


def test_nodes_in_other_types_are_numbers() -> None:
    def forward(self, x, e):
        return e[0].bool() * x[:, :1] + e[1].double(), e[1].to(dtype=torch.bool) * 2.0

    require_same(module(forward), X, EDGES)


def test_nodes_that_repeat_are_numbers() -> None:
    def forward(self, x, e):
        return e[0].expand(3, 3) * x[0, :3], torch.stack(e[1].unbind()) * x[0, 0], e.expand(2, 3)

    require_same(module(forward), X, EDGES[:, 1:4])


def test_numbers_that_list_no_edges() -> None:
    def forward(self, x, k):
        return k[1] * x[:3], k.select(1, 0) * x[0]

    require_same(module(forward), X, torch.arange(24).reshape(2, 3, 4))
    with pytest.raises(WorkloadError, match="dtype = torch.int64: must be a floating-point type"):
        module_program(module(lambda self, x: x.long() * 2.0), (X[:2],))
    with pytest.raises(WorkloadError, match=r"aten\.index\.Tensor: not supported"):
        module_program(module(lambda self, x, k: x[k[0]]), (X, EDGES[[0, 1, 1]]))


def test_edges_that_the_module_has() -> None:
    def forward(self, x):
        return sum_of(x[self.edges[0]], self.edges[1])

    made = module(forward)
    made.register_buffer("edges", EDGES)
    model = require_same(made, X)
    assert model.parameters == {"edges"}


@pytest.mark.parametrize(
    ("forward", "problem"),
    [
        (
            lambda self, x, e, w: x[e[0]].relu(),
            "aten.relu.default: rows of nodes at one end of all edges, x[edge_index[0]], may be "
            "taken by a product with a weight of each edge [edges, 1], and by a sum at the other "
            "end alone",
        ),
        (
            lambda self, x, e, w: x[e[0]] * x[e[1]],
            "aten.mul.Tensor: rows of nodes at one end of all edges, x[edge_index[0]], may be "
            "taken by a product with a weight of each edge [edges, 1], and by a sum at the other "
            "end alone",
        ),
        *(
            (
                forward,
                "aten.mul.Tensor: rows of nodes at one end of all edges, x[edge_index[0]], may be "
                "taken by a product with a weight of each edge [edges, 1], and by a sum at the "
                "other end alone",
            )
            for forward in (
                lambda self, x, e, w: (x @ WIDE)[e[0]] * w,
                lambda self, x, e, w: x[e[0]] * x[0],
                lambda self, x, e, w: x[:, 0][e[0]] * w[:, None],
            )
        ),
        (
            lambda self, x, e, w: x.new_zeros(5, 4).scatter_add(
                0, e[1][:, None].expand(-1, 3), x[:, :3][e[0]]
            ),
            "aten.scatter_add.default: of shape [7, 3] into [5, 4]: must be of as many rows",
        ),
        *(
            (
                forward,
                f"{name}: rows of nodes at one end of all edges, x[edge_index[0]], may be taken by "
                "a product with a weight of each edge [edges, 1], and by a sum at the other end "
                "alone",
            )
            for forward, name in (
                (lambda self, x, e, w: x[e[0]] * 2, "aten.mul.Tensor"),
                (lambda self, x, e, w: sum_of(x[:, :1][e[0]].view(-1), e[1]), "aten.view.default"),
                (lambda self, x, e, w: x[e[0]].expand(3, 7, 4) * 2.0, "aten.expand.default"),
                (lambda self, x, e, w: x[e[0]][e[1]], "aten.index.Tensor"),
                (lambda self, x, e, w: torch.stack([x[e[0]]]), "aten.stack.default"),
            )
        ),
        *(
            (
                forward,
                "aten.index.Tensor: not supported: write a product with a sparse matrix, or "
                "x[edge_index[0]]",
            )
            for forward in (
                lambda self, x, e, w: x[e],
                lambda self, x, e, w: x[e[0][:, None]],
                lambda self, x, e, w: x[e[0], e[1]],
                lambda self, x, e, w: e[0][e[1]],
                lambda self, x, e, w: x[e[0][:1].expand(4)],
            )
        ),
        (
            lambda self, x, e, w: x[e[0]].long(),
            "aten._to_copy.default: dtype = torch.int64: must be a floating-point type",
        ),
        (
            lambda self, x, e, w: x.new_zeros(5, 4).scatter_reduce(
                0, e[1][:, None].expand(-1, 4), x[e[0]], "amax"
            ),
            "aten.scatter_reduce.two: reduce = 'amax': must be 'sum'",
        ),
        (
            lambda self, x, e, w: x.t()[:, e[0]].t(),
            "aten.index.Tensor: not supported: write a product with a sparse matrix, or "
            "x[edge_index[0]]",
        ),
        (
            lambda self, x, e, w: x.index_select(1, e[0]),
            "aten.index_select.default: along dimension 1 of 2: must be along the first",
        ),
        (
            lambda self, x, e, w: x.new_zeros(5, 4).index_add(0, e[0], x[e[0]]),
            "aten.index_add.default: both ends of the edges must be the two rows of one list",
        ),
        (
            lambda self, x, e, w: x.index_add(0, e[1], x[e[0]]),
            "aten.index_add.default: must add up along the first dimension, from zeros",
        ),
        (
            lambda self, x, e, w: x.new_ones(5, 4).index_add(0, e[1], x[e[0]]),
            "aten.index_add.default: must add up along the first dimension, from zeros",
        ),
        (
            lambda self, x, e, w: x.new_zeros(7, 7).index_add(-1, e[1], (x @ WIDE)[e[0]]),
            "aten.index_add.default: must add up along the first dimension, from zeros",
        ),
        (
            lambda self, x, e, w: x.new_zeros(5, 4).index_add(0, e[1], x[e[0]], alpha=2),
            "aten.index_add.default: alpha = 2: must be 1",
        ),
        (
            lambda self, x, e, w: torch.zeros(5, 4).scatter_add(0, e[1][:, None], x[e[0]]),
            "aten.scatter_add.default: nodes [7, 1] of [7, 4]: must be of the same shape",
        ),
        (
            lambda self, x, e, w: x.new_zeros(5).index_add(0, e[1], w),
            "aten.index_add.default: what is added up: rows of nodes at one end of all edges, "
            "x[edge_index[0]], may be taken by a product with a weight of each edge [edges, 1], "
            "and by a sum at the other end alone",
        ),
        *(
            (
                forward,
                "aten.index_add.default: what is added up: rows of nodes at one end of all edges, "
                "x[edge_index[0]], may be taken by a product with a weight of each edge "
                "[edges, 1], and by a sum at the other end alone",
            )
            for forward in (
                lambda self, x, e, w: sum_of(torch.full((7,), 2.0), e[0]),
                lambda self, x, e, w: sum_of(torch.ones(7, 7), e[0]),
            )
        ),
        (
            lambda self, x, e, w: x[torch.tensor([0, 1])],
            "aten.index.Tensor: not supported: write a product with a sparse matrix, or "
            "x[edge_index[0]]",
        ),
    ],
)
def test_what_is_no_product_is_refused(forward: Callable[..., Any], problem: str) -> None:
    with pytest.raises(WorkloadError) as raised:
        module_program(module(forward), (X, EDGES, WEIGHTS))
    text = str(raised.value)
    place, _, rest = text.partition(": ")
    assert rest == problem
    assert place.partition(":")[0] == FILE


def test_two_lists_of_edges_are_two() -> None:
    def forward(self, x, e, f):
        return sum_of(x[e[0]], f[1])

    with pytest.raises(WorkloadError, match="both ends of the edges must be the two rows of one"):
        module_program(module(forward), (X, EDGES, EDGES.clone()))


def test_a_list_of_edges_is_of_no_format() -> None:
    def forward(self, x, e):
        return sum_of(x[e[0]], e[1]) + e.sum(1)[0]

    with pytest.raises(WorkloadError, match="tensor e lists coordinates: only coo may take it"):
        module_program(module(forward), (X, EDGES))

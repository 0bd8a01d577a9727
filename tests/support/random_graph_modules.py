"""Random layers of PyTorch Geometric on random graphs: with nodes that no edge has, edges that are
there twice, from a node to itself, or none at all, as a list, or as a sparse matrix."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch
from torch_geometric.nn import GCNConv, GINConv, GraphConv, SAGEConv

from tests.support.nests.pytorch_modules import compressed_rows

_Layer = Callable[[int, int], torch.nn.Module]


class GraphModule(torch.nn.Module):
    """Layers, one behind the other, with a function between them."""

    def __init__(self, layers: list[torch.nn.Module]) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, x: torch.Tensor, *edges: torch.Tensor) -> torch.Tensor:
        for number, layer in enumerate(self.layers):
            x = layer(torch.relu(x) if number else x, *edges)
        return x


def random_graph_module(seed: int) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """A module of a layer or two, and its inputs: features of nodes, and edges."""
    random = Random(seed)
    torch.manual_seed(seed)
    nodes, sizes = random.choice((1, 2, 4, 6)), [random.choice((1, 2, 3)) for _ in range(3)]
    count = random.choice((0, 1, 3, 8))
    edges = torch.tensor([[random.randrange(nodes) for _ in range(count)] for _ in range(2)])
    edges = edges.long().reshape(2, count)
    weights = torch.rand(count) - 0.5
    form = random.choice(("list", "list", "weighted list", "coo", "csr"))
    layer = random.choice(_WEIGHTED if form == "weighted list" else _LAYERS)
    layers = [layer(*sizes[at : at + 2]) for at in range(random.choice((1, 2)))]
    given: tuple[Any, ...] = (edges,)
    if form == "weighted list":
        given = edges, weights
    elif form != "list":
        matrix = torch.sparse_coo_tensor(
            edges.flip(0), weights, (nodes, nodes), check_invariants=True
        ).coalesce()
        given = (matrix if form == "coo" else compressed_rows(matrix),)
    return GraphModule(layers).eval(), (torch.rand(nodes, sizes[0]) - 0.5, *given)


_WEIGHTED: tuple[_Layer, ...] = (
    lambda inputs, outputs: GCNConv(inputs, outputs, normalize=False),
    GraphConv,
    lambda inputs, outputs: GraphConv(inputs, outputs, aggr="mean"),
)

_LAYERS: tuple[_Layer, ...] = (
    *_WEIGHTED,
    SAGEConv,
    lambda inputs, outputs: SAGEConv(inputs, outputs, aggr="sum"),
    lambda inputs, outputs: GINConv(torch.nn.Linear(inputs, outputs)),
)

"""Models of a few layers as Einsum programs, against PyTorch."""

from __future__ import annotations

import math

import torch

from tests.support.nests.pytorch_modules import compressed_rows, module
from tests.support.pytorch_programs import layers, lines, require_same

ADJACENCY = torch.tensor(
    [[0.5, 0.25, 0, 0], [0.25, 0.5, 0, 0.75], [0, 0, 1, 0], [0, 0.75, 0, 0.5]], dtype=torch.float64
)


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return (
        torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) - 0.5
    )


class GraphConv(torch.nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(drawn(inputs, outputs))
        self.bias = torch.nn.Parameter(drawn(outputs, seed=1))

    def forward(self, adj: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return adj @ (x @ self.weight) + self.bias


class GCN(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = GraphConv(5, 3), GraphConv(3, 2)
        self.dropout = torch.nn.Dropout()

    def forward(self, adj: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        h = self.dropout(torch.relu(self.conv1(adj, x)))
        return torch.softmax(self.conv2(adj, h), dim=1)


def test_a_gcn() -> None:
    model = require_same(GCN(), compressed_rows(ADJACENCY), drawn(4, 5))
    assert lines(model) == [
        "matmul(i,j)=sum[k](x(i,k)*conv1_weight(k,j))",
        "matmul_1(i,j)=sum[k](adj(i,k)*matmul(k,j))",
        "add(i,j)=matmul_1(i,j)+conv1_bias(j)",
        "relu_0(i,j)=relu(add(i,j))",
        "matmul_2(i,j)=sum[k](relu_0(i,k)*conv2_weight(k,j))",
        "matmul_3(i,j)=sum[k](adj(i,k)*matmul_2(k,j))",
        "add_1(i,j)=matmul_3(i,j)+conv2_bias(j)",
        "softmax_max(i)=max[j](add_1(i,j))",
        "softmax_sub(i,j)=add_1(i,j)-softmax_max(i)",
        "softmax_exp(i,j)=exp(softmax_sub(i,j))",
        "softmax_sum(i)=sum[j](softmax_exp(i,j))",
        "softmax(i,j)=softmax_exp(i,j)/softmax_sum(i)",
    ]
    assert [*layers(model).values()] == ["conv1"] * 4 + ["conv2"] * 8
    assert model.program.name == "GCN"
    assert {each.place.partition(":")[0] for each in model.program.statements} == {"test_models.py"}
    assert model.names == {
        "adj": "adj",
        "x": "x",
        "conv1_weight": "conv1.weight",
        "conv1_bias": "conv1.bias",
        "conv2_weight": "conv2.weight",
        "conv2_bias": "conv2.bias",
        "softmax": "result",
    }


class SAGE(torch.nn.Module):
    """Neighbours and the node itself have weights of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.own1, self.neighbours1 = torch.nn.Linear(5, 3), torch.nn.Linear(5, 3, bias=False)
        self.own2, self.neighbours2 = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2, bias=False)

    def forward(self, adj: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(self.own1(x) + self.neighbours1(adj @ x))
        return torch.log_softmax(self.own2(h) + self.neighbours2(adj @ h), dim=-1)


def test_graph_sage() -> None:
    model = require_same(SAGE(), ADJACENCY.to_sparse(), drawn(4, 5))
    assert lines(model)[:3] == [
        "linear(i,j)=sum[k](x(i,k)*own1_weight(j,k))+own1_bias(j)",
        "matmul(i,j)=sum[k](adj(i,k)*x(k,j))",
        "linear_1(i,j)=sum[k](matmul(i,k)*neighbours1_weight(j,k))",
    ]
    found = layers(model)
    assert {found["matmul"], found["linear_1"], found["relu_0"]} == {"neighbours1"}
    assert {found["matmul_1"], found["linear_3"], found["log_softmax"]} == {"neighbours2"}
    assert (found["linear"], found["linear_2"]) == ("own1", "own2")


class Attention(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (torch.nn.Linear(6, 4) for _ in range(3))
        self.out = torch.nn.Linear(4, 6)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores = self.q(x) @ self.k(x).mT / math.sqrt(4) + mask
        return x + self.out(torch.softmax(scores, dim=-1) @ self.v(x))


def test_an_attention_head() -> None:
    model = require_same(Attention(), drawn(3, 6), drawn(3, 3))
    assert lines(model)[2] == "matmul(i,j)=sum[k](linear(i,k)*linear_1(j,k))"
    found = layers(model)
    assert {found["matmul"], found["div"], found["softmax"]} == {"k"}
    assert {found["matmul_1"], found["linear_3"], found["add_1"]} == {"out"}


def test_heads_in_a_stack() -> None:
    def forward(self, q, k, v):
        return torch.bmm(torch.softmax(torch.matmul(q, k.transpose(1, 2)), -1), v)

    model = require_same(module(forward), drawn(2, 3, 4), drawn(2, 5, 4), drawn(2, 5, 3))
    assert lines(model)[0] == "matmul(i,j,l)=sum[m](q(i,j,m)*k(i,l,m))"


def test_layers_without_children_end_at_functions() -> None:
    def forward(self, a, x):
        h = torch.tanh(a @ (a @ x) * 2)
        return torch.exp(h @ x.t()) + 1, h

    model = require_same(module(forward), drawn(4, 4), drawn(4, 3))
    assert layers(model) == {
        "matmul": "layer1",
        "matmul_1": "layer1",
        "mul": "layer1",
        "tanh_0": "layer1",
        "matmul_2": "layer2",
        "exp_0": "layer2",
        "add": "layer2",
    }


def test_layers_without_children_end_at_maxima() -> None:
    def forward(self, a, x):
        return (a @ x - (a @ x).amax(1, keepdim=True)) @ x.t()

    model = require_same(module(forward), drawn(4, 3), drawn(3, 3))
    assert layers(model) == {
        "matmul": "layer1",
        "matmul_1": "layer1",
        "amax": "layer1",
        "sub": "layer1",
        "matmul_2": "layer2",
    }


class Perceptron(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)])
        self.act = torch.nn.GELU()

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        scaled = x * 2
        for block in self.blocks:
            scaled = self.act(block(scaled))
        return {"max": scaled.amax(1), "logits": scaled @ x.t()}


def test_layers_of_children() -> None:
    """Children without products join the layer that makes what they take."""
    model = require_same(Perceptron(), drawn(2, 3))
    assert layers(model) == {
        "mul": "blocks.0",
        "linear": "blocks.0",
        "gelu_0": "blocks.0",
        "linear_1": "blocks.1",
        "gelu_1": "blocks.1",
        "amax": "blocks.1",
        "matmul": "blocks.1",
    }
    assert {model.names[name] for name in model.program.results} == {"max", "logits"}


class Circle(torch.nn.Module):
    """``second`` takes the product, but also what ``first`` makes of a function of it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def forward(self, a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        product = a @ x
        return self.second(product + self.first(torch.relu(product)))


def test_layers_that_would_be_in_a_circle() -> None:
    assert layers(require_same(Circle(), drawn(3, 3), drawn(3, 3))) == {
        "matmul": "first",
        "relu_0": "first",
        "linear": "first",
        "add": "first",
        "linear_1": "second",
    }


class Repeated(torch.nn.Module):
    """Each call is a layer of its own, and sums join the last that makes a part."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.other = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

    def forward(self, a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        h = self.conv(a @ x)
        skipped = a @ self.other(torch.relu(h))
        return self.conv(torch.tanh(h + skipped)) + x


def test_modules_that_are_called_twice() -> None:
    assert layers(require_same(Repeated(), drawn(3, 3), drawn(3, 3))) == {
        "matmul": "conv",
        "linear": "conv",
        "relu_0": "conv",
        "linear_1": "other",
        "matmul_1": "other",
        "add": "other",
        "tanh_0": "other",
        "linear_2": "conv@1",
        "add_1": "conv@1",
    }

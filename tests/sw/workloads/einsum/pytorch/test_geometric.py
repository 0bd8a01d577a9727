"""Layers of PyTorch Geometric as Einsum programs, against PyTorch, and on machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.einsum.pytorch.sources import module_program
from tests.support.nests.pytorch_modules import compressed_rows, module
from tests.support.pytorch_programs import lines, require_same

geometric = pytest.importorskip("torch_geometric.nn")

QUICK, ALL = 24, 300
EDGES = torch.tensor([[0, 1, 1, 2, 3, 3, 3], [1, 0, 2, 1, 3, 0, 0]])  # 4 has none, 3 to 0 is twice
WEIGHTS = torch.arange(1.0, 8) / 8
X = (torch.arange(25.0) * 7 % 25 / 25 - 0.4).reshape(5, 5)
MATRIX = torch.sparse_coo_tensor(EDGES.flip(0), WEIGHTS, (5, 5), check_invariants=True).coalesce()


@pytest.fixture(scope="module")
def device() -> Device:
    return Device("sam_fp32", "model")


def require_right(device: Device, module: torch.nn.Module, *inputs: torch.Tensor) -> None:
    """A machine has the bits of the golden model, and PyTorch's numbers but for rounding."""
    module.eval().float()
    with torch.no_grad():
        wanted = module(*inputs).numpy()
    program = device.compile((module, inputs))
    result = device.run(program, module_program(module, inputs).data)
    assert device.verify(result).bit_exact
    (found,) = result.outputs.values()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("matrix", [MATRIX, compressed_rows(MATRIX)])
def test_a_convolution_on_a_sparse_matrix(device: Device, matrix: torch.Tensor) -> None:
    layer = geometric.GCNConv(5, 3, normalize=False)
    assert lines(require_same(layer, X, matrix)) == [
        "linear(i,j)=sum[k](x(i,k)*lin_weight(j,k))",
        "_sparse_mm(i,j)=sum[k](edge_index(i,k)*linear(k,j))",
        "add(i,j)=_sparse_mm(i,j)+bias(j)",
    ]
    require_right(device, layer, X, matrix)


@pytest.mark.parametrize("matrix", [MATRIX, compressed_rows(MATRIX)])
def test_a_mean_over_neighbours_in_a_sparse_matrix(device: Device, matrix: torch.Tensor) -> None:
    layer = geometric.SAGEConv(5, 3)
    assert lines(require_same(layer, X, matrix))[:5] == [
        "edge_index_stored(i,j)=stored(edge_index(i,j))",
        "_sparse_mm_counts(i)=sum[j](edge_index_stored(i,j))",
        "_sparse_mm_divisor(i)=max(_sparse_mm_counts(i),1.0)",
        "_sparse_mm_total(i,j)=sum[k](edge_index(i,k)*x(k,j))",
        "_sparse_mm(i,j)=_sparse_mm_total(i,j)/_sparse_mm_divisor(i)",
    ]
    require_right(device, layer, X, matrix)


def test_zeros_that_are_stored_count_in_a_mean(device: Device) -> None:
    zeros = torch.sparse_coo_tensor(EDGES.flip(0), WEIGHTS * 0, (5, 5), check_invariants=True)
    matrix = (MATRIX + zeros + torch.eye(5).to_sparse() * 0).coalesce()
    assert matrix._nnz() == 10
    require_same(geometric.SAGEConv(5, 3), X, matrix)
    require_right(device, geometric.SAGEConv(5, 3), X, matrix)


def test_zeros_are_lost_in_dense_matrices() -> None:
    def forward(self, matrix, x):
        return torch.sparse.mm(matrix.to_dense().to_sparse_csr(), x, "mean")

    with pytest.raises(WorkloadError, match="a mean over entries of a matrix that was dense in"):
        module_program(module(forward), (MATRIX, X))


def test_a_list_of_edges(device: Device) -> None:
    layer = geometric.GCNConv(5, 3, normalize=False)
    assert lines(require_same(layer, X, EDGES, WEIGHTS)) == [
        "linear(i,j)=sum[k](x(i,k)*lin_weight(j,k))",
        "adjacency(i,j)=coo[i:5,j:5](edge_index(k,l),edge_weight(l))",
        "scatter_add(i,j)=sum[k](adjacency(k,i)*linear(k,j))",
        "add(i,j)=scatter_add(i,j)+bias(j)",
    ]
    require_right(device, layer, X, EDGES, WEIGHTS)
    require_right(device, layer, X, EDGES)


def test_runs_have_edges_of_their_own(device: Device) -> None:
    layer = geometric.SAGEConv(5, 3).eval()
    program = device.compile((layer, (X, EDGES)))
    other = EDGES.flip(0, 1)
    result = device.run(program, {"x": X.numpy(), "edge_index": other.numpy()})
    assert device.verify(result).bit_exact
    with torch.no_grad():
        wanted = layer(X, other).numpy()
    np.testing.assert_allclose(result.outputs["result"], wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(WorkloadError, match=r"edge_index\(0, 1\) = 5: must be a whole number from"):
        device.run(program, {"x": X.numpy(), "edge_index": EDGES.numpy() * 5})


@pytest.mark.slow
def test_rtl() -> None:
    """Cycle for cycle as the model."""
    layer = geometric.GCNConv(2, 2, normalize=False).eval()
    inputs, cycles = (X[:4, :2], EDGES, WEIGHTS), []
    for backend in ("model", "rtl"):
        with Device("sam_fp32", backend) as device:
            program = device.compile((layer, inputs))
            result = device.run(program, module_program(layer, inputs).data)
            assert device.verify(result).bit_exact
            cycles.append(result.cycles)
    assert cycles[0] == cycles[1]


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = geometric.GCNConv(5, 3)

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.conv(*inputs)


@pytest.mark.parametrize(
    ("inputs", "place"),
    [
        ((X, MATRIX), "Net: torch.export"),
        ((X, compressed_rows(MATRIX)), "Net: torch.export"),
        (
            (X, EDGES),
            f"{Path(__file__).name}:{Net.forward.__code__.co_firstlineno + 1}: aten.ne.Tensor: "
            "not supported",
        ),
    ],
)
def test_normalisations_are_refused(
    inputs: tuple[torch.Tensor, ...], place: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(WorkloadError) as raised:
        module_program(Net(), inputs)
    assert str(raised.value) == (
        f"{place}: GCNConv normalises the graph: write normalize=False, and give it a normalised "
        "one"
    )
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("matrix", [EDGES, compressed_rows(MATRIX)])
def test_other_aggregations_are_refused(matrix: torch.Tensor) -> None:
    with pytest.raises(WorkloadError, match=r"reduce = '(a?)max': must be 'sum'"):
        module_program(geometric.SAGEConv(5, 3, aggr="max"), (X, matrix))


@pytest.mark.parametrize(
    "seed",
    [*range(QUICK), *(pytest.param(each, marks=pytest.mark.slow) for each in range(QUICK, ALL))],
)
def test_random_modules(device: Device, seed: int) -> None:
    from tests.support.random_graph_modules import random_graph_module

    module, inputs = random_graph_module(seed)
    require_same(module, *inputs)
    if seed % 4 == 0:
        require_right(device, module, *inputs)

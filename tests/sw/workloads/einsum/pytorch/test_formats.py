"""How tensors of PyTorch's layouts are stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from gnarl.sw.workloads.einsum.pytorch.sources import module_program
from gnarl.sw.workloads.tensor.storage import TensorFormat
from tests.support.errors import refused
from tests.support.nests.pytorch_modules import compressed_rows, module
from tests.support.pytorch_programs import lines, require_same

MATRIX = torch.tensor([[0.0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 4, 0]])
OTHER = torch.arange(12.0).reshape(4, 3)


def times(self, a, x):
    return a @ x


def formats(model: Any) -> dict[str, str]:
    return {name: str(format) for name, format in model.program.formats.items()}


@pytest.mark.parametrize(
    "layout, format, stored",
    [
        (lambda x: x, "dd01", 4),
        (compressed_rows, "ds01", 4),
        (lambda x: x.to_sparse_csc(), "ds10", 4),
        (lambda x: x.to_sparse(), "ss01", 4),
        (lambda x: x.to_sparse(1), "sd01", 8),
    ],
)
def test_layouts(layout: Callable[..., Any], format: str, stored: int) -> None:
    def forward(self, a):
        return a.to_dense() * 2

    model = module_program(module(forward), (layout(MATRIX),))
    assert formats(model) == {"a": format, "mul": "dd01"}
    assert model.data["a"].nnz == stored
    np.testing.assert_array_equal(model.data["a"].to_dense(), MATRIX.numpy())


def test_entries_are_those_that_are_stored() -> None:
    """Zeros among them, and the sum of those in one place."""
    places = torch.tensor([[0, 0, 2], [1, 1, 0]])
    matrix = torch.sparse_coo_tensor(
        places, torch.tensor([2.0, 3, 0]), (3, 4), check_invariants=True
    )
    model = module_program(module(times), (matrix, OTHER))
    assert model.data["a"].coordinates.tolist() == [[0, 1], [2, 0]]
    assert model.data["a"].values.tolist() == [5, 0]


@pytest.mark.parametrize("layout", [compressed_rows, torch.Tensor.to_sparse])
def test_products_of_sparse_tensors(layout: Callable[..., Any]) -> None:
    def forward(self, a, x):
        return torch.sparse.mm(a, x) + a @ x, a.t() @ (a @ x)

    model = require_same(module(forward), layout(MATRIX.double()), OTHER)
    assert lines(model)[-1] == "matmul_2(i,j)=sum[k](a(k,i)*matmul_1(k,j))"


def test_sparse_buffers() -> None:
    def forward(self, x):
        return self.adj @ x

    made = module(forward)
    made.register_buffer("adj", compressed_rows(MATRIX))
    model = module_program(made, (OTHER,))
    assert formats(model) == {"adj": "ds01", "x": "dd01", "matmul": "dd01"}


def test_sparse_tensors_that_are_computed() -> None:
    """In the layout that PyTorch computes them in, intermediate ones too."""

    def forward(self, a, b, x):
        z = a * b
        return z @ x, z + a

    made = compressed_rows(MATRIX)
    model = module_program(module(forward), (made, made * 2, OTHER))
    found = formats(model)
    assert (found["mul"], found["add"], found["matmul"]) == ("ds01", "ds01", "dd01")


def test_conversions_to_sparse_tensors() -> None:
    def forward(self, x):
        return torch.relu(x @ x.t()).to_sparse() @ x

    model = require_same(module(forward), MATRIX)
    assert formats(model) == {"x": "dd01", "relu_0": "ss01", "matmul_1": "dd01"}


def test_formats_in_place_of_layouts() -> None:
    chosen: dict[str, Any] = {
        "lin.weight": "ds:1,0",
        "x": TensorFormat(("compressed", "dense"), (0, 1)),
        "result": "ss",
        "linear": "dd",
    }

    def forward(self, x):
        return torch.relu(self.lin(x))

    made = module(forward, lin=torch.nn.Linear(3, 2))
    model = module_program(made, (OTHER,), chosen)
    assert formats(model) == {
        "x": "sd01",
        "lin_weight": "ds10",
        "lin_bias": "d0",
        "linear": "dd01",
        "relu_0": "ss01",
    }


@pytest.mark.parametrize(
    "chosen, problem",
    [
        ({"y": "dd"}, "format of 'y': no such tensor: must be of a, x, result"),
        ({"a": "d"}, "format of a: d0 has 1 levels: must have 2, one for each dimension"),
        ({"a": "dx"}, "format of a: 'dx': level format 'x': must be one of d, s, b"),
        ({"a": "dd:1,1"}, "format of a: 'dd:1,1': must name each of 0, 1 once behind :"),
        ({"a": "dd:"}, "format of a: 'dd:': must name each of 0, 1 once behind :"),
    ],
)
def test_formats_that_are_wrong(chosen: dict[str, str], problem: str) -> None:
    with refused(f"times: {problem}"):
        module_program(module(times), (MATRIX, OTHER), chosen)


@pytest.mark.parametrize("layout", ["bsr", "bsc"])
def test_blocks(layout: str) -> None:
    matrix = torch.zeros(4, 4)
    matrix[0, 1], matrix[3, 2] = 2, 3
    blocks = getattr(matrix, f"to_sparse_{layout}")((2, 2))
    if layout == "bsr":  # PyTorch has no products with the other one
        require_same(module(times), blocks, OTHER)
    chosen = module_program(module(times), (blocks, OTHER), {"a": "dd"})
    assert str(chosen.program.formats["a"]) == "dd01"


def test_sparse_tensors_that_are_views() -> None:
    """A format is that of the tensor that is computed, which may lie another way; that of an input
    stays."""

    def forward(self, a, x):
        return (a * a).t() @ x, x.to_sparse() @ x.t()

    model = require_same(module(forward), compressed_rows(MATRIX), OTHER[:3])
    found = formats(model)
    assert (found["a"], found["x"], found["mul"]) == ("ds01", "dd01", "ds01")


@pytest.mark.parametrize(
    "value, problem",
    [
        (
            torch.full((3, 4), torch.nan),
            "entry 0: the value at (0, 0) = nan: must be finite in float64",
        ),
        (torch.zeros(3, 4, dtype=torch.complex64), "is torch.complex64: must be of real numbers"),
    ],
)
def test_values_that_are_refused(value: torch.Tensor, problem: str) -> None:
    colon = "" if problem.startswith("is") else ":"
    with refused(f"forward_to_real: a{colon} {problem}"):
        module_program(module(forward_to_real), (value, OTHER))


def forward_to_real(self, a, x):
    return a * x.t()

"""PyTorch modules as loop nests, against what PyTorch makes of them."""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import embedding_bag

from gnarl.hw.lib.errors import GnarlError, WorkloadError
from gnarl.sw.workloads.loops.modules import file_workload, module_workload
from gnarl.sw.workloads.loops.pytorch.operators import SUPPORTED
from gnarl.sw.workloads.pytorch.export import export
from tests.support.errors import refused
from tests.support.nests.pytorch_modules import compressed_rows, module, whole
from tests.support.nests.pytorch_nests import golden, require_same

FILE = Path(__file__).name
INDICES = torch.tensor([3, 0, 3, 9, 1])
OFFSETS = torch.tensor([0, 2, 2])
SPARSE = torch.tensor([[0.0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 4, 0]])


LOOK_UPS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda self, x, i: x[i], (whole(10, 3), INDICES)),
    (lambda self, x, i, j: x[i, j], (whole(10, 10), INDICES, INDICES)),
    (lambda self, x, i, j: x[i, :, j], (whole(10, 2, 10), INDICES, INDICES)),
    (lambda self, x, i, j: x[i.unsqueeze(1), j], (whole(10, 10), INDICES, INDICES[:2])),
    (lambda self, x, i: x.t()[i + 1], (whole(2, 11), INDICES)),
]
MORE_LOOK_UPS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda self, x, i: x[:, i], (whole(3, 10, 2), INDICES)),
    (lambda self, x, i: torch.index_select(x, 1, i), (whole(2, 10), INDICES)),
    (lambda self, x, i, j: x[i[j]], (whole(10, 3), INDICES, torch.tensor([4, 0]))),
    (lambda self, x, i: torch.nn.functional.embedding(i, x), (whole(10, 3), INDICES.view(5, 1))),
]


@pytest.mark.parametrize(
    "forward, inputs",
    [*LOOK_UPS, *(pytest.param(*each, marks=pytest.mark.slow) for each in MORE_LOOK_UPS)],
)
def test_look_ups(forward: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    require_same(module(forward), *inputs)


@pytest.mark.parametrize(
    "forward, inputs",
    [
        (lambda self, x, y: x + 2 * y, (whole(2, 3), whole(3))),
        (lambda self, x, y: torch.sub(x, y, alpha=3), (whole(2, 1), whole(3))),
        (lambda self, x, n: x / n - n, (whole(4), torch.tensor([1, 2, 4, 8]))),
        (lambda self, x, y: torch.maximum(x, -y).abs().sqrt(), (whole(4), whole(4))),
        (
            lambda self, x, y: torch.minimum(x, y.unsqueeze(0).expand(4, -1)),
            (whole(4, 4), whole(4)),
        ),
        (lambda self, x: x.view(-1) + x.transpose(0, 1).reshape(-1), (whole(3, 3),)),
        (lambda self, x: x.permute(2, 0, 1).contiguous(), (whole(2, 3, 4),)),
        (lambda self, x: x.squeeze(1) + torch.ones(4), (whole(3, 1, 4),)),
        (lambda self, x, n: x + n, (torch.tensor(2.0), 3)),
    ],
)
def test_elementwise(forward: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    require_same(module(forward), *inputs)


@pytest.mark.parametrize(
    "dimensions, keepdim",
    [((0,), False), ((1,), True), ((-1,), False), ((0, 2), False), ((0, 2), True)],
)
def test_sums(dimensions: tuple[int, ...], keepdim: bool) -> None:
    def forward(self, x, y):
        return (x * y).sum(dimensions, keepdim) * 2

    require_same(module(forward), whole(2, 3, 4), whole(4))


def test_sum_of_all() -> None:
    require_same(module(lambda self, x, i: x[i].sum()), whole(10, 3), INDICES)


@pytest.mark.parametrize("dimension", (0, -1))
def test_additions_at_indices(dimension: int) -> None:
    def into_zeros(self, i, source):
        return torch.zeros(10, 10).index_add(dimension, i, source, alpha=2)

    def into_an_input(self, into, i, source):
        return into.index_add(dimension, i, source)

    source = whole(5, 10) if dimension == 0 else whole(10, 5)
    require_same(module(into_zeros), INDICES, source)
    workload = require_same(module(into_an_input), whole(10, 10), INDICES, source)
    assert workload.nest.results == ("into",)


@pytest.mark.parametrize("sparse", (compressed_rows(SPARSE), SPARSE.to_sparse_coo()))
@pytest.mark.parametrize("product", (torch.sparse.mm, torch.mm, torch.matmul, operator.matmul))
def test_sparse_matrices(product: Callable[..., Any], sparse: torch.Tensor) -> None:
    def forward(self, a, x):
        return product(a, x.t())

    require_same(module(forward), sparse, whole(5, 4))


def linear_layer(self, a, x):
    return torch.relu(self.linear(a @ x))


@pytest.mark.parametrize("layout", (torch.Tensor.to_dense, compressed_rows, torch.Tensor.to_sparse))
@pytest.mark.parametrize(
    "forward",
    (
        linear_layer,
        lambda self, a, x: (a.t() @ torch.ones(3, 2)) * x,
        lambda self, a, x: a @ torch.ones(4),
        lambda self, a, x: torch.amax(-a.to_dense(), 1) + torch.amax(x),
        lambda self, a, x: (a.t() @ (a @ x)).clamp(-2, 5) - x,
    ),
)
def test_tensor_algebra(forward: Callable[..., Any], layout: Callable[..., Any]) -> None:
    """Matrices that are stored densely, by rows, and as entries."""
    linear = torch.nn.Linear(2, 3)
    with torch.no_grad():
        for each in linear.parameters():
            each.copy_(whole(*each.shape))
    require_same(module(forward, linear=linear), layout(SPARSE), whole(4, 2))


def test_inputs_that_are_called_as_arrays_of_others() -> None:
    made = module(lambda self, a, a_values, a_rows: a @ a_values + a_rows)
    workload = require_same(made, SPARSE.to_sparse(), whole(4, 2), whole(2))
    assert {*workload.inputs} == {"a_rows", "a_columns", "a_values", "a_values_", "a_rows_"}


def of_looked_up_rows(self, x, i):
    rows = x[i].square().clamp(1, 9)
    return rows, torch.nn.functional.leaky_relu(x[i], 0.25), rows.sum(0).pow(3)


def test_functions_of_look_ups() -> None:
    """They are defined where those of tensor algebra are."""
    require_same(module(of_looked_up_rows), whole(10, 3), INDICES)


@pytest.mark.parametrize("function", (torch.exp, torch.sigmoid))
@pytest.mark.parametrize("looks_up", (False, True))
def test_functions_that_nests_do_not_have(function: Callable[..., Any], looks_up: bool) -> None:
    def forward(self, x, i):
        return function(x[i] if looks_up else x)

    place = f"{FILE}:{forward.__code__.co_firstlineno + 1}:1: "
    name = function.__name__
    wanted = f"aten.{name}.default: {name}: not supported in loop nests: must be of "
    with pytest.raises(WorkloadError, match=re.escape(place + wanted)):
        module_workload(module(forward), (whole(10, 3), INDICES if looks_up else whole(1)))


def results_that_are_one(self, x):
    total = x.sum(0)
    return total, total, x.relu()


def sums_of_sums(self, x, y):
    return (x.sum(0) - x.sum(1)) * y.sum(1).sum(0), x + y.sum(1)


def parts_of_parts(self, x, y):
    stacked = torch.stack([x.sum(0), y[0], x[:, 1]], 1)
    return torch.cat([stacked, y.sum(1, keepdim=True)], -1).view(-1).reshape(4, 3), stacked


def parts_with_parts(self, x, y):
    joined = torch.cat([x, y.sum(0, keepdim=True)])
    return joined - torch.cat([y, x[:1]]), joined * 2


def halves(self, x, y):
    left, right = x[:, ::2], y[1:, -2:]
    first, *_ = y.unbind(1)
    return left.mean(0) / right.mean(), first.unsqueeze(0).reshape(3, 1)


def added_to_what_is_read(self, x, y):
    i = torch.tensor([2, 0, 2])
    return x.index_add(0, i, x), (x + 1).index_add(1, i, x), y.index_add(0, i, x) * 2, y


def other_shapes(self, x, y):
    return x.reshape(9).view(3, 3), (x + y).sum(0).view(3, 1), torch.cat([x, y]).view(3, 6)


def whole_numbers(self, x, y):
    i = torch.tensor([2, 0, 1])
    both = torch.cat([i, i + 1])
    return both, x[both[:3]], torch.cat([x[0], i])


@pytest.mark.parametrize(
    "forward",
    [
        results_that_are_one,
        sums_of_sums,
        parts_of_parts,
        parts_with_parts,
        halves,
        added_to_what_is_read,
        other_shapes,
        whole_numbers,
    ],
)
def test_modules_of_several_steps(forward: Callable[..., Any]) -> None:
    x, y = whole(3, 3) * 2, whole(3, 3) + 1
    inputs = (x,) if forward is results_that_are_one else (x, y)
    require_same(module(forward), *inputs)


def test_arguments_by_name_and_names_of_the_notation() -> None:
    made = module(lambda self, range, result: range + result)
    inputs = {"result": whole(3), "range": whole(3)}
    workload = module_workload(made, inputs)
    assert [*workload.inputs] == ["t_range", "result"]
    np.testing.assert_array_equal(golden(workload)["result_"], 2 * whole(3))


def test_files(tmp_path: Path) -> None:
    """What ``torch.export.save`` writes has its inputs and its places."""
    made = module(lambda self, x, i: x[i] * 2)
    path = tmp_path / "rows.pt2"
    torch.export.save(torch.export.export(made, (whole(10, 3), INDICES)), path)
    workload = file_workload(path)
    assert workload.name == "rows"
    assert workload.nest.body[0].place.file == FILE
    np.testing.assert_array_equal(golden(workload)["result"], made(whole(10, 3), INDICES))


def cumulated(self, x):
    return x.cumsum(0)


def padded(self, x):
    return embedding_bag(INDICES, x, OFFSETS, padding_idx=1)


def wide_total(self, x):
    return x.sum(dtype=torch.float64)


def half(self, x):
    return torch.zeros(3, dtype=torch.float16) + x


@pytest.mark.parametrize(
    "forward, message",
    [
        (padded, "aten.embedding_bag.padding_idx: padding_idx = 1: must be left out"),
        (
            wide_total,
            "aten.sum.default: of torch.float64: must be of float32, int64, int32, int16, int8, "
            "uint8",
        ),
        (
            half,
            "aten.zeros.default: of torch.float16: must be of float32, int64, int32, int16, int8, "
            "uint8",
        ),
    ],
)
def test_operators_that_are_refused(forward: Callable[..., Any], message: str) -> None:
    place = f"{FILE}:{forward.__code__.co_firstlineno + 1}:1"
    with refused(f"{place}: {message}"):
        module_workload(module(forward), (whole(3, 3),))


def test_operators_that_are_unknown() -> None:
    with pytest.raises(WorkloadError) as raised:
        module_workload(module(cumulated), (whole(3, 3),))
    place = f"{FILE}:{cumulated.__code__.co_firstlineno + 1}:1"
    start, _, names = str(raised.value).partition(" must be of ")
    assert start == f"{place}: aten.cumsum.default: not supported:"
    assert {"embedding_bag", "linear", "sum"} < {*names.split(", ")}


def doubled(self, x):
    return torch.sparse.mm(x, whole(4, 3)) if x.layout != torch.strided else x * 2.0


@pytest.mark.parametrize(
    "x, message",
    [
        (
            whole(3).bfloat16(),
            "is torch.bfloat16: must be of float32, int64, int32, int16, int8, uint8",
        ),
        (torch.tensor([1, 1 << 31]), "must be in int32"),
        (torch.tensor([1, -(1 << 31) - 1]), "must be in int32"),
    ],
)
def test_inputs_that_are_refused(x: torch.Tensor, message: str) -> None:
    with refused(f"doubled:1:1: x{':' * ('in int32' in message)} {message}"):
        module_workload(module(doubled), (x,))


def test_entries_that_are_tensors_are_refused() -> None:
    made = module(lambda self, x, i: x.to_dense()[i])
    with refused("<lambda>:1:1: x has entries that are dense tensors: must be of numbers"):
        module_workload(made, (torch.ones(2, 2, 3).to_sparse(2), INDICES % 2))


def test_results_that_are_refused() -> None:
    def row(self, a):
        return a, 2

    with refused("row: result0: must be a dense tensor"):
        module_workload(module(row), (compressed_rows(SPARSE),))
    with refused("row: result1: must be a dense tensor"):
        module_workload(module(row), (whole(3),))


def test_modules_that_change_themselves() -> None:
    def count(self, x):
        self.seen.add_(1)
        return x * self.seen

    made = module(count)
    made.register_buffer("seen", torch.zeros(3))
    with refused("count: changes seen: forward must change nothing"):
        module_workload(made, (whole(3),))


def test_files_that_are_refused(tmp_path: Path) -> None:
    with refused(f"{tmp_path / 'a.pt2'}: no such file"):
        file_workload(tmp_path / "a.pt2")
    with refused(f"{tmp_path}: not a file"):
        file_workload(tmp_path)
    (tmp_path / "a.pt2").write_bytes(b"")
    with pytest.raises(WorkloadError, match=r"a\.pt2: cannot be read: "):
        file_workload(tmp_path / "a.pt2")


def test_pytorch_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        GnarlError, match=r"^PyTorch modules need the extra 'torch': pip install 'gnarl\[torch\]'$"
    ):
        file_workload("a.pt2")


def test_what_decompositions_would_leave_is_not_traced_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def adds_in_place(self: Any, x: Any, i: Any) -> Any:
        return x[i].add_(1)

    made = module(lambda self, x, i: torch.maximum(-x[i], x[0]).abs().sum(0))
    given = whole(10, 3), INDICES
    decomposed = export(made, given)
    traced = []
    decompose = torch.export.ExportedProgram.run_decompositions

    def counted(program: Any, table: Any) -> Any:
        traced.append(program)
        return decompose(program, table)

    monkeypatch.setattr(torch.export.ExportedProgram, "run_decompositions", counted)
    final = export(made, given, SUPPORTED)
    assert not traced
    names = [[each.name for each in graph.nodes] for graph in (decomposed, final)]
    assert names[0] == names[1]
    require_same(module(adds_in_place), *given)
    assert len(traced) == 1

"""Sparse gradients of tables, as of ``nn.EmbeddingBag(sparse=True)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gnarl.sw.compiler.cuda.optimizers import SGD  # noqa: E402
from gnarl.sw.runtime.cuda.torch.operator_program import operator_program  # noqa: E402
from gnarl.sw.workloads.embedding.model import Feature  # noqa: E402
from tests.support.cuda.torch_embedding import (  # noqa: E402
    BagCollection,
    BagConfig,
    JaggedInputs,
    PoolingType,
    dyadic,
    fused,
    fused_bags,
    fused_collection,
)
from tests.support.errors import refused  # noqa: E402

SAMPLES = 6


def bags_of(dtype: torch.dtype = torch.float32) -> torch.nn.ModuleDict:
    """The last is dense."""
    rng = np.random.default_rng(2)
    made = torch.nn.ModuleDict()
    for name, mode, padding, sparse in (
        ("sums", "sum", None, True),
        ("means", "mean", 1, True),
        ("weighted", "sum", 2, True),
        ("dense", "max", None, False),
    ):
        made[name] = torch.nn.EmbeddingBag(
            12, 8, mode=mode, padding_idx=padding, sparse=sparse, include_last_offset=True
        ).to(dtype)
        made[name].weight.data = dyadic(rng, 12, 8).to(dtype)
    return made


def inputs(seed: int, dtype: torch.dtype = torch.float32) -> tuple[dict[str, Any], ...]:
    """Values, offsets and weights; two values are past the last offset of each feature."""
    rng = np.random.default_rng(seed)
    values, offsets, weights = {}, {}, {}
    for name in ("sums", "means", "weighted", "dense"):
        bounds = np.concatenate([[0], np.cumsum(rng.integers(0, 5, SAMPLES))])
        offsets[name] = torch.from_numpy(bounds)
        values[name] = torch.from_numpy(rng.integers(0, 12, bounds[-1] + 2))
    count = len(values["weighted"])
    weights["weighted"] = torch.from_numpy(rng.integers(1, 9, count) / 4).to(dtype)
    return values, offsets, weights


def pytorchs(bags: torch.nn.ModuleDict) -> Callable[..., dict[str, torch.Tensor]]:
    def look_up(values: Any, offsets: Any, weights: Any) -> dict[str, torch.Tensor]:
        found = {}
        for name, bag in bags.items():
            end = int(offsets[name][-1])
            own = weights[name][:end] if name in weights else None
            found[name] = bag(values[name][:end], offsets[name], own)
        return found

    return look_up


def gradients(look_up: Any, bags: torch.nn.ModuleDict, given: Any) -> list[torch.Tensor]:
    values, offsets, weights = given
    own = weights["weighted"].clone().requires_grad_()
    bags.zero_grad()
    outputs = look_up(values, offsets, {"weighted": own})
    scale = torch.arange(1.0, SAMPLES + 1)[:, None] / 8
    sum((output * scale).sum() for output in outputs.values()).backward()
    return [*(bag.weight.grad for bag in bags.values()), own.grad]


@pytest.mark.parametrize("path", ["cpu", "emulated", "float64", "bfloat16"])
@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_those_of_embedding_bag(path: str, seed: int) -> None:
    dtype = {"float64": torch.float64, "bfloat16": torch.bfloat16}.get(path, torch.float32)
    bags, given = bags_of(dtype), inputs(seed, dtype)
    module = fused_bags(bags, ["weighted"], emulated=path == "emulated")
    wanted = gradients(pytorchs(bags), bags, given)
    found = gradients(lambda v, o, w: module(v, o, None, w), bags, given)
    for one, right in zip(found, wanted, strict=True):
        assert (one.layout, one.dtype, one.shape) == (right.layout, right.dtype, right.shape)
        tolerance = 0.05 if path == "bfloat16" else 1e-6
        torch.testing.assert_close(one.to_dense(), right.to_dense(), rtol=tolerance, atol=tolerance)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled")
@pytest.mark.parametrize(
    "make",
    [
        lambda tables: torch.optim.SGD(tables, lr=0.5),
        lambda tables: torch.optim.SparseAdam(tables, lr=0.5),
        lambda tables: torch.optim.Adagrad(tables, lr=0.5),
    ],
)
def test_optimizers_take_them(make: Callable[[list[Any]], Any]) -> None:
    results = []
    for reference in (True, False):
        bags = bags_of()
        del bags["dense"]
        values, offsets, weights = inputs(4)
        given = [{name: own[name] for name in own if name in bags} for own in (values, offsets)]
        module = fused_bags(bags, ["weighted"])
        look_up = pytorchs(bags) if reference else lambda v, o, w, m=module: m(v, o, None, w)
        optimizer = make(list(bags.parameters()))
        for _ in range(2):
            optimizer.zero_grad()
            sum(output.square().sum() for output in look_up(*given, weights).values()).backward()
            optimizer.step()
        results.append([table.detach() for table in bags.parameters()])
    for one, right in zip(*results, strict=True):
        torch.testing.assert_close(one, right, rtol=1e-5, atol=1e-5)


def test_features_that_share_a_table_add_up() -> None:
    table = torch.nn.Parameter(torch.ones(10, 4))
    features = [Feature("x", 10, 4), Feature("y", 10, 4, "mean", pruned=True)]
    module = fused({"t": table}, features, table_of={"x": "t", "y": "t"}, sparse=True)
    values = {"x": torch.tensor([1, 2, 2]), "y": torch.tensor([2, -1, 5])}
    offsets = {"x": torch.tensor([0, 3]), "y": torch.tensor([0, 3])}
    sum(output.sum() for output in module(values, offsets).values()).backward()
    right = torch.tensor([0, 1, 2 + 1 / 3, 0, 0, 1 / 3, 0, 0, 0, 0])
    assert table.grad.is_sparse
    torch.testing.assert_close(table.grad.to_dense(), right[:, None].expand(-1, 4))


def test_collections_may_have_them() -> None:
    collection = BagCollection([BagConfig("t", 10, 4, ["x"], PoolingType.MEAN)])
    collection.embedding_bags["t"].sparse = True
    jagged = JaggedInputs.of({"x": [[1, 2], [], [2]]})
    grads = []
    for output in (fused_collection(collection)(jagged).values(), collection(jagged)):
        collection.zero_grad()
        output.square().sum().backward()
        grads.append(collection.embedding_bags["t"].weight.grad.to_dense())
    torch.testing.assert_close(*grads)


def test_bags_may_be_given_others_than_their_own() -> None:
    bags, given = bags_of(), inputs(6)
    for sparse, wanted in ((False, []), (["means"], ["means"])):
        module = fused_bags(bags, ["weighted"], sparse=sparse)
        gradients(lambda v, o, w, m=module: m(v, o, None, w), bags, given)
        assert [name for name, bag in bags.items() if bag.weight.grad.is_sparse] == wanted


def test_compiled_modules_break_the_graph_there() -> None:
    bags, given = bags_of(), inputs(7)
    module = fused_bags(bags, ["weighted"])
    compiled = torch.compile(module, backend="eager")
    found = gradients(lambda v, o, w: compiled(v, o, None, w), bags, given)
    torch._dynamo.reset()
    right = gradients(lambda v, o, w: module(v, o, None, w), bags, given)
    for one, other in zip(found, right, strict=True):
        assert torch.equal(one.to_dense(), other.to_dense())


def test_programs_know_which_tables_have_them() -> None:
    module = fused_bags(bags_of(), ["weighted"])
    program = operator_program(module._program)
    assert program.sparse == operator_program(module._handle).sparse == (0, 1, 2)
    assert "sparse" not in fused([torch.ones(10, 4)], [Feature("f", 10, 4)])._program


def test_where_there_are_none() -> None:
    tables = [torch.ones(10, 4)]
    with refused("table 0: sparse gradients are not supported with pooling max, as of f"):
        fused(tables, [Feature("f", 10, 4, "max")], sparse=True)
    with refused("sparse: no such table: t"):
        fused(tables, [Feature("f", 10, 4)], sparse=["t"])
    with refused("sparse: not supported with an optimizer, which leaves no gradients"):
        fused(tables, [Feature("f", 10, 4)], sparse=True, optimizer=SGD(0.5))

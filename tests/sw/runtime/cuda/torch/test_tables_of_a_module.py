"""What PyTorch does to a module's tables: conversions, other types, states, functional calls."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gnarl.sw.compiler.cuda.optimizers import SGD, Adagrad  # noqa: E402
from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags  # noqa: E402
from gnarl.sw.workloads.embedding.model import Feature  # noqa: E402
from tests.support.cuda.torch_embedding import (  # noqa: E402
    BagCollection,
    BagConfig,
    JaggedInputs,
    dyadic,
    fused,
    fused_bags,
    fused_collection,
)
from tests.support.errors import refused  # noqa: E402

VALUES = {
    "a": torch.tensor([3, 3, 19, 0]),
    "b": torch.tensor([1, 2, 3, 4, 5]),
    "c": torch.tensor([7, 7, 2]),
}
OFFSETS = {"a": torch.tensor([0, 0, 3]), "b": torch.tensor([0, 1, 2]), "c": torch.tensor([0, 1, 1])}
HALF = [torch.float16, torch.bfloat16]


@pytest.fixture(autouse=True)
def _compiled_anew() -> Iterator[None]:
    """PyTorch compiles a method a few times only."""
    yield
    torch._dynamo.reset()


def bags_of(dtype: torch.dtype = torch.float32) -> torch.nn.ModuleDict:
    rng = np.random.default_rng(3)
    made = torch.nn.ModuleDict()
    for name, rows, dim, mode in (("a", 20, 8, "sum"), ("b", 9, 4, "mean"), ("c", 30, 4, "max")):
        made[name] = torch.nn.EmbeddingBag(rows, dim, mode=mode, dtype=dtype)
        made[name].weight.data = dyadic(rng, rows, dim).to(dtype)
    return made


def called(bags: torch.nn.ModuleDict) -> dict[str, torch.Tensor]:
    return {name: bag(VALUES[name], OFFSETS[name]) for name, bag in bags.items()}


def require_equal(found: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> None:
    assert found.keys() == wanted.keys()
    for name, tensor in wanted.items():
        assert (found[name].dtype, found[name].tolist()) == (tensor.dtype, tensor.tolist())


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("emulated", [False, True])
def test_converted_modules_look_up_in_the_new_type(dtype: torch.dtype, emulated: bool) -> None:
    bags = bags_of()
    module = fused_bags(bags, emulated=emulated).to(dtype)
    assert {feature.table_type for feature in module.model.features} == {str(dtype)[6:]}
    require_equal(module(VALUES, OFFSETS), called(bags.to(dtype)))
    assert all(
        bag.weight is table for bag, table in zip(bags.values(), module.parameters(), strict=True)
    )
    back = module.to(torch.float32)
    require_equal(back(VALUES, OFFSETS), called(bags.to(torch.float32)))


@pytest.mark.parametrize("dtype", HALF)
def test_converted_modules_have_gradients_and_may_be_compiled(dtype: torch.dtype) -> None:
    module = fused_bags(bags_of()).to(dtype)
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    grads = []
    for look_up in (module, compiled):
        module.zero_grad()
        sum(output.float().sum() for output in look_up(VALUES, OFFSETS).values()).backward()
        grads.append([parameter.grad.clone() for parameter in module.parameters()])
    for one, other in zip(*grads, strict=True):
        assert one.dtype == dtype
        assert torch.equal(one, other)


def test_outputs_that_are_not_of_the_tables_type_stay_as_they_are() -> None:
    features = [Feature("f", 10, 4, output_type="bfloat16"), Feature("g", 10, 4)]
    module = fused([torch.ones(10, 4)] * 2, features).half()
    types = {feature.name: feature.output_type for feature in module.model.features}
    assert types == {"f": "bfloat16", "g": "float16"}


def test_outputs_of_collections_stay_float32() -> None:
    collection = BagCollection([BagConfig("t", 10, 4, ["x"])])
    module = fused_collection(collection).to(torch.bfloat16)
    jagged = JaggedInputs.of({"x": [[1, 2], [3]]})
    assert module(jagged).values().dtype == torch.float32
    torch.testing.assert_close(
        module(jagged).values()[1], collection.embedding_bags["t"].weight[3].float()
    )


@pytest.mark.parametrize("optimizer", [SGD(0.5), Adagrad(0.5)])
def test_states_of_optimizers_stay_float32(optimizer: Any) -> None:
    bags = bags_of()
    module = fused_bags(bags, optimizer=optimizer).to(torch.bfloat16)
    assert {buffer.dtype for buffer in module.buffers()} == {torch.float32}
    sum(output.sum() for output in module(VALUES, OFFSETS).values()).backward()
    assert {parameter.dtype for parameter in module.parameters()} == {torch.bfloat16}
    assert not torch.equal(bags["a"].weight, bags_of(torch.bfloat16)["a"].weight)


@pytest.mark.parametrize("converted", [False, True])
def test_float64_tables_are_looked_up_in_float64(converted: bool) -> None:
    bags = bags_of(torch.float32 if converted else torch.float64)
    rng = np.random.default_rng(4)
    module = fused_bags(bags)
    if converted:
        module.double()
    for bag in bags.values():
        bag.weight.data = torch.from_numpy(rng.normal(size=bag.weight.shape))
    results = []
    for look_up in (lambda: module(VALUES, OFFSETS), lambda: called(bags)):
        module.zero_grad()
        outputs = look_up()
        sum(output.square().sum() for output in outputs.values()).backward()
        grads = {f"of {name}": bag.weight.grad.clone() for name, bag in bags.items()}
        results.append({name: output.detach() for name, output in outputs.items()} | grads)
    require_equal(results[0], results[1])
    assert {tensor.dtype for tensor in results[0].values()} == {torch.float64}


def test_gradients_in_float64_are_those_of_finite_differences() -> None:
    rng = np.random.default_rng(5)
    features = [
        Feature("s", 6, 3, weighted=True),
        Feature("m", 5, 3, "mean", weighted=True),
        Feature("p", 5, 3, "mean", padding_idx=1),
    ]
    tables = [torch.from_numpy(rng.normal(size=(f.rows, 3))).requires_grad_() for f in features]
    module = fused([table.detach() for table in tables], features)
    names = [name for name, _ in module.named_parameters()]
    values = {
        "s": torch.tensor([0, 0, 5, 77]),
        "m": torch.tensor([1, 2, 2]),
        "p": torch.tensor([1, 1, 3]),
    }
    offsets = {name: torch.tensor([0, 2, 3]) for name in values}
    weights = [torch.from_numpy(rng.normal(size=n)).requires_grad_() for n in (4, 3)]

    def look_up(*arguments: torch.Tensor) -> tuple[torch.Tensor, ...]:
        given = dict(zip(names, arguments[:3], strict=True))
        own = {"s": arguments[3], "m": arguments[4]}
        return tuple(
            torch.func.functional_call(module, given, (values, offsets, None, own)).values()
        )

    assert torch.autograd.gradcheck(look_up, (*tables, *weights))


def test_float64_where_there_is_none() -> None:
    with refused("tables: are float64: not supported with emulated=True"):
        fused_bags(bags_of(torch.float64), emulated=True)(VALUES, OFFSETS)
    with refused("tables: are float64: not supported with an optimizer"):
        fused_bags(bags_of(torch.float64), optimizer=SGD(0.5))(VALUES, OFFSETS)
    bags = bags_of(torch.float64)
    bags["b"].float()
    with refused("tables: some are float64: must be all"):
        fused_bags(bags)(VALUES, OFFSETS)
    offsets = OFFSETS | {"b": torch.tensor([0, 2, 1])}
    with refused("offsets of b[2] = 1: must be at least 2, as the one before"):
        fused_bags(bags_of(torch.float64))(VALUES, offsets)


@pytest.mark.parametrize("optimizer", [None, Adagrad(0.5)])
def test_states_for_a_module_dict(optimizer: Any) -> None:
    module = fused_bags(bags_of(), optimizer=optimizer)
    other = bags_of()
    for bag in other.values():
        bag.weight.data.zero_()
    other.load_state_dict(module.bags_state_dict())
    require_equal(called(other), called(bags_of()))
    again = fused_bags(bags_of()).to(torch.bfloat16)
    again.load_state_dict(module.bags_state_dict())
    require_equal(again(VALUES, OFFSETS), called(bags_of(torch.bfloat16)))


def test_states_that_are_assigned_may_be_of_another_type() -> None:
    module = fused_bags(bags_of())
    module.load_state_dict(bags_of(torch.bfloat16).state_dict(), assign=True)
    require_equal(module(VALUES, OFFSETS), called(bags_of(torch.bfloat16)))


@pytest.mark.parametrize("emulated", [False, True])
@pytest.mark.parametrize("names", [["a", "b", "c"], ["b"]])
def test_functional_calls_look_up_in_the_tables_given(names: list[str], emulated: bool) -> None:
    bags = bags_of()
    module = fused_bags(bags, emulated=emulated)
    own = {f"embedding_bags.{name}.weight": bags[name].weight.detach() * 2 for name in names}
    found = torch.func.functional_call(module, own, (VALUES, OFFSETS))
    wanted = called(bags)
    for name in names:
        wanted[name] = wanted[name] * 2
    require_equal(found, wanted)
    require_equal(module(VALUES, OFFSETS), called(bags))


def test_functional_calls_are_differentiable() -> None:
    bags = bags_of()
    module = fused_bags(bags)
    given = {name: table.detach() * 1.5 for name, table in module.named_parameters()}
    for table in given.values():
        table.requires_grad_()
    outputs = torch.func.functional_call(module, given, (VALUES, OFFSETS))
    found = torch.autograd.grad(
        sum(each.square().sum() for each in outputs.values()), given.values()
    )
    for bag, table in zip(bags.values(), given.values(), strict=True):
        bag.weight.data = table.detach()
    sum(output.square().sum() for output in called(bags).values()).backward()
    for gradient, bag in zip(found, bags.values(), strict=True):
        torch.testing.assert_close(gradient, bag.weight.grad, rtol=1e-6, atol=1e-6)


def test_addresses_are_those_of_the_tables_that_a_module_has() -> None:
    module = fused_bags(bags_of())
    packed = module._pack(VALUES, OFFSETS, None, None)

    def require_right() -> None:
        wanted = [holder.weight.data_ptr() for holder in module.embedding_bags.values()]
        assert module._table_addresses(packed).tolist() == wanted

    require_right()
    other = {"embedding_bags.b.weight": torch.ones(9, 4)}
    with torch.nn.utils.stateless._reparametrize_module(module, other):
        require_right()
    require_right()
    module.embedding_bags["c"].weight = torch.nn.Parameter(torch.ones(30, 4))
    require_right()


def test_copies_of_converted_modules() -> None:
    module = copy.deepcopy(fused_bags(bags_of()).to(torch.bfloat16))
    assert isinstance(module, FusedEmbeddingBags)
    require_equal(module(VALUES, OFFSETS), called(bags_of(torch.bfloat16)))

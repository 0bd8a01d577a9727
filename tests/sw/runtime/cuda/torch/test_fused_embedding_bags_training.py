"""The PyTorch module with an optimizer in its backward pass, against PyTorch's own."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gnarl.hw.lib.errors import ProgramError  # noqa: E402
from gnarl.sw.compiler.cuda.optimizers import (  # noqa: E402
    SGD,
    Adagrad,
    Adam,
    Optimizer,
    PartialRowWiseAdam,
    RowWiseAdagrad,
)
from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags  # noqa: E402
from gnarl.sw.runtime.cuda.torch.operator_program import operator_program  # noqa: E402
from gnarl.sw.workloads.embedding.model import Feature  # noqa: E402
from tests.support.cuda.backward_kernels import Example, by_pytorch, example  # noqa: E402
from tests.support.cuda.torch_embedding import JaggedInputs, fused  # noqa: E402
from tests.support.errors import refused  # noqa: E402

FEATURES = (
    Feature("a", 6, 4),
    Feature("b", 6, 4, "mean", weighted=True),
    Feature("c", 5, 8, "max", "float16"),
    Feature("d", 5, 8, "sum", "float16"),
)
TABLE_OF = {"a": "x", "b": "x", "c": "y", "d": "y"}
OPTIMIZERS = (
    SGD(0.25),
    Adagrad(0.5, 1e-3),
    RowWiseAdagrad(0.5, 1e-3),
    Adam(0.5, 1e-3),
    PartialRowWiseAdam(0.5, 1e-3),
)
NAMES = {"ids": lambda each: type(each).__name__}


def one_batch(seed: int = 0) -> Example:
    lengths = [[3, 0, 5], [2, 1, 4], [1, 0, 9], [4, 4, 4]]
    return example(FEATURES, lengths, seed, table_of_feature=(0, 0, 1, 1))


def module_of(one: Example, optimizer: Optimizer, **options: Any) -> FusedEmbeddingBags:
    tables = {
        name: torch.nn.Parameter(table.clone())
        for name, table in zip("xy", one.tables, strict=True)
    }
    return fused(tables, one.model.features, table_of=TABLE_OF, optimizer=optimizer, **options)


def outputs_of(module: Any, one: Example, **weights: torch.Tensor) -> dict[str, torch.Tensor]:
    names = [feature.name for feature in one.model.features]
    values = dict(zip(names, one.values, strict=True))
    lengths = {name: torch.tensor(each) for name, each in zip(names, one.lengths, strict=True)}
    found: dict[str, torch.Tensor] = module(
        values, lengths=lengths, weights=weights or {"b": one.weights[1]}
    )
    return found


def train(module: Any, one: Example) -> None:
    outputs = outputs_of(module, one)
    torch.autograd.backward(list(outputs.values()), one.gradients)


def require_trained(module: FusedEmbeddingBags, one: Example, optimizer: Optimizer) -> None:
    right = by_pytorch(one, optimizer)
    for table, name in zip(right.tables, "xy", strict=True):
        holder = module.embedding_bags[name]
        torch.testing.assert_close(holder.weight.detach(), table)
        assert holder.weight.grad is None
    for state, other in zip(module._states(), right.states, strict=True):
        torch.testing.assert_close(state, other)


@pytest.mark.parametrize("emulated", [False, True], ids=["pytorch", "kernels"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS, **NAMES)
def test_the_backward_pass_takes_the_step(optimizer: Optimizer, emulated: bool) -> None:
    one = one_batch()
    module = module_of(one, optimizer, emulated=emulated)
    train(module, one)
    require_trained(module, one, optimizer)


@pytest.mark.parametrize("optimizer", OPTIMIZERS, **NAMES)
def test_states_are_in_the_state_dict_and_steps_go_on_from_them(optimizer: Optimizer) -> None:
    one = one_batch()
    module, other = (module_of(one, optimizer, emulated=True) for _ in range(2))
    train(module, one)
    state = module.state_dict()
    names = ["weight"]
    if isinstance(optimizer, Adagrad | RowWiseAdagrad):
        names = ["state", "weight"]
    elif isinstance(optimizer, Adam | PartialRowWiseAdam):
        names = ["momentum1", "momentum2", "weight"]
    counts = ["iter"] if "momentum1" in names else []
    of_tables = [f"embedding_bags.{table}.{name}" for table in "xy" for name in names]
    assert sorted(state) == [*of_tables, *counts, "learning_rate"]
    other.load_state_dict(state)
    train(other, one)
    train(module, one)
    for name, tensor in other.state_dict().items():
        assert torch.equal(tensor, module.state_dict()[name])


def test_the_learning_rate_may_be_written_to() -> None:
    one = one_batch()
    module = module_of(one, SGD(100.0), emulated=True)
    module.learning_rate.fill_(0.25)
    train(module, one)
    require_trained(module, one, SGD(0.25))


@pytest.mark.parametrize("emulated", [False, True], ids=["pytorch", "kernels"])
def test_weights_have_gradients_by_the_tables_before_the_step(emulated: bool) -> None:
    one = one_batch()
    module = module_of(one, SGD(0.25), emulated=emulated)
    weights = one.weights[1].clone().requires_grad_()
    outputs = outputs_of(module, one, b=weights)
    torch.autograd.backward(list(outputs.values()), one.gradients)
    assert weights.grad is not None
    torch.testing.assert_close(weights.grad, by_pytorch(one).weights[1])
    require_trained(module, one, SGD(0.25))


@pytest.mark.parametrize("emulated", [False, True], ids=["pytorch", "kernels"])
def test_tables_without_gradients_are_not_trained(emulated: bool) -> None:
    one = one_batch()
    module = module_of(one, Adagrad(0.5), emulated=emulated)
    module.embedding_bags["x"].weight.requires_grad_(False)
    train(module, one)
    assert torch.equal(module.embedding_bags["x"].weight, one.tables[0])
    assert not module.embedding_bags["x"].state.any()
    right = by_pytorch(one, Adagrad(0.5)).tables[1]
    torch.testing.assert_close(module.embedding_bags["y"].weight.detach(), right)


def test_tables_that_are_no_parameters_have_no_state() -> None:
    one = one_batch()
    tables = {"x": one.tables[0], "y": torch.nn.Parameter(one.tables[1].clone())}
    options = {"table_of": TABLE_OF, "optimizer": Adagrad(0.5), "emulated": True}
    module = fused(tables, one.model.features, **options)
    assert module.embedding_bags["x"].state.shape == (0,)
    train(module, one)
    right = by_pytorch(one, Adagrad(0.5))
    assert torch.equal(module.embedding_bags["x"].weight, one.tables[0])
    torch.testing.assert_close(module.embedding_bags["y"].state, right.states[1])
    module.embedding_bags["x"].weight.requires_grad_()
    text = "state of table 0: is float32 [0] on cpu: must be float32 [6, 4] on cpu"
    with refused(text):
        train(module, one)


def test_quantised_tables_lie_beside_trained_ones() -> None:
    features = [Feature("q", 4, 2, table_type="int8_rowwise", weighted=True), Feature("t", 4, 2)]
    rows = torch.zeros(4, features[0].row_bytes, dtype=torch.uint8)
    table = torch.nn.Parameter(torch.ones(4, 2))
    module = fused([rows, table], features, optimizer=RowWiseAdagrad(0.5), emulated=True)
    values, weights = {name: torch.tensor([[1, 2]]) for name in "qt"}, torch.ones(1, 2)
    module.forward_concatenated(values, weights={"q": weights}).sum().backward()
    assert table[:, 0].tolist() == [1, 0.5, 0.5, 1]
    with refused(
        "feature q: weights require gradients: not supported with int8_rowwise tables, which are "
        "for inference"
    ):
        module(values, weights={"q": weights.requires_grad_()})


def test_a_pass_whose_tables_have_changed_since_is_refused() -> None:
    one = one_batch()
    module = module_of(one, SGD(0.25))
    first, second = (outputs_of(module, one)["a"].sum() for _ in range(2))
    first.backward()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        second.backward()


def test_lookups_without_gradients_change_nothing() -> None:
    one = one_batch()
    module = module_of(one, SGD(0.25), emulated=True)
    with torch.no_grad():
        outputs = outputs_of(module, one)
    assert not any(output.requires_grad for output in outputs.values())
    assert torch.equal(module.embedding_bags["x"].weight, one.tables[0])


def test_keyed_jagged_tensors_train_too() -> None:
    table = torch.nn.Parameter(torch.ones(10, 4))
    module = fused([table], [Feature("x", 10, 4)], optimizer=SGD(0.5), emulated=True)
    module(JaggedInputs.of({"x": [[4, 4], [], [1]]})).values().sum().backward()
    assert table[:, 0].tolist() == [1, 0.5, 1, 1, 0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("optimizer", OPTIMIZERS, **NAMES)
def test_compiled_modules_take_the_same_steps_in_one_graph(optimizer: Optimizer) -> None:
    one = one_batch()
    module = module_of(one, optimizer)
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    train(compiled, one)
    require_trained(module, one, optimizer)


@pytest.mark.parametrize("optimizer", [Adagrad(0.5), Adam(0.5)], **NAMES)
def test_the_operators_keep_pytorchs_contract(optimizer: Optimizer) -> None:
    one = one_batch()
    module = module_of(one, optimizer)
    tables = list(module.parameters())
    counts = [module.iter] if isinstance(optimizer, Adam) else []
    states = [*module._states(), *counts]
    given = (torch.cat(one.values), one.offsets, torch.cat(one.weights))
    rate, program = module.learning_rate, module._program
    operators = torch.ops.gnarl
    forward = (tables, *given, states, rate, program)
    torch.library.opcheck(operators.trained_embedding_bags.default, forward)
    outputs = [torch.ones_like(each) for each in operators.trained_embedding_bags(*forward)]
    plain = [table.detach() for table in tables]
    step = (outputs, plain, *given, states, rate, program, [True, False])
    torch.library.opcheck(operators.step_embedding_bags.default, step)


def test_modules_are_copied_and_pickled_with_their_optimizer() -> None:
    one = one_batch()
    module = module_of(one, RowWiseAdagrad(0.5, 1e-3), emulated=True)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        train(other, one)
        require_trained(other, one, RowWiseAdagrad(0.5, 1e-3))


@pytest.mark.parametrize("optimizer", OPTIMIZERS, **NAMES)
def test_operators_as_text_have_their_optimizer(optimizer: Optimizer) -> None:
    text = module_of(one_batch(), optimizer)._program
    assert operator_program(text).optimizer == optimizer
    kind = type(optimizer).__name__
    with pytest.raises(ProgramError, match="cannot be understood: KeyError: 'Lamb'"):
        operator_program(text.replace(f'"{kind}"', '"Lamb"'))


@pytest.mark.parametrize("lr", [0, -0.5, float("inf"), float("nan"), "fast", True])
def test_learning_rates_that_are_no_positive_numbers_are_refused(lr: Any) -> None:
    text = f"optimizer SGD: lr = {lr!r}: must be a positive number"
    with refused(text):
        SGD(lr)
    text = f"optimizer Adagrad: eps = {lr!r}: must be a positive number"
    with refused(text):
        Adagrad(0.5, lr)


@pytest.mark.parametrize(("eps", "rounded"), [(1e39, "inf"), (10**400, "inf"), (1e-50, "0")])
def test_options_that_float32_does_not_hold_are_refused(eps: float, rounded: str) -> None:
    text = f"eps = {eps!r}: must be a positive number in float32, where it is {rounded}"
    with refused(f"optimizer Adagrad: {text}"):
        Adagrad(0.5, eps)


def test_a_beta_that_float32_rounds_to_1_is_refused() -> None:
    with refused(
        "optimizer Adam: beta2 = 0.999999999999: must be a number from 0 to below 1 in float32, "
        "where it is 1"
    ):
        Adam(0.5, beta2=1 - 1e-12)


def test_states_that_are_not_the_tables_are_refused() -> None:
    one = one_batch()
    module = module_of(one, Adagrad(0.5))
    module.learning_rate = module.learning_rate.half()
    module.embedding_bags["x"].state = module.embedding_bags["x"].state.half()
    text = "learning rate: is float16 [] on cpu: must be float32 [] on cpu"
    with refused(text):
        train(module, one)
    module.learning_rate = torch.tensor(0.5)
    text = "state of table 0: is float16 [6, 4] on cpu: must be float32 [6, 4] on cpu"
    with refused(text):
        train(module, one)

"""Weight decay of optimizers in the backward pass: kernels, the golden model, PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gnarl.sw.compiler.cuda.optimizers import (  # noqa: E402
    SGD,
    Adagrad,
    Adam,
    Optimizer,
    PartialRowWiseAdam,
    RowWiseAdagrad,
    optimizer_fields,
)
from gnarl.sw.runtime.cuda.torch.operator_program import operator_program  # noqa: E402
from tests.support.cuda.backward_kernels import pytorch_optimizer  # noqa: E402
from tests.support.cuda.optimizers import (  # noqa: E402
    require_bits_of_the_golden_model,
    table_module,
    train_rows,
)
from tests.support.errors import refused  # noqa: E402

L2: dict[str, Any] = {"weight_decay": 0.2}
DECOUPLED: dict[str, Any] = {**L2, "weight_decay_mode": "decoupled"}
OF_PYTORCH = (SGD(0.3, **L2), Adagrad(0.3, 1e-3, **L2), Adam(0.3, **L2), Adam(0.3, **DECOUPLED))
ROW_WISE = (
    RowWiseAdagrad(0.3, 1e-3, **L2),
    RowWiseAdagrad(0.3, 1e-3, **DECOUPLED),
    PartialRowWiseAdam(0.3, 1e-3, **L2),
    PartialRowWiseAdam(0.3, 1e-3, **DECOUPLED),
)


def name_of(optimizer: Optimizer) -> str:
    return f"{type(optimizer).__name__}-{'decoupled' if optimizer.decoupled else 'l2'}"


either_way = pytest.mark.parametrize("emulated", [False, True], ids=["pytorch", "kernels"])


@pytest.mark.parametrize("optimizer", OF_PYTORCH + ROW_WISE, ids=name_of)
def test_kernels_have_the_bits_of_the_golden_model(optimizer: Optimizer) -> None:
    require_bits_of_the_golden_model(optimizer)


@either_way
@pytest.mark.parametrize("optimizer", OF_PYTORCH, ids=name_of)
def test_decay_is_pytorchs_where_all_rows_are_looked_up(optimizer: Any, emulated: bool) -> None:
    module, table = table_module(optimizer, emulated=emulated)
    leaf = torch.nn.Parameter(table.detach().clone())
    dense = pytorch_optimizer(optimizer, [leaf])
    for seed in range(5):
        leaf.grad = train_rows(module, list(range(6)), seed)
        dense.step()
        torch.testing.assert_close(table, leaf, rtol=1e-5, atol=1e-6)


@either_way
@pytest.mark.parametrize("optimizer", ROW_WISE, ids=name_of)
def test_row_wise_optimizers_decay_as_fbgemms(optimizer: Any, emulated: bool) -> None:
    module, table = table_module(optimizer, emulated=emulated)
    row, second, first = table[2].detach().double(), 0.0, torch.zeros(4).double()
    for seed in range(1, 5):
        gradient = train_rows(module, [2], seed)[0].double()
        if not optimizer.decoupled:
            gradient = gradient + 0.2 * row
        mean = gradient.square().mean()
        if isinstance(optimizer, RowWiseAdagrad):
            second += mean
            step = gradient / (second**0.5 + 1e-3)
        else:
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * mean
            corrected = second / (1 - 0.999**seed)
            step = first / (1 - 0.9**seed) / (corrected**0.5 + 1e-3)
        row = row * (1 - 0.3 * 0.2 if optimizer.decoupled else 1) - 0.3 * step
        torch.testing.assert_close(table[2].detach().double(), row, rtol=1e-5, atol=1e-6)


@either_way
@pytest.mark.parametrize("optimizer", OF_PYTORCH + ROW_WISE, ids=name_of)
def test_only_rows_that_are_looked_up_decay(optimizer: Optimizer, emulated: bool) -> None:
    module, table = table_module(optimizer, emulated=emulated)
    before = table.detach().clone()
    gradient = torch.zeros(2, 4)
    module.forward_concatenated({"f": torch.tensor([[1], [4]])}).backward(gradient)
    changed = (table != before).any(1)
    assert changed.tolist() == [False, True, False, False, True, False]


@pytest.mark.parametrize("optimizer", OF_PYTORCH + ROW_WISE, ids=name_of)
def test_operators_as_text_have_their_decay(optimizer: Optimizer) -> None:
    module, _ = table_module(optimizer)
    assert operator_program(module._program).optimizer == optimizer


def test_text_names_no_options_that_are_not_chosen() -> None:
    fields = {"name": "RowWiseAdagrad", "lr": 0.5, "eps": 1e-08}
    assert optimizer_fields(RowWiseAdagrad(0.5)) == fields
    assert optimizer_fields(SGD(1, weight_decay=0)) == {"name": "SGD", "lr": 1}


@pytest.mark.parametrize("decay", [-0.1, float("inf"), float("nan"), "much", True])
def test_decays_that_are_no_numbers_from_0_on_are_refused(decay: Any) -> None:
    for kind in (SGD, Adagrad, RowWiseAdagrad, Adam, PartialRowWiseAdam):
        name = kind.__name__
        with refused(f"optimizer {name}: weight_decay = {decay!r}: must be 0 or a positive number"):
            kind(0.1, weight_decay=decay)


@pytest.mark.parametrize("mode", ["L2", None, 1, ["l2"]])
def test_unknown_modes_are_refused(mode: Any) -> None:
    text = f"optimizer Adam: weight_decay_mode = {mode!r}: must be 'l2' or 'decoupled'"
    with refused(text):
        Adam(0.1, weight_decay_mode=mode)

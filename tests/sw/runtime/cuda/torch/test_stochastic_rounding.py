"""Stochastic rounding of float16 tables: the generator, the golden model, kernels, modules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gnarl.sw.compiler.cuda.optimizers import (  # noqa: E402
    SGD,
    Adagrad,
    Adam,
    Optimizer,
    PartialRowWiseAdam,
    RowWiseAdagrad,
)
from gnarl.sw.runtime.cuda.optimizer_steps import step_numbers  # noqa: E402
from gnarl.sw.runtime.cuda.stochastic_rounding import (  # noqa: E402
    philox,
    random_words,
    round_stochastically,
)
from gnarl.sw.runtime.cuda.torch.operator_program import operator_program  # noqa: E402
from gnarl.sw.workloads.embedding.model import Feature  # noqa: E402
from tests.support.cuda.backward_kernels import by_golden_model, by_kernels, example  # noqa: E402
from tests.support.cuda.optimizers import require_bits_of_the_golden_model  # noqa: E402
from tests.support.cuda.torch_embedding import fused  # noqa: E402
from tests.support.errors import refused  # noqa: E402

RANDOM: dict[str, Any] = {"stochastic_rounding": True, "seed": 2**63 + 5}
OPTIMIZERS = (
    SGD(0.3, **RANDOM),
    Adagrad(0.3, 1e-3, weight_decay=0.1, **RANDOM),
    RowWiseAdagrad(0.3, 1e-3, weight_decay=0.1, weight_decay_mode="decoupled", **RANDOM),
    Adam(0.3, 1e-3, **RANDOM),
    PartialRowWiseAdam(0.3, 1e-3, weight_decay=0.1, **RANDOM),
)
NAMES = {"ids": lambda each: type(each).__name__}
either_way = pytest.mark.parametrize("emulated", [False, True], ids=["pytorch", "kernels"])


def test_random_words_are_philoxs() -> None:
    """Answers of the generator's authors' own test."""
    ones = 0xFFFFFFFF
    pi = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0]
    for given, answer in (
        ([0] * 6, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([ones] * 6, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (pi, [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
    ):
        words = np.array(given, np.uint32)
        assert philox(words[:4], words[4:]).tolist() == answer


@pytest.mark.parametrize("optimizer", OPTIMIZERS, **NAMES)
def test_kernels_have_the_bits_of_the_golden_model(optimizer: Optimizer) -> None:
    require_bits_of_the_golden_model(optimizer)


def neighbours(value: float) -> tuple[float, float]:
    """The float16 numbers at and around a value."""
    near = np.float16(value)
    below = near if float(near) <= value else np.nextafter(near, np.float16(-np.inf))
    exact = float(below) == value
    return float(below), float(below if exact else np.nextafter(below, np.float16(np.inf)))


# Normal and subnormal numbers, float16 numbers themselves, and the ends of the range.
VALUES = [1.0003, -1.0003, 1.00097, 0.1, -333.3, 65500.1, 2**-14 * 1.0001, 2**-14 * 0.99999]
VALUES += [3.3e-6, -5.96e-8, 1e-8, -2e-9, 1.5, -0.0, 2**-24, 65504.0]


@pytest.mark.parametrize("value", VALUES)
def test_the_mean_over_many_seeds_is_the_value(value: float) -> None:
    own = np.float32(value)
    below, above = neighbours(float(own))
    count = 2**16
    words = np.concatenate(
        [
            random_words(np.arange(4), 4, 0, np.array([1, seed, 0], np.uint32)).ravel()
            for seed in range(count // 16)
        ]
    )
    found = round_stochastically(np.full(count, own), words)
    assert found.dtype == np.float16
    assert set(found.tolist()) <= {below, above}
    if below == above:
        return
    likely = (float(own) - below) / (above - below)
    for some in (2**10, 2**13, count):
        error = np.sqrt(likely * (1 - likely) / some) * (above - below)
        assert abs(found[:some].astype(np.float64).mean() - float(own)) <= 3.5 * error


def test_all_words_together_are_unbiased() -> None:
    """Of the 13 bits that count in a normal number each value once: the mean is exact."""
    words = (np.arange(2**13, dtype=np.uint32) << 19) + np.uint32(77)
    for value in np.float32([1.2345, -0.0777, 4321.1]):
        found = round_stochastically(np.full(len(words), value), words)
        assert found.astype(np.float64).mean() == value


def test_what_has_no_two_neighbours_is_rounded_to_nearest() -> None:
    values = np.float32([65504.1, 65519.9, 65520, 1e9, np.inf, -np.inf, -65510, np.nan])
    for word in (0, 2**32 - 1):
        found = round_stochastically(values, np.full(len(values), word, np.uint32))
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(found, values.astype(np.float16))


@pytest.mark.parametrize("dim", [1, 2, 8])
def test_steps_of_kernels_are_unbiased(dim: int) -> None:
    """Rows of 1 take steps of a third of the way to the next number, by 12 seeds."""
    rows, step = 1024 // dim, 2**-10 / 3
    one = example([Feature("f", rows, dim, "sum", "float16")], [[rows]])
    one.values = [torch.arange(rows)]
    one.tables = [torch.ones(rows, dim, dtype=torch.float16)]
    one.gradients = [torch.full((1, dim), -1.0)]
    ups = []
    for seed in range(12):
        optimizer = SGD(step, stochastic_rounding=True, seed=seed)
        (table,) = by_kernels(one, optimizer).tables
        assert torch.equal(table, by_golden_model(one, optimizer).tables[0])
        ups.append((table != 1).double().mean())
    assert set(table.unique().tolist()) == {1, 1 + 2**-10}
    error = (1 / 3 * 2 / 3 / (12 * rows * dim)) ** 0.5
    assert abs(float(torch.stack(ups).mean()) - 1 / 3) <= 3 * error
    assert len(set(map(float, ups))) > 1


def test_words_depend_on_seed_iteration_table_and_place_alone() -> None:
    rows = np.arange(50)
    first = random_words(rows, 6, 3, np.array([1, 2, 3], np.uint32))
    for table, words in ((4, [1, 2, 3]), (3, [2, 2, 3]), (3, [1, 3, 3]), (3, [1, 2, 4])):
        other = random_words(rows, 6, table, np.array(words, np.uint32))
        assert (first == other).mean() < 0.01
    assert len(np.unique(first)) > 298
    some = random_words(rows[[7, 30]], 6, 3, np.array([1, 2, 3], np.uint32))
    assert np.array_equal(some, first[[7, 30]])


def test_bits_do_not_depend_on_what_else_is_trained() -> None:
    optimizer = SGD(1e-4, **RANDOM)
    features = [Feature(name, 9, 8, "sum", "float16") for name in "ab"]
    one = example([features[0], replace(features[1], dim=4)], [[9], [9]])
    both = by_kernels(one, optimizer).tables[1]
    assert torch.equal(by_kernels(one, optimizer, [False, True]).tables[1], both)


def train(module: Any, steps: int) -> None:
    for _ in range(steps):
        module.forward_concatenated({"f": torch.arange(64)[:, None]}).sum().backward()


def module_of(optimizer: Optimizer, **options: Any) -> tuple[Any, torch.nn.Parameter]:
    table = torch.nn.Parameter(torch.ones(64, 8, dtype=torch.float16))
    feature = Feature("f", 64, 8, "sum", "float16")
    return fused([table], [feature], optimizer=optimizer, **options), table


@either_way
def test_small_steps_add_up(emulated: bool) -> None:
    """Steps of an eighth of the distance of two numbers, which rounding to nearest loses."""
    step = 2**-11 / 8
    nearest, lost = module_of(SGD(step), emulated=emulated)
    module, table = module_of(SGD(step, **RANDOM), emulated=emulated)
    train(nearest, 16)
    train(module, 16)
    assert (lost == 1).all()
    assert module.iter.item() == 16
    # Numbers of 512 elements, after 16 steps each.
    error = 2**-11 * (16 * 1 / 8 * 7 / 8 / 512) ** 0.5
    assert abs(float(table.double().mean().detach()) - (1 - 16 * step)) <= 3 * error


def test_the_cpu_has_the_bits_of_the_kernels_and_of_another_run() -> None:
    tables = []
    for emulated in (False, True, True):
        module, table = module_of(Adam(1e-4, **RANDOM), emulated=emulated)
        train(module, 3)
        tables.append(table)
    other, table = module_of(Adam(1e-4, stochastic_rounding=True, seed=6), emulated=True)
    train(other, 3)
    assert torch.equal(tables[0], tables[1])
    assert torch.equal(tables[1], tables[2])
    assert not torch.equal(tables[0], table)


@pytest.mark.parametrize("type", ["float32", "bfloat16"])
def test_other_tables_are_rounded_as_ever(type: str) -> None:
    one = example([Feature("f", 9, 8, "sum", type)], [[4, 3]])
    random, plain = (by_kernels(one, each).tables for each in (SGD(0.3, **RANDOM), SGD(0.3)))
    assert torch.equal(random[0], plain[0])


def test_numbers_of_kernels_are_those_of_the_golden_model() -> None:
    from gnarl.sw.runtime.cuda.torch.optimizer_state import OptimizerState

    table = torch.zeros(2, 4)
    for optimizer in (SGD(0.3, **RANDOM), Adam(0.3, **RANDOM), Adam(0.3)):
        moments = [table] * 2 if isinstance(optimizer, Adam) else []
        state = OptimizerState(optimizer, [table], [*moments, torch.tensor(40)], [True])
        found = state.next_numbers(optimizer, torch.tensor(0.3)).numpy()
        right = step_numbers(optimizer, np.float32(0.3), 41)
        assert found.view(np.uint32).tolist() == right.view(np.uint32).tolist()


def test_operators_as_text_have_the_seed() -> None:
    module, _ = module_of(SGD(0.5, **RANDOM))
    assert operator_program(module._program).optimizer == SGD(0.5, **RANDOM)


@pytest.mark.parametrize("seed", [-1, 2**64, 0.5, True, "new"])
def test_seeds_that_are_no_words_are_refused(seed: Any) -> None:
    with refused(f"optimizer SGD: seed = {seed!r}: must be a whole number from 0 to below 2^64"):
        SGD(0.1, seed=seed)


@pytest.mark.parametrize("chosen", [1, None, "yes"])
def test_choices_that_are_none_are_refused(chosen: Any) -> None:
    text = f"optimizer Adam: stochastic_rounding = {chosen!r}: must be True or False"
    with refused(text):
        Adam(0.1, stochastic_rounding=chosen)

"""Offsets and indices out of range in the modes of FBGEMM's ``bounds_check_indices``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gnarl.sw.runtime.cuda.torch.bounds_check import BoundsCheck  # noqa: E402
from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags  # noqa: E402
from gnarl.sw.runtime.cuda.torch.fused_embeddings import FusedEmbeddings  # noqa: E402
from gnarl.sw.runtime.cuda.torch.keyed_inputs import PackedInputs  # noqa: E402
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature  # noqa: E402
from tests.support.cuda.torch_embedding import JaggedInputs, fused  # noqa: E402
from tests.support.errors import noted, refused  # noqa: E402

FEATURES = (Feature("a", 7, 4), Feature("b", 4, 4, pruned=True), Feature("c", 9, 4))
MODEL = EmbeddingModel("m", FEATURES)


def golden(
    values: np.ndarray, offsets: np.ndarray, whole: bool
) -> tuple[np.ndarray, np.ndarray, int]:
    """Values and offsets as FBGEMM leaves them, one bag after the other, and what it counts; but
    that it takes -1 of all features for pruned rows."""
    values, offsets = values.copy(), offsets.copy()
    count, found = len(values), 0
    batch = (len(offsets) - 1) // len(FEATURES)
    if whole and offsets[-1] != count:
        found += 1
        offsets[-1] = count
    for number, feature in enumerate(FEATURES):
        for bag in range(number * batch, (number + 1) * batch):
            begin, end = offsets[bag], offsets[bag + 1]
            if begin < 0 or begin > end or end > count:
                found += 1
                begin = max(0, min(begin, count))
                end = max(begin, min(end, count))
                offsets[bag : bag + 2] = begin, end
            for at in range(begin, end):
                if not feature.first_index <= values[at] < feature.rows:
                    found += 1
                    values[at] = 0
    return values, offsets, found


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and offsets of all features, some of which are bad."""
    rng = np.random.default_rng(seed)
    batch = int(rng.integers(1, 5))
    lengths = rng.integers(-1 if seed % 3 == 0 else 0, 4, len(FEATURES) * batch)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    if seed % 3 == 1:
        offsets[rng.integers(1, len(offsets))] = rng.integers(-9, 99)
    count = max(0, int(offsets[-1]) + int(rng.integers(-2, 3)) * (seed % 2))
    return rng.integers(-2, 10, count), offsets


@pytest.mark.parametrize("type", [torch.int32, torch.int64])
@pytest.mark.parametrize("mode", ["warning", "ignore"])
@pytest.mark.filterwarnings("ignore:embedding bags. offsets or indices")
def test_values_and_offsets_are_those_of_fbgemm(mode: str, type: torch.dtype) -> None:
    bad = 0
    for seed in range(200):
        values, offsets = drawn(seed)
        check = BoundsCheck(MODEL, mode)
        inputs = PackedInputs(
            torch.tensor(values, dtype=type), torch.tensor(offsets).to(type), None
        )
        found = check(inputs, whole=True)
        right_values, right_offsets, faults = golden(values, offsets, whole=True)
        with noted(f"seed {seed}"):
            assert found.values.tolist() == right_values.tolist()
            assert found.offsets.tolist() == right_offsets.tolist()
            assert found.values.dtype == found.offsets.dtype == type
            assert check.found.item() == (faults if mode == "warning" else 0)
        bad += faults > 0
    assert 40 < bad < 200


BAD = {"a": [[1, 7], [-1]], "b": [[3, -1], [4]], "c": [[8], []]}
REPAIRED = {"a": [[1, 0], [0]], "b": [[3, -1], [0]], "c": [[8], []]}


def tables() -> list[torch.nn.Parameter]:
    return [
        torch.nn.Parameter(torch.arange(4.0 * each.rows).view(-1, 4) + each.rows)
        for each in FEATURES
    ]


@pytest.mark.parametrize("path", ["cpu", "emulated", "compiled"])
@pytest.mark.parametrize("mode", ["warning", "ignore"])
def test_lookups_take_row_0_for_indices_out_of_range(mode: str, path: str) -> None:
    module = fused(tables(), FEATURES, bounds_check_mode=mode, emulated=path == "emulated")
    right = fused(tables(), FEATURES)
    look_up: Any = module
    if path == "compiled":
        look_up = torch.compile(module, backend="aot_eager")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            outputs = look_up(JaggedInputs.of(BAD)).values()
    expected = right(JaggedInputs.of(REPAIRED)).values()
    assert torch.equal(outputs, expected)
    assert module.bounds_check_warnings() == (6 if mode == "warning" else 0)
    texts = [str(each.message) for each in caught if "out of range" in str(each.message)]
    assert len(texts) == (mode == "warning" and path != "compiled")
    outputs.sum().backward()
    expected.sum().backward()
    for one, other in zip(module.parameters(), right.parameters(), strict=True):
        assert torch.equal(one.grad, other.grad)
    torch._dynamo.reset()


@pytest.mark.parametrize("path", ["cpu", "emulated"])
def test_fatal_names_what_is_bad(path: str) -> None:
    module = fused(tables(), FEATURES, bounds_check_mode="fatal", emulated=path == "emulated")
    module(JaggedInputs.of(REPAIRED))
    for key, bags, text in (
        ("a", [[1, 7], [0]], "indices of a[1] = 7: must be from 0 to 6"),
        ("a", [[1], [-1]], "indices of a[1] = -1: must be from 0 to 6"),
        ("b", [[-1], [-2]], "indices of b[1] = -2: must be from -1 to 3"),
    ):
        with refused(text):
            module(JaggedInputs.of(REPAIRED | {key: bags}))
    offsets = {name: torch.tensor([0, 1, 1]) for name in "abc"}
    values = {name: torch.tensor([1]) for name in "abc"}
    with refused("offsets of b[2] = 2: must be at most 1, the number of indices"):
        module(values, offsets | {"b": torch.tensor([0, 1, 2])})
    with pytest.raises(RuntimeError, match="out of range"):
        jagged = JaggedInputs.of(REPAIRED)
        jagged.flat = torch.cat([jagged.flat, jagged.flat[:1]])
        module(jagged)


def test_compiled_graphs_are_fatal_too() -> None:
    module = fused(tables(), FEATURES, bounds_check_mode="fatal")
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    assert torch.equal(
        compiled(JaggedInputs.of(REPAIRED)).values(), module(JaggedInputs.of(REPAIRED)).values()
    )
    with pytest.raises(RuntimeError, match="out of range"):
        compiled(JaggedInputs.of(BAD))
    torch._dynamo.reset()


@pytest.mark.filterwarnings("ignore:embedding bags. offsets or indices")
def test_offsets_of_dicts_are_repaired_feature_by_feature() -> None:
    """Values past the last offset stay ignored, whatever they are."""
    module = fused(tables(), FEATURES, bounds_check_mode="warning")
    values = {
        "a": torch.tensor([1, 2, 3]),
        "b": torch.tensor([0, 1, 99]),
        "c": torch.tensor([4, 99]),
    }
    offsets = {
        "a": torch.tensor([1, 9, 2]),  # begins after 0, beyond the values, decreases
        "b": torch.tensor([0, 1, 2]),
        "c": torch.tensor([-1, 1, 1]),
    }
    repaired = {"a": torch.tensor([0, 3, 3]), "b": offsets["b"], "c": torch.tensor([0, 1, 1])}
    right = fused(tables(), FEATURES)(values, repaired)
    for name, output in module(values, offsets).items():
        assert torch.equal(output, right[name]), name
    assert module.bounds_check_warnings() == 3 + 2  # bags of a, and two begins; c's first bag
    module.bounds_check.found.zero_()
    module(values, repaired)
    assert module.bounds_check_warnings() == 0


@pytest.mark.filterwarnings("ignore:embedding bags. offsets or indices")
def test_padding_is_a_row_and_is_left_out() -> None:
    features = [Feature("a", 7, 4, padding_idx=2)]
    table = torch.nn.Parameter(torch.ones(7, 4))
    module = fused([table], features, bounds_check_mode="warning")
    found = module({"a": torch.tensor([[2, 1], [9, 2]])})["a"]
    assert found[:, 0].tolist() == [1, 1]
    assert module.bounds_check_warnings() == 1


@pytest.mark.filterwarnings("ignore:embedding bags. offsets or indices")
def test_embeddings_that_are_not_pooled() -> None:
    table = torch.arange(5.0)[:, None]
    module = FusedEmbeddings(
        [table], [Feature("a", 5, 1)], bounds_check_mode="warning", need_indices=True
    )
    found = module(JaggedInputs.of({"a": [[4, 5], [-1, 3]]}))["a"]
    assert found.values()[:, 0].tolist() == [4, 0, 0, 3]
    assert found.weights().tolist() == [4, 0, 0, 3]
    assert module.bounds_check_warnings() == 2


def test_batches_may_be_empty() -> None:
    module = fused(tables(), FEATURES, bounds_check_mode="fatal")
    assert module(JaggedInputs.of({name: [] for name in "abc"})).values().shape == (0, 12)
    assert not module(JaggedInputs.of({name: [[], []] for name in "abc"})).values().any()


def test_states_do_not_know_of_checks_and_modes_are_known() -> None:
    module = fused(tables(), FEATURES, bounds_check_mode="ignore")
    plain: FusedEmbeddingBags = fused(tables(), FEATURES)
    assert list(module.state_dict()) == list(plain.state_dict())
    assert plain.bounds_check_warnings() == 0
    assert module.half().bounds_check.limits.dtype == torch.int64
    with refused("bounds_check_mode = 'loud': must be one of fatal, warning, ignore"):
        fused(tables(), FEATURES, bounds_check_mode="loud")


@pytest.mark.parametrize("mode", ["fatal", "warning", "ignore"])
def test_the_host_looks_at_no_tensor(mode: str) -> None:
    """Those of device ``meta`` hold nothing that could be looked at."""
    check = BoundsCheck(MODEL, mode).to("meta")
    values = torch.empty(20, dtype=torch.int64, device="meta")
    offsets = torch.empty(13, dtype=torch.int64, device="meta")
    found = check(PackedInputs(values, offsets, None), whole=True)
    assert found.values.shape == (20,)
    rows = [torch.empty(5, dtype=torch.int64, device="meta") for _ in FEATURES]
    assert check.stacked(rows, [3, 4, 5], ["offsets"] * 3).shape == (3, 5)

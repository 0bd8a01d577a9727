"""Inputs whose lengths do not go together: on each path as ``nn.EmbeddingBag`` has them, or refused
in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gnarl import Device  # noqa: E402
from gnarl.hw.lib.errors import WorkloadError  # noqa: E402
from gnarl.sw.runtime.cuda.packed import MAXIMUM_VALUES  # noqa: E402
from gnarl.sw.runtime.cuda.torch.bag_bounds import (  # noqa: E402
    check_packed_offsets,
    end_to_end,
    require_countable,
    stacked_bounds,
)
from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags  # noqa: E402
from gnarl.sw.runtime.cuda.torch.keyed_inputs import _offsets  # noqa: E402
from gnarl.sw.runtime.cuda.torch.lookup import Lookup  # noqa: E402
from gnarl.sw.workloads.embedding.inputs import model_inputs  # noqa: E402
from gnarl.sw.workloads.embedding.model import Feature  # noqa: E402
from tests.support.cuda.odd_inputs import HAVE_LENGTHS, KINDS, MODEL, Bags, Case, drawn, pytorchs  # noqa: E402
from tests.support.cuda.torch_embedding import JaggedInputs, fused  # noqa: E402
from tests.support.errors import noted, refused  # noqa: E402

SEEDS = range(240)


@pytest.fixture(autouse=True)
def _compiled_anew() -> Iterator[None]:
    """PyTorch compiles a method a few times only."""
    yield
    torch._dynamo.reset()


BY_NAME = {feature.name: feature for feature in MODEL.features}


@cache
def module(last: bool, emulated: bool) -> FusedEmbeddingBags:
    tables = {feature.name: torch.zeros(feature.rows, feature.dim) for feature in MODEL.features}
    return fused(tables, MODEL.features, include_last_offset=last, emulated=emulated)


def lengths_of(bags: Bags, last: bool) -> torch.Tensor:
    assert bags.offsets is not None
    ends = bags.offsets.new_tensor([] if last else [len(bags.values)])
    return torch.cat([bags.offsets, ends]).diff()


def looked_up(case: Case, *, emulated: bool) -> dict[str, torch.Tensor]:
    made = module(case.include_last_offset, emulated)
    for name, table in case.tables.items():
        made.get_parameter(f"embedding_bags.{name}.weight").data.copy_(table)
    bags = case.bags.items()
    bounds = {name: own.offsets for name, own in bags if own.offsets is not None}
    if case.by_lengths:
        bounds = {name: lengths_of(own, case.include_last_offset) for name, own in bags}
    return made(
        {name: own.values for name, own in bags},
        None if case.by_lengths else bounds,
        bounds if case.by_lengths else None,
        {name: own.weights for name, own in bags if own.weights is not None},
    )


@cache
def device() -> tuple[Device, Any]:
    found = Device("cuda_sm90", "emulation")
    return found, found.compile(MODEL)


def arrays(case: Case) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for name, own in case.bags.items():
        offsets = own.offsets
        assert offsets is not None
        if not case.include_last_offset:
            offsets = torch.cat([offsets, torch.tensor([len(own.values)])])
        found[f"{name}.table"] = case.tables[name].numpy()
        found[f"{name}.indices"] = own.values.numpy()
        found[f"{name}.offsets"] = offsets.numpy()
        if own.weights is not None:
            found[f"{name}.weights"] = own.weights.numpy()
    return found


def run(inputs: Any) -> dict[str, torch.Tensor]:
    outputs = device()[0].run(device()[1], inputs).outputs
    return {name: torch.from_numpy(np.asarray(output)) for name, output in outputs.items()}


def from_arrays(case: Case) -> dict[str, torch.Tensor]:
    return run(arrays(case))


def from_file(case: Case, folder: Path) -> dict[str, torch.Tensor]:
    path = folder / "inputs.npz"
    np.savez(path, **arrays(case))
    return run(model_inputs(MODEL, path, None, 0))


def require_as_pytorch(case: Case, look_up: Callable[[], dict[str, torch.Tensor]]) -> None:
    kind = KINDS[case.kind]
    if kind.refused:
        with pytest.raises(WorkloadError) as caught:
            look_up()
        text = str(caught.value)
        assert kind.refused in text or case.by_lengths
        assert case.odd in text
        assert "\n" not in text
        return
    found = look_up()
    for feature in MODEL.features:
        assert torch.equal(found[feature.name], pytorchs(case, feature)), feature.name


@pytest.mark.parametrize("emulated", [False, True], ids=["cpu", "emulated"])
def test_modules_do_as_pytorch(emulated: bool) -> None:
    for seed in SEEDS:
        case = drawn(seed)
        with noted(f"seed {seed}: {case.kind} of {case.odd}"):
            require_as_pytorch(case, partial(looked_up, case, emulated=emulated))


def test_runs_do_as_pytorch(tmp_path: Path) -> None:
    for seed in SEEDS:
        case = drawn(seed)
        if KINDS[case.kind].as_arrays:
            with noted(f"seed {seed}: {case.kind} of {case.odd}"):
                from_npz = partial(from_file, case, tmp_path)
                require_as_pytorch(case, from_npz if seed % 2 else partial(from_arrays, case))


def test_each_kind_is_drawn_of_each_feature() -> None:
    cases = [drawn(seed) for seed in SEEDS]
    kinds = Counter(case.kind for case in cases)
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 5
    tails = {case.odd for case in cases if case.kind == "values past the last offset"}
    assert tails == set(BY_NAME)
    assert {case.include_last_offset for case in cases} == {False, True}
    by_lengths = Counter(case.kind for case in cases if case.by_lengths)
    assert set(by_lengths) == HAVE_LENGTHS


UNSPECIFIC = {"another batch size", "offsets decrease", "values of 32 bits", "offsets of 32 bits"}
"""Of which PyTorch has no opinion, or another in each pooling."""


def test_pytorch_refuses_the_same() -> None:
    for seed in SEEDS:
        case = drawn(seed)
        feature = BY_NAME[case.odd]
        if KINDS[case.kind].refused and case.kind not in UNSPECIFIC and feature.pooling != "max":
            with pytest.raises((RuntimeError, ValueError, IndexError)):
                pytorchs(case, feature)


TAILS = {
    "a": Bags(torch.tensor([1, 2, 7, 2**40]), torch.tensor([0, 1, 2]), None),
    "b": Bags(torch.tensor([3, 9, 4]), torch.tensor([0, 0, 1]), torch.tensor([0.5, 8.0, 8.0])),
    "c": Bags(torch.tensor([5, 6, 6]), torch.tensor([0, 2, 3]), None),
}


def with_tails(**options: Any) -> FusedEmbeddingBags:
    features = [
        Feature("a", 10, 4, "mean"),
        Feature("b", 10, 4, weighted=True),
        Feature("c", 10, 4),
    ]
    tables = [torch.nn.Parameter(torch.arange(40.0).view(10, 4) + n) for n in range(3)]
    return fused(tables, features, **options)


def trained(
    made: FusedEmbeddingBags, look_up: Callable[..., Any], bags: dict[str, Bags], form: str
) -> list[torch.Tensor]:
    """Outputs and all gradients. ``form``: offsets or lengths."""
    values = {name: own.values for name, own in bags.items()}
    bounds = {name: own.offsets for name, own in bags.items()}
    if form == "lengths":
        bounds = {name: own.diff() for name, own in bounds.items()}
    weights = bags["b"].weights.clone().requires_grad_()
    made.zero_grad()
    outputs = look_up(values, weights={"b": weights}, **{form: bounds})
    scales = torch.arange(1.0, 9).view(2, 4)
    sum((output * scales).sum() for output in outputs.values()).backward()
    tables = [table.grad for table in made.parameters()]
    return [*(output.detach() for output in outputs.values()), *tables, weights.grad[:1]]


def trimmed(bags: Bags) -> Bags:
    end = int(bags.offsets[-1])
    return Bags(
        bags.values[:end], bags.offsets, None if bags.weights is None else bags.weights[:end]
    )


@pytest.mark.parametrize("form", ["offsets", "lengths"])
@pytest.mark.parametrize("path", ["cpu", "emulated", "compiled"])
def test_tails_change_no_output_and_no_gradient(path: str, form: str) -> None:
    made = with_tails(emulated=path == "emulated")
    found = made
    if path == "compiled":
        found = torch.compile(made, backend="aot_eager", fullgraph=True, dynamic=True)
    wanted = trained(made, made, {name: trimmed(own) for name, own in TAILS.items()}, form)
    for one, other in zip(trained(made, found, TAILS, form), wanted, strict=True):
        assert torch.equal(one, other)


def test_weights_past_the_end_of_keyed_jagged_tensors_have_no_gradient() -> None:
    made = fused([torch.ones(10, 4)], [Feature("f", 10, 4, weighted=True)])
    weights = torch.ones(4, requires_grad=True)
    jagged = JaggedInputs(["f"], torch.tensor([1, 2, 3, 2**40]), torch.tensor([1, 1]), weights)
    made(jagged).values().sum().backward()
    assert weights.grad.tolist() == [4, 4, 0, 0]


@pytest.mark.parametrize(
    ("lengths", "text"),
    [
        ([1, -1, 2], "lengths of f[1] = -1: must be at least 0"),
        ([1, 2, 1], "lengths of f: have the sum 4: must be at most 3, the number of indices"),
    ],
)
@pytest.mark.parametrize("path", ["cpu", "emulated", "compiled"])
def test_lengths_that_do_not_fit(path: str, lengths: list[int], text: str) -> None:
    look_up: Any = fused([torch.ones(10, 4)], [Feature("f", 10, 4)], emulated=path == "emulated")
    if path == "compiled":
        look_up = torch.compile(look_up, backend="eager", fullgraph=True)
    with refused(text):
        look_up({"f": torch.tensor([1, 2, 3])}, None, {"f": torch.tensor(lengths)})


def test_compiled_modules_refuse_offsets_that_begin_after_0() -> None:
    made = with_tails()
    bad = {name: own.offsets for name, own in TAILS.items()} | {"b": torch.tensor([1, 1, 2])}
    values = {name: own.values for name, own in TAILS.items()}
    with refused("offsets of b[0] = 1: must be 0"):
        torch.compile(made, backend="eager", fullgraph=True)(
            values, bad, None, {"b": TAILS["b"].weights}
        )


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (
            {"sizes": torch.tensor([1, 1, 1])},
            "lengths: are [3]: must be [2 * batch]",
        ),
        (
            {"sizes": torch.tensor([1.5, 1.0])},
            "lengths: are float32: must be int32 or int64",
        ),
        (
            {"sizes": torch.tensor([1, 2])},
            "input: offsets end with 3: must be at most 2, the number of indices",
        ),
        ({"given_weights": torch.ones(3)}, "weights: are [3]: must match values, [2]"),
        ({"given_weights": torch.ones(1)}, "weights: are [1]: must match values, [2]"),
    ],
)
@pytest.mark.parametrize("names", [["f", "g"], ["g", "f"]])
def test_keyed_jagged_tensors_whose_parts_do_not_fit(
    names: list[str], changed: dict[str, Any], text: str
) -> None:
    features = [Feature("f", 10, 4, weighted=True), Feature("g", 10, 4, weighted=True)]
    made = fused([torch.ones(10, 4)] * 2, features)
    jagged = JaggedInputs(names, torch.tensor([1, 2]), torch.tensor([1, 1]), torch.ones(2))
    for name, value in changed.items():
        setattr(jagged, name, value)
    with refused(text):
        made(jagged)


def test_keyed_jagged_tensors_that_say_other_lengths_of_keys() -> None:
    class Wrong(JaggedInputs):
        def length_per_key(self) -> list[int]:
            return [2, 1]

    made = fused([torch.ones(10, 4)] * 2, [Feature("f", 10, 4), Feature("g", 10, 4)])
    with refused("input: length_per_key is 2, 1: must be 1, 2, the sums of lengths"):
        made(Wrong.of({"g": [[1]], "f": [[2, 3]]}))


def test_negative_lengths_of_keyed_jagged_tensors() -> None:
    made = fused([torch.ones(10, 4)], [Feature("f", 10, 4)])
    with refused("input: offsets[2] = 1: must be at least 2, as the one before"):
        made(JaggedInputs(["f"], torch.tensor([1, 2]), torch.tensor([2, -1])))


def test_offsets_beyond_32_bits_are_of_64() -> None:
    """Of two features with 2^30 values each, and more; their values need no memory."""
    features = [Feature("f", 10, 4), Feature("g", 10, 4)]
    made = fused([torch.ones(10, 4)] * 2, features, include_last_offset=False).to("meta")
    for count, type in ((2**29, torch.int32), (2**30, torch.int64)):
        values = {name: torch.empty(count, dtype=torch.int32, device="meta") for name in "fg"}
        offsets = {name: torch.empty(3, dtype=torch.int32, device="meta") for name in "fg"}
        packed = made._pack(values, offsets, None, None)
        assert (packed.values.dtype, packed.offsets.dtype) == (type, type)


def test_features_of_32_bits_refuse_more_values_than_kernels_can_count() -> None:
    features = [Feature(name, 10, 4, index_type="int32") for name in "fg"]
    made = fused([torch.ones(10, 4)] * 2, features, include_last_offset=False).to("meta")
    values = {name: torch.empty(2**30, dtype=torch.int32, device="meta") for name in "fg"}
    offsets = {name: torch.empty(3, dtype=torch.int32, device="meta") for name in "fg"}
    text = f"input: has {2**31} values of int32: must be at most {MAXIMUM_VALUES}, or int64"
    packed = made._pack(values, offsets, None, None)
    with refused(text):
        Lookup(
            list(made.parameters()), packed.values, packed.offsets, packed.weights, made._program
        ).check()


@pytest.mark.parametrize("type", [torch.int32, torch.int64])
def test_bounds_beyond_32_bits_are_right(type: torch.dtype) -> None:
    counts = [2**31 - 1, 2**31 - 1, 5]
    rows = [torch.tensor([0, count // 2, count], dtype=type) for count in counts]
    bounds = end_to_end(stacked_bounds(rows, counts, ["offsets of f"] * 3), torch.int64)
    assert bounds.tolist() == [0, 2**30 - 1, 2**31 - 1, 3 * 2**30 - 2, 2**32 - 2, 2**32, 2**32 + 3]


def test_lengths_beyond_32_bits_are_right() -> None:
    count = 2**30
    values = torch.zeros(1, dtype=torch.int32).expand(4 * count)
    lengths = torch.full((4,), count, dtype=torch.int32)
    made = fused([torch.ones(10, 4)], [Feature("f", 10, 4)])
    row = made._pack({"f": values.to("meta")}, None, {"f": lengths.to("meta")}, None)
    assert row.offsets.dtype == torch.int64
    assert _offsets(lengths).tolist() == [0, count, 2 * count, 3 * count, 4 * count]


def test_more_values_of_32_bits_than_kernels_can_count() -> None:
    values = torch.zeros(1, dtype=torch.int32).expand(MAXIMUM_VALUES + 1)
    with refused(
        f"input: has {MAXIMUM_VALUES + 1} values of int32: must be at most {MAXIMUM_VALUES}, or "
        "int64"
    ):
        require_countable(values)
    require_countable(values[1:])


@pytest.mark.parametrize(
    ("offsets", "text"),
    [
        ([1, 2], "input: offsets begin with 1: must be 0"),
        ([0, 3], "input: offsets end with 3: must be at most 2, the number of indices"),
        ([0, 2, 1], "input: offsets[2] = 1: must be at least 2, as the one before"),
    ],
)
def test_offsets_of_all_features_together(offsets: list[int], text: str) -> None:
    with refused(text):
        check_packed_offsets(torch.tensor(offsets), 2)

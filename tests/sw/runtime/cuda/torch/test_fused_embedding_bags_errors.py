"""What the PyTorch module refuses, with whole texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gnarl.hw.lib.errors import ConfigError  # noqa: E402
from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags  # noqa: E402
from gnarl.sw.runtime.cuda.torch.lookup import Lookup  # noqa: E402
from gnarl.sw.workloads.embedding.model import (  # noqa: E402
    MAXIMUM_BATCH,
    Feature,
)
from tests.support.cuda.torch_embedding import fused, fused_bags, schedules_of  # noqa: E402
from tests.support.errors import refused  # noqa: E402

ONE = [Feature("f", 10, 4)]
TWO = [Feature("f", 10, 4), Feature("g", 5, 8, weighted=True)]


def two(**options: Any) -> FusedEmbeddingBags:
    return fused([torch.ones(10, 4), torch.ones(5, 8)], TWO, **options)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: fused([torch.ones(10, 4)], TWO),
            "tables: there are 1: must be 2, one for each feature",
        ),
        (
            lambda: fused({"f": torch.ones(10, 4)}, TWO),
            "feature g: no such table: g",
        ),
        (
            lambda: fused({"f": torch.ones(10, 4)}, ONE, table_of={"f": "t"}),
            "feature f: no such table: t",
        ),
        (
            lambda: fused([torch.ones(4, 10)], ONE),
            "feature f: table is [4, 10]: must be [rows, dim] = [10, 4]",
        ),
        (
            lambda: fused([torch.ones(10, 4, dtype=torch.float16)], ONE),
            "feature f: table is float16: must be float32",
        ),
        (
            lambda: fused([torch.ones(4, 10).T], ONE),
            "feature f: table has strides [1, 10]: must be contiguous",
        ),
        (
            lambda: fused({"a.b": torch.ones(10, 4)}, ONE, table_of={"f": "a.b"}),
            "table 'a.b': cannot name a part of a PyTorch module: must have no dots, and differ "
            "from the attributes of ModuleDict",
        ),
        (
            lambda: fused({"keys": torch.ones(10, 4)}, ONE, table_of={"f": "keys"}),
            "table 'keys': cannot name a part of a PyTorch module: must have no dots, and differ "
            "from the attributes of ModuleDict",
        ),
        (
            lambda: fused(
                [torch.ones(10, 4), torch.ones(5, 8)],
                [TWO[0], Feature("g", 5, 8, index_type="int32")],
            ),
            "feature g: index_type = 'int32': must be 'int64', as of f",
        ),
        (
            lambda: fused([torch.ones(10, 4)] * 2, [ONE[0], ONE[0]]),
            "model : two features are named f",
        ),
    ],
)
def test_tables_and_features_that_do_not_fit(make: Callable[[], object], text: str) -> None:
    with refused(text):
        make()


def test_schedules_for_another_model() -> None:
    given = schedules_of([Feature("f", 11, 4)])
    mine = fused([torch.ones(10, 4)], ONE).model.digest
    with refused(
        f"schedules: model = {given.model[:40]}…: does not match embedding bags, which is "
        f"{mine[:40]}…"
    ):
        FusedEmbeddingBags([torch.ones(10, 4)], ONE, given)


def test_configurations_of_another_target() -> None:
    pytest.importorskip("amaranth", reason="the other target needs it")
    text = "dpu_d1_b8: is of target dpu: must be of target cuda"
    with pytest.raises(ConfigError, match=f"^{re.escape(text)}$"):
        FusedEmbeddingBags([torch.ones(10, 4)], ONE, config="dpu_d1_b8")


F_VALUES = {"f": torch.tensor([1, 2])}
VALUES = {"f": torch.tensor([1, 2]), "g": torch.tensor([3])}
OFFSETS = {"f": torch.tensor([0, 2]), "g": torch.tensor([0, 1])}
WEIGHTS = {"g": torch.tensor([0.5])}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            (torch.tensor([1, 2]), OFFSETS),
            "input: is Tensor: must be tensors by key, or a KeyedJaggedTensor",
        ),
        ((F_VALUES, {"f": OFFSETS["f"]}, None, {}), "input: has no key g; there are f"),
        (
            (VALUES | {"h": VALUES["f"]}, OFFSETS, None, WEIGHTS),
            "values of h: no feature looks it up; there are f, g",
        ),
        (
            (VALUES, OFFSETS | {"h": OFFSETS["f"]}, None, WEIGHTS),
            "offsets of h: no feature looks it up; there are f, g",
        ),
        (
            (VALUES, OFFSETS, None, WEIGHTS | {"f": WEIGHTS["g"]}),
            "weights of f: no feature looks it up; there are g",
        ),
        ((VALUES, OFFSETS, None, None), "feature g: has no weights, but is weighted"),
        (
            (VALUES, OFFSETS, OFFSETS, WEIGHTS),
            "input: has both offsets and lengths: must have one of them",
        ),
        (
            (VALUES, {"f": OFFSETS["f"]}, None, WEIGHTS),
            "input: has neither offsets nor lengths of g",
        ),
        (
            (VALUES | {"f": torch.ones(2)}, OFFSETS, None, WEIGHTS),
            "values of f: are float32: must be int64",
        ),
        (
            (VALUES, OFFSETS | {"f": torch.tensor([0.0, 2.0])}, None, WEIGHTS),
            "offsets of f: are float32: must be int64",
        ),
        (
            (VALUES, OFFSETS | {"f": torch.tensor([[0, 2]])}, None, WEIGHTS),
            "offsets of f: are [1, 2]: must have one dimension",
        ),
        (
            (VALUES | {"f": torch.ones(1, 2, 3, dtype=torch.int64)}, OFFSETS, None, WEIGHTS),
            "values of f: are [1, 2, 3]: must be [values] or [batch, length]",
        ),
        (
            (VALUES | {"f": torch.ones(1, 2, dtype=torch.int64)}, OFFSETS, None, WEIGHTS),
            "offsets of f: not supported with values [batch, length]",
        ),
        (
            (VALUES, OFFSETS | {"g": torch.tensor([0, 1, 1])}, None, WEIGHTS),
            "feature g: has 2 samples, f has 1: must be equal",
        ),
        (
            (VALUES, OFFSETS, None, {"g": torch.ones(2)}),
            "weights of g: are [2]: must match values, [1]",
        ),
    ],
)
def test_inputs_that_do_not_fit(arguments: tuple[Any, ...], text: str) -> None:
    with refused(text):
        two()(*arguments)


def test_int64_indices_are_not_narrowed() -> None:
    module = fused([torch.ones(10, 4)], [Feature("f", 10, 4, index_type="int32")])
    with refused("values of f: are int64: must be int32"):
        module({"f": torch.tensor([[2**32 + 1]])})


def test_weights_where_no_feature_has_any() -> None:
    with refused("weights of f: no feature looks it up; no feature is weighted"):
        fused([torch.ones(10, 4)], ONE)({"f": torch.tensor([[1]])}, weights={"f": torch.ones(1, 1)})


def test_outputs_of_several_types_do_not_stand_side_by_side() -> None:
    features = [ONE[0], Feature("g", 10, 4, output_type="float16")]
    module = fused([torch.ones(10, 4)] * 2, features)
    with refused("outputs: are of 2 types: must be of one type to be concatenated"):
        module.forward_concatenated({name: torch.tensor([[1]]) for name in "fg"})


@pytest.mark.parametrize("emulated", [False, True])
@pytest.mark.parametrize(
    ("values", "offsets", "text"),
    [
        ([1, 10], [0, 2], "indices of f[1] = 10: must be from 0 to 9"),
        ([-1, 1], [0, 2], "indices of f[0] = -1: must be from 0 to 9"),
        ([1, 2], [1, 2], "offsets of f[0] = 1: must be 0"),
        (
            [1, 2],
            [0, 2, 1],
            "offsets of f[2] = 1: must be at least 2, as the one before",
        ),
        ([1, 2], [0, 3], "offsets of f[1] = 3: must be at most 2, the number of indices"),
    ],
)
def test_checked_modules_name_the_first_bad_offset_or_index(
    values: list[int], offsets: list[int], text: str, emulated: bool
) -> None:
    module = fused([torch.ones(10, 4)], ONE, checked=True, emulated=emulated)
    with refused(text):
        module({"f": torch.tensor(values)}, {"f": torch.tensor(offsets)})


def test_emulated_modules_name_an_index_out_of_range_unchecked() -> None:
    module = two(emulated=True)
    values = VALUES | {"g": torch.tensor([5])}
    with refused("indices of g[0] = 5: must be from 0 to 4"):
        module(values, OFFSETS, weights=WEIGHTS)


def two_lookup() -> Lookup:
    """What the operator is given for ``VALUES``: features f and, weighted, g."""
    module = two()
    packed = module._pack(VALUES, OFFSETS, None, WEIGHTS)
    assert packed.weights is not None
    lookup = Lookup(
        [table.detach() for table in module.parameters()],
        packed.values,
        packed.offsets,
        packed.weights,
        module._program,
    )
    lookup.check()
    return lookup


def test_tensors_on_several_devices() -> None:
    lookup = two_lookup()
    tables, weights = lookup.tables, lookup.weights
    assert weights is not None
    for moved, text in (
        (
            {"tables": [tables[0], tables[1].to("meta")]},
            "feature g: table is on meta, values on cpu: must be on one device",
        ),
        (
            {"offsets": lookup.offsets.to("meta")},
            "input: offsets are on meta, values on cpu: must be on one device",
        ),
        (
            {"weights": weights.to("meta")},
            "input: weights are on meta, values on cpu: must be on one device",
        ),
    ):
        with refused(text):
            replace(lookup, **moved).check()  # type: ignore[arg-type]


def test_tensors_that_are_not_the_programs() -> None:
    lookup = two_lookup()
    count, bounds = len(lookup.values), len(lookup.offsets)
    for changed, text in (
        ({"tables": lookup.tables[:1]}, "input: has 1 tables: must have 2"),
        (
            {"values": lookup.values.float()},
            f"input: values are float32 [{count}]: must be int64 [values]",
        ),
        (
            {"offsets": lookup.offsets.int()},
            f"input: offsets are int32 [{bounds}]: must be int64 [2 * batch + 1]",
        ),
        (
            {"offsets": lookup.offsets[1:]},
            f"input: offsets are int64 [{bounds - 1}]: must be int64 [2 * batch + 1]",
        ),
        (
            {"offsets": lookup.offsets[:0]},
            "input: offsets are int64 [0]: must be int64 [2 * batch + 1]",
        ),
        (
            {"offsets": lookup.offsets[None]},
            f"input: offsets are int64 [1, {bounds}]: must be int64 [2 * batch + 1]",
        ),
        ({"weights": None}, f"input: has no weights: must be float32 [{count}], as g is weighted"),
        (
            {"weights": torch.ones(1)},
            f"input: weights are float32 [1]: must be float32 [{count}]",
        ),
    ):
        with refused(text):
            replace(lookup, **changed).check()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("max_norm", 1.0, "max_norm = 1.0: must be None, lookups do not change tables"),
        (
            "scale_grad_by_freq",
            True,
            "scale_grad_by_freq = True: must be False, gradients are not scaled",
        ),
    ],
)
def test_bags_with_options_that_change_results_or_gradients(
    option: str, value: object, text: str
) -> None:
    bags = {"a": torch.nn.EmbeddingBag(10, 4, mode="sum", **{option: value})}
    with refused(f"bag a: {text}"):
        fused_bags(bags)


def test_other_bags_that_have_no_place() -> None:
    with refused("bag a: is Embedding: must be EmbeddingBag"):
        fused_bags({"a": torch.nn.Embedding(10, 4)})
    with refused("table a: is complex64: must be one of float32, float16, bfloat16"):
        fused_bags({"a": torch.nn.EmbeddingBag(10, 4, dtype=torch.complex64)})
    with refused("bags: include_last_offset differs between them: must be the same, or given"):
        bags = {last: torch.nn.EmbeddingBag(9, 4, include_last_offset=last == "b") for last in "ab"}
        fused_bags(bags)
    with refused("weighted: no such bag: b"):
        fused_bags({"a": torch.nn.EmbeddingBag(10, 4)}, weighted=["b"])
    with refused(
        "feature a: weighted = True: must be false with pooling max, weights are factors of sums"
    ):
        fused_bags({"a": torch.nn.EmbeddingBag(10, 4, mode="max")}, weighted=["a"])


def test_tables_that_kernels_cannot_load_in_vectors() -> None:
    lookup = two_lookup()
    first, second = lookup.tables
    skewed = torch.zeros(second.numel() + 1)[1:].view(second.shape)
    with refused(
        "feature g: table begins 4 bytes past a multiple of 16: must be aligned, as a clone is"
    ):
        replace(lookup, tables=[first, skewed]).addresses()


def test_more_samples_than_kernels_can_count() -> None:
    with refused(f"input: has {MAXIMUM_BATCH + 1} samples: must be at most {MAXIMUM_BATCH}"):
        offsets = torch.zeros(1, dtype=torch.int64).expand(2 * MAXIMUM_BATCH + 3)
        replace(two_lookup(), offsets=offsets).check()

"""Lookups through the PyTorch module, against the golden model and ``nn.EmbeddingBag``."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gnarl.sw.compiler.cuda.config import WORKERS  # noqa: E402
from gnarl.sw.golden.embedding import embedding_bags  # noqa: E402
from gnarl.sw.runtime.cuda.torch.extra import to_array  # noqa: E402
from gnarl.sw.workloads.embedding.data import (  # noqa: E402
    synthesise_batch,
    synthesise_tables,
)
from gnarl.sw.workloads.embedding.model import (  # noqa: E402
    EmbeddingModel,
    Feature,
    PoolingFactors,
)
from tests.support.cuda.torch_embedding import (  # noqa: E402
    dyadic,
    from_array,
    fused,
    fused_bags,
    inputs_of,
    names_of,
)

MANY = PoolingFactors(mean=9, std=5, coverage=0.8)

PLAIN = EmbeddingModel(
    "plain",
    (
        Feature("one", 100, 8),
        Feature("sums", 50, 32, factors=MANY),
        Feature("means", 30, 16, "mean", factors=MANY),
        Feature("maxima", 20, 4, "max", factors=MANY),
        Feature("weighted", 40, 8, weighted=True, factors=MANY),
        Feature("weighted means", 40, 12, "mean", weighted=True, factors=MANY),
        Feature("odd", 10, 7, factors=MANY),
    ),
)

MIXED = EmbeddingModel(
    "mixed",
    tuple(
        Feature(f"{pooling} {table} {output}", 33, 8, pooling, table, output, "int32", weighted)
        for pooling, table, output, weighted in (
            ("sum", "float16", "float16", False),
            ("mean", "bfloat16", "bfloat16", True),
            ("sum", "bfloat16", "float32", True),
            ("max", "float16", "float32", False),
            ("mean", "float32", "float16", False),
            ("max", "bfloat16", "bfloat16", False),
        )
    ),
)


@pytest.mark.parametrize("model", [PLAIN, MIXED], ids=lambda model: model.name)
@pytest.mark.parametrize("size", [0, 1, 37])
@pytest.mark.parametrize("seed", [0, 1])
def test_cpu_tensors_give_the_golden_models_bits(
    model: EmbeddingModel, size: int, seed: int
) -> None:
    tables = synthesise_tables(model, seed)
    batch = synthesise_batch(model, size, seed)
    values, offsets, weights = inputs_of(model, batch)
    module = fused([from_array(table) for table in tables], model.features, checked=True)
    outputs = module(values, offsets, weights=weights)
    assert list(outputs) == [feature.name for feature in model.features]
    for golden, output in zip(embedding_bags(model, tables, batch), outputs.values(), strict=True):
        _require_bits(golden, output)


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("model", [PLAIN, MIXED], ids=lambda model: model.name)
def test_emulated_kernels_of_all_templates_give_the_golden_models_bits(
    model: EmbeddingModel, workers: str
) -> None:
    tables = synthesise_tables(model)
    given = [from_array(table) for table in tables]
    module = fused(given, model.features, names_of(workers), emulated=True)
    for size in (19, 0, 3):
        batch = synthesise_batch(model, size, seed=size)
        values, offsets, weights = inputs_of(model, batch)
        outputs = module(values, offsets, weights=weights)
        golden = embedding_bags(model, tables, batch)
        for expected, output in zip(golden, outputs.values(), strict=True):
            _require_bits(expected, output)


def _require_bits(golden: np.ndarray, output: torch.Tensor) -> None:
    found = to_array(output.contiguous())
    assert (found.dtype, found.shape) == (golden.dtype, golden.shape)
    assert found.tobytes() == golden.tobytes()


def _bags(include_last_offset: bool = False) -> torch.nn.ModuleDict:
    rng = np.random.default_rng(3)
    bags = torch.nn.ModuleDict()
    for name, rows, dim, mode in (("a", 20, 8, "sum"), ("b", 9, 5, "mean"), ("c", 30, 4, "max")):
        bags[name] = torch.nn.EmbeddingBag.from_pretrained(
            dyadic(rng, rows, dim),
            freeze=False,
            mode=mode,
            include_last_offset=include_last_offset,
        )
    return bags


VALUES = {
    "a": torch.tensor([3, 3, 19, 0]),
    "b": torch.tensor([1, 2, 3, 4, 5]),
    "c": torch.tensor([7]),
}
OFFSETS = {
    "a": torch.tensor([0, 0, 3]),
    "b": torch.tensor([0, 1, 2]),
    "c": torch.tensor([0, 1, 1]),
}


def test_a_module_dict_of_bags_is_called_alike() -> None:
    bags = _bags()
    outputs = fused_bags(bags)(VALUES, OFFSETS)
    for name, bag in bags.items():
        assert torch.equal(outputs[name], bag(VALUES[name], OFFSETS[name]))


def test_offsets_with_the_last_are_as_include_last_offset_has_them() -> None:
    bags = _bags(include_last_offset=True)
    offsets = {
        key: torch.cat([given, VALUES[key].new_tensor([len(VALUES[key])])])
        for key, given in OFFSETS.items()
    }
    outputs = fused_bags(bags)(VALUES, offsets)
    for name, bag in bags.items():
        assert torch.equal(outputs[name], bag(VALUES[name], offsets[name]))


@pytest.mark.parametrize("own", [{True}, {False}, {True, False}])
@pytest.mark.parametrize("last", [True, False])
def test_include_last_offset_may_be_another_than_the_bags(own: set[bool], last: bool) -> None:
    bags = _bags()
    for number, bag in enumerate(bags.values()):
        bag.include_last_offset = sorted(own)[number % len(own)]
    module = fused_bags(bags, include_last_offset=last)
    ends = {key: torch.tensor([len(given)] * last) for key, given in VALUES.items()}
    offsets = {key: torch.cat([given, ends[key].long()]) for key, given in OFFSETS.items()}
    outputs = module(VALUES, offsets)
    for name, bag in _bags().items():
        assert torch.equal(outputs[name], bag(VALUES[name], OFFSETS[name]))


def test_lengths_mean_the_same_as_offsets() -> None:
    bags = _bags()
    lengths = {
        "a": torch.tensor([0, 3, 1]),
        "b": torch.tensor([1, 1, 3]),
        "c": torch.tensor([1, 0, 0]),
    }
    by_lengths = fused_bags(bags)(VALUES, lengths=lengths)
    by_offsets = fused_bags(bags)(VALUES, OFFSETS)
    for name in bags:
        assert torch.equal(by_lengths[name], by_offsets[name])


def test_values_in_two_dimensions_are_bags_of_one_length_beside_ragged_ones() -> None:
    bags = _bags()
    values = VALUES | {"b": torch.tensor([[1, 2], [3, 4], [5, 5]])}
    offsets = {key: OFFSETS[key] for key in ("a", "c")}
    outputs = fused_bags(bags)(values, offsets)
    assert torch.equal(outputs["b"], bags["b"](values["b"]))
    assert torch.equal(outputs["a"], bags["a"](values["a"], offsets["a"]))
    none = fused_bags(bags)({key: torch.empty(3, 0, dtype=torch.int64) for key in bags})
    for name, bag in bags.items():
        assert torch.equal(none[name], torch.zeros(3, bag.embedding_dim))


def test_weights_are_those_of_per_sample_weights_and_may_have_any_float_type() -> None:
    bags = _bags()
    weights = torch.tensor([0.25, 1.5, 2.0, 0.5], dtype=torch.float64)
    outputs = fused_bags(bags, weighted=["a"])(VALUES, OFFSETS, weights={"a": weights})
    expected = bags["a"](VALUES["a"], OFFSETS["a"], per_sample_weights=weights.float())
    assert torch.equal(outputs["a"], expected)
    assert torch.equal(outputs["b"], bags["b"](VALUES["b"], OFFSETS["b"]))


def test_int32_inputs_widen_to_the_features_index_type() -> None:
    bags = _bags()
    narrow = {key: given.int() for key, given in VALUES.items()}
    starts = {key: given.int() for key, given in OFFSETS.items()}
    module = fused_bags(bags)
    wide, found = module(VALUES, OFFSETS), module(narrow, starts)
    assert all(torch.equal(wide[name], found[name]) for name in bags)


def test_features_may_share_a_table_and_an_input() -> None:
    rng = np.random.default_rng(0)
    table, other = dyadic(rng, 12, 8), dyadic(rng, 12, 4)
    features = [Feature("x", 12, 8), Feature("y", 12, 8, "max"), Feature("z", 12, 4, "mean")]
    module = fused(
        {"t": table, "u": other},
        features,
        table_of={"x": "t", "y": "t", "z": "u"},
        key_of={"z": "x"},
    )
    values = {"x": torch.tensor([1, 2, 11]), "y": torch.tensor([5, 5])}
    offsets = {"x": torch.tensor([0, 2, 3]), "y": torch.tensor([0, 0, 2])}
    outputs = module(values, offsets)
    assert torch.equal(outputs["x"], torch.stack([table[1] + table[2], table[11]]))
    assert torch.equal(outputs["y"], torch.stack([torch.zeros(8), table[5]]))
    assert torch.equal(outputs["z"], torch.stack([(other[1] + other[2]) / 2, other[11]]))


def test_outputs_side_by_side_are_the_features_in_order() -> None:
    module = fused_bags(_bags())
    outputs = module(VALUES, OFFSETS)
    together = module.forward_concatenated(VALUES, OFFSETS)
    assert torch.equal(together, torch.cat(list(outputs.values()), dim=1))


def test_parameters_are_the_callers_own() -> None:
    bags = _bags()
    module = fused_bags(bags)
    assert {id(own) for own in module.parameters()} == {id(own) for own in bags.parameters()}
    before = module(VALUES, OFFSETS)["a"]
    with torch.no_grad():
        bags["a"].weight.mul_(2)
    assert torch.equal(module(VALUES, OFFSETS)["a"], 2 * before)


def test_plain_tensors_become_parameters_without_gradients_in_the_same_memory() -> None:
    table = torch.ones(4, 4)
    module = fused([table], [Feature("f", 4, 4)])
    (parameter,) = module.parameters()
    assert not parameter.requires_grad
    assert parameter.data_ptr() == table.data_ptr()
    assert list(module.state_dict()) == ["embedding_bags.0.weight"]


def test_states_of_bags_and_of_the_module_itself_load() -> None:
    bags, others = _bags(), _bags()
    with torch.no_grad():
        for parameter in others.parameters():
            parameter.neg_()
    module = fused_bags(bags)
    assert list(module.state_dict()) == [f"embedding_bags.{name}.weight" for name in bags]
    state = {f"layer.{name}": given for name, given in others.state_dict().items()}
    outer = torch.nn.Module()
    outer.layer = module
    outer.load_state_dict(state)
    expected = others["a"](VALUES["a"], OFFSETS["a"])
    assert torch.equal(module(VALUES, OFFSETS)["a"], expected)
    again = fused_bags(_bags())
    again.load_state_dict(module.state_dict())
    assert torch.equal(again(VALUES, OFFSETS)["a"], expected)


def test_modules_are_saved_and_loaded_whole(tmp_path) -> None:
    module = fused_bags(_bags())
    torch.save(module, tmp_path / "module.pt")
    again = torch.load(tmp_path / "module.pt", weights_only=False)
    found, right = again(VALUES, OFFSETS), module(VALUES, OFFSETS)
    assert all(torch.equal(found[name], right[name]) for name in right)
    again.load_state_dict(_bags().state_dict())


def test_parameters_may_come_by_name() -> None:
    tables = torch.nn.ParameterDict({"x": torch.ones(4, 4), "y": torch.zeros(4, 2)})
    module = fused(tables, [Feature("y", 4, 2), Feature("x", 4, 4)])
    assert {id(own) for own in module.parameters()} == {id(own) for own in tables.values()}
    outputs = module({name: torch.tensor([[1, 2]]) for name in "xy"})
    assert [output.tolist() for output in outputs.values()] == [[[0.0] * 2], [[2.0] * 4]]


def test_copies_are_independent() -> None:
    module = fused_bags(_bags())
    twin = copy.deepcopy(module)
    with torch.no_grad():
        twin.embedding_bags["a"].weight.zero_()
    assert not twin(VALUES, OFFSETS)["a"].any()
    assert module(VALUES, OFFSETS)["a"].any()


def test_the_cost_model_chooses_where_no_schedules_are_given() -> None:
    from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags

    bags = _bags()
    module = FusedEmbeddingBags.from_embedding_bags(bags, factors={"a": MANY})
    assert module.schedules.origin == "cost model"
    assert module.model.features[0].factors == MANY
    assert torch.equal(module(VALUES, OFFSETS)["b"], bags["b"](VALUES["b"], OFFSETS["b"]))


def test_schedules_come_from_a_file(tmp_path) -> None:
    from gnarl.sw.compiler.cuda import schedule_file

    module = fused_bags(_bags())
    schedule_file.save(tmp_path / "schedules.json", module.schedules)
    again = type(module).from_embedding_bags(_bags(), tmp_path / "schedules.json")
    assert again.schedules == module.schedules


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.int64])
def test_arrays_become_tensors_and_back_without_copies(dtype: type) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    back = to_array(from_array(array))
    assert back.dtype == array.dtype
    assert back.ctypes.data == array.ctypes.data


def test_torch_is_needed_by_this_part_of_the_runtime_alone() -> None:
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "import gnarl.sw.runtime.cuda, gnarl.sw.runtime.cuda.emulation.embedding\n"
        "import gnarl.sw.runtime.cuda.torch.operator_program\n"
        "from gnarl.hw.lib.errors import GnarlError\n"
        "try: import gnarl.sw.runtime.cuda.torch.fused_embedding_bags\n"
        "except GnarlError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "PyTorch is not installed: pip install 'gnarl[torch]'\n", done.stderr


def test_neither_driver_nor_emulation_is_imported_before_it_is_needed() -> None:
    script = """
import sys
from pathlib import Path
import gnarl.sw.runtime.cuda.torch.fused_embedding_bags
parts = ("gnarl.sw.runtime.cuda.gpu", "gnarl.sw.runtime.cuda.emulation")
print([name for name in sys.modules if name.startswith(parts)])
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[5],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[]\n", done.stderr

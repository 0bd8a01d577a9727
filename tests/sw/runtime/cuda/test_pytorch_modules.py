"""PyTorch modules made of ``nn.EmbeddingBag`` as workloads: from files, and as they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gnarl import Device  # noqa: E402
from gnarl.sw.runtime.cuda.sources import workload  # noqa: E402
from gnarl.sw.workloads.embedding.model import PoolingFactors  # noqa: E402
from gnarl.sw.workloads.embedding.model_with_values import ModelWithValues  # noqa: E402
from tests.support.commands import gnarl, refusal  # noqa: E402
from tests.support.errors import refused  # noqa: E402
from tests.support.nests.pytorch_modules import bag, module, whole  # noqa: E402

INDICES, OFFSETS = torch.tensor([3, 0, 3, 9, 1]), torch.tensor([0, 2, 2])
MATRIX = torch.tensor([[1, 2], [3, 3], [5, 0]])


def bags() -> Any:
    return torch.nn.ModuleDict(
        {
            "user": bag(padding_idx=3),
            "clicks": bag("mean", include_last_offset=True),
            "tags": bag("max"),
        }
    )


def side_by_side(self, indices, offsets, ends, matrix, weights):
    return torch.cat(
        [
            self.bags["user"](indices, offsets),
            self.bags["clicks"](indices, ends),
            torch.cat(
                tensors=[self.bags["tags"](matrix), self.bags["tags"](indices, offsets)], dim=-1
            ),
            self.bags["user"](matrix, per_sample_weights=weights),
        ],
        dim=1,
    )


def by_name(self, indices, offsets, matrix):
    return {"of user": self.bags["user"](indices, offsets), "c": self.bags["tags"](matrix[1:])}


ARGUMENTS = (
    INDICES,
    OFFSETS,
    torch.tensor([0, 0, 1, 5], dtype=torch.int32),
    MATRIX,
    whole(3, 2),
)


def saved(path: Path, made: Any, arguments: tuple[Any, ...]) -> Path:
    torch.export.save(torch.export.export(made, arguments), path)
    return path


def given(source: Any) -> ModelWithValues:
    found = workload(source)
    assert isinstance(found, ModelWithValues)
    return found


def results(source: Any) -> dict[str, np.ndarray]:
    with Device("cuda_sm90", "emulation") as device:
        made = given(source)
        program = device.compile(made)
        result = device.run(program, made.inputs(None, None))
        assert not device.verify(result).difference
    return {name: np.asarray(array) for name, array in result.outputs.items()}


@pytest.mark.parametrize("in_file", [False, True])
def test_bags_side_by_side_are_features_called_as_their_tables(
    tmp_path: Path, in_file: bool
) -> None:
    made = module(side_by_side, bags=bags())
    source = saved(tmp_path / "m.pt2", made, ARGUMENTS) if in_file else (made, ARGUMENTS)
    found = results(source)
    assert list(found) == [
        "bags.user@0",
        "bags.clicks",
        "bags.tags@0",
        "bags.tags@1",
        "bags.user@1",
    ]
    wanted = made(*ARGUMENTS).detach().numpy()
    np.testing.assert_allclose(np.concatenate([*found.values()], axis=1), wanted, rtol=1e-6)


def test_models_are_what_the_module_and_its_example_say() -> None:
    found = given((module(side_by_side, bags=bags()), ARGUMENTS))
    user, clicks, tags, again, weighted = found.model.features
    assert (user.pooling, user.padding_idx, user.index_type, user.rows, user.dim) == (
        *("sum", 3, "int64"),
        *(10, 6),
    )
    assert (clicks.pooling, clicks.padding_idx) == ("mean", None)
    assert clicks.factors == PoolingFactors(3.0, 1.5, coverage=2 / 3)
    assert (tags.pooling, tags.factors) == ("max", PoolingFactors(2.0))
    assert again.factors == user.factors
    assert weighted.weighted
    assert found.batch.size == 3
    assert found.tables[0] is not found.tables[1]


def test_results_of_one_bag_each_name_the_features(tmp_path: Path) -> None:
    made, arguments = module(by_name, bags=bags()), (INDICES, OFFSETS[:2], MATRIX)
    found = results(saved(tmp_path / "m.pt2", made, arguments))
    assert list(found) == ["of user", "c"]
    for name, array in made(*arguments).items():
        np.testing.assert_array_equal(found[name], array.detach().numpy())


@pytest.mark.parametrize("type", ["float16", "bfloat16"])
def test_tables_and_outputs_are_of_the_modules_type(type: str) -> None:
    made = bag().to(getattr(torch, type))
    found = given((made, (INDICES, OFFSETS)))
    (feature,) = found.model.features
    assert (feature.table_type, feature.output_type, feature.name) == (type, type, "result")
    wanted = made(INDICES, OFFSETS).float().detach().numpy()
    (array,) = results(found).values()
    np.testing.assert_array_equal(array.astype(np.float32), wanted)


def test_the_command_runs_it_and_compares_it_with_the_tmu(tmp_path: Path) -> None:
    path = saved(tmp_path / "bag.pt2", bag(), (INDICES, OFFSETS))
    result = gnarl("compare", path, "cuda_sm90", "tmu_l2", "--backend", "model", "--json")
    assert result.exit_code == 0, result.stderr
    cuda, tmu = json.loads(result.stdout)["runs"]
    assert cuda["outputs"]["result"]["shape"] == tmu["outputs"]["result"]["shape"] == [3, 6]
    assert cuda["made_up"] == []
    assert refusal(tmp_path, "run", "cuda_sm90", path, "--batch", "8") == (
        "gnarl: --batch 8: bag has 3 samples: must be left out"
    )


def test_values_of_files_take_the_place_of_the_examples(tmp_path: Path) -> None:
    path = saved(tmp_path / "bag.pt2", bag(), (INDICES, OFFSETS))
    values = tmp_path / "values.npz"
    indices, offsets = np.array([9, 1, 2]), np.array([0, 1, 3])
    np.savez(values, **{"result.indices": indices, "result.offsets": offsets})
    found = json.loads(gnarl("run", "cuda_sm90", path, "--values", values, "--json").stdout)
    assert found["matches"]
    assert found["made_up"] == []
    wanted = whole(10, 6).numpy()[9]
    assert found["outputs"]["result"]["values"]["result[0,0]"] == wanted[0]


def scaled(self, indices, offsets):
    return self.bag(indices, offsets) * 2


def mixed(self, indices, offsets):
    return self.bag(indices, offsets), indices


def stacked(self, indices, offsets):
    return torch.cat([self.bag(indices, offsets), self.bag(indices, offsets)])


def shifted(self, indices, offsets):
    return self.bag(indices + 1, offsets)


def looked_up(self, indices, offsets):
    return torch.nn.functional.embedding(indices, self.bag.weight)


@pytest.mark.parametrize(
    ("forward", "problem"),
    [
        (scaled, "aten.mul.Tensor: not supported by embedding kernels: a module must look up "),
        (shifted, "aten.add.Tensor: not supported by embedding kernels: a module must look up "),
        (looked_up, "aten.embedding.default: not supported by embedding kernels"),
        (stacked, "aten.cat.default: dim = 0: must be 1, side by side"),
        (mixed, "mixed: result1: must be what EmbeddingBags give, for embedding kernels"),
    ],
)
def test_what_is_more_is_refused(forward: Callable[..., Any], problem: str) -> None:
    with pytest.raises(Exception) as error:
        workload((module(forward, bag=bag()), (INDICES, OFFSETS)))
    text = str(error.value)
    assert problem in text
    assert "\n" not in text
    if forward is not mixed:
        assert text.startswith("test_pytorch_modules.py:")


def test_what_a_bag_looks_up_is_checked() -> None:
    place = "EmbeddingBag:1:1: "
    with refused(
        f"{place}table of EmbeddingBag: is float64 [10, 6]: must be [rows, dim] of float32, "
        "float16, bfloat16"
    ):
        workload((bag().double(), (INDICES, OFFSETS)))
    with refused("EmbeddingBag: indices of result[0] = 10: must be from 0 to 9"):
        workload((bag(), (INDICES + 7, OFFSETS)))
    with refused("EmbeddingBag: offsets of result[0] = 1: must be 0"):
        workload((bag(), (INDICES, OFFSETS + 1)))
    with refused("a EmbeddingBag: must be in a tuple with arguments of its forward"):
        workload(bag())

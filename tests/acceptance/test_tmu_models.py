"""Embedding models on the TMU, through the ``gnarl`` command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl import Device
from gnarl.sw.golden.embedding import embedding_bags
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors
from gnarl.sw.workloads.embedding.recflex import load_model
from tests.support.commands import gnarl, refusal
from tests.support.cuda.embedding_files import FEATURES, values, write_model, write_values

TMU = "tmu_l2"

FACTORS = PoolingFactors(mean=3, std=2, coverage=0.7)
MODEL = EmbeddingModel(
    "kinds",
    (
        Feature("a", 9, 5, factors=FACTORS),
        Feature("largest", 7, 4, "max", factors=FACTORS),
        Feature("b", 20, 5, index_type="int32", factors=FACTORS),
        Feature("of weights", 7, 4, "mean", weighted=True, factors=FACTORS),
    ),
)
"""Features of one kind need not be neighbours."""

SOURCE = f"""\
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors

model = {MODEL!r}
"""


def run(*arguments: str | Path, backend: str = "model") -> dict[str, Any]:
    result = gnarl("run", TMU, *arguments, "--backend", backend, "--json")
    assert result.exit_code == 0, result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    assert report["bit_exact"]
    simulated = [name for name in report["seconds"] if name.startswith("simulate")]
    assert report["simulate_s"] == sum(report["seconds"][name] for name in simulated) > 0
    return report


def require_golden(path: Path, model: EmbeddingModel, size: int, seed: int) -> None:
    """Synthesised values have sums that are exact in any order."""
    found = np.load(path)
    assert found.files == [feature.name for feature in model.features]
    batch = synthesise_batch(model, size, seed)
    golden = embedding_bags(model, synthesise_tables(model, seed), batch)
    for feature, wanted in zip(model.features, golden, strict=True):
        np.testing.assert_array_equal(found[feature.name], wanted)


@pytest.mark.parametrize("options", (["--opt", "0"], [], ["--coupled"]))
def test_a_python_file(tmp_path: Path, options: list[str]) -> None:
    path, out = tmp_path / "m.py", tmp_path / "out.npz"
    path.write_text(SOURCE)
    report = run(path, "--allow-python", "--batch", "5", "--seed", "1", "-o", out, *options)
    assert report["workload"] == "kinds"
    assert [*report["launches"]] == ["sum, dim 5", "max, dim 4", "weighted mean, dim 4"]
    require_golden(out, MODEL, 5, 1)


def test_a_recflex_folder(tmp_path: Path) -> None:
    folder, out = write_model(tmp_path), tmp_path / "out.npz"
    assert run(folder, "-o", out)["workload"] == "small"
    require_golden(out, load_model(folder), 64, 0)


def test_on_rtl(tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    report = run(folder, "--batch", "3", backend="rtl")
    assert report["cycles"] >= report["statistics"]["lower_bound"] > 0
    assert report["outputs"] == run(folder, "--batch", "3")["outputs"]


def test_values_of_ones_own(tmp_path: Path) -> None:
    """Rows are their own numbers, and a program takes other values of so many samples."""
    folder, out, program = write_model(tmp_path), tmp_path / "out.npz", tmp_path / "p.npz"
    run(folder, "--values", write_values(tmp_path / "v.npz"), "-o", out)
    for name in FEATURES:
        assert np.load(out)[name][:, 0].tolist() == [3, 1 + 4]
    assert gnarl("compile", TMU, folder, "--batch", "2", "-o", program).exit_code == 0
    few = write_values(
        tmp_path / "few.npz", f0_indices=np.array([7]), f0_offsets=np.array([0, 1, 1])
    )
    run(program, "--values", few, "-o", out)
    assert np.load(out)["f0"][:, 0].tolist() == [7, 0]
    assert np.load(out)["f1"][:, 0].tolist() == [3, 5]
    assert [*run(program)["outputs"]] == [*FEATURES]


def test_from_python() -> None:
    batch = synthesise_batch(MODEL, 2, 7)
    inputs = synthesise_tables(MODEL, 7), batch
    with Device(TMU, "model") as device:
        program = device.compile(MODEL, batch=2, seed=7)
        result = device.run(program, inputs)
        assert device.verify(result).bit_exact
    for feature, wanted in zip(MODEL.features, embedding_bags(MODEL, *inputs), strict=True):
        np.testing.assert_array_equal(result.outputs[feature.name], wanted)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["--batch", "3", "--values", "v.npz"],
            "--batch 3: {0}/v.npz has 2 samples: must be left out",
        ),
        (
            ["--tensor", "f0.table=t.npy"],
            "--tensor f0.table: not supported for models: --values gives tables and inputs",
        ),
        (
            ["--values", "outside.npz"],
            "{0}/outside.npz: indices of f0[2] = 50: must be from 0 to 49",
        ),
    ],
)
def test_refusals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = write_model(tmp_path)
    write_values(tmp_path / "v.npz")
    write_values(tmp_path / "outside.npz", f0_indices=np.array([3, 1, 50]))
    given = [f"{tmp_path}/{each}" if each.endswith(".npz") else each for each in arguments]
    assert refusal(tmp_path, "run", TMU, folder, *given) == f"gnarl: {message.format(tmp_path)}"


def test_types_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(SOURCE.replace("table_type='float32'", "table_type='float16'", 1))
    assert refusal(tmp_path, "run", TMU, f"{path}:model") == (
        "gnarl: feature a: table_type = 'float16': must be float32 in loop nests"
    )


def test_values_that_a_program_does_not_take(tmp_path: Path) -> None:
    folder, program = write_model(tmp_path), tmp_path / "p.npz"
    gnarl("compile", TMU, folder, "--batch", "2", "-o", program)
    arrays = {name: array for name, array in values().items() if "table" not in name}
    more = tmp_path / "more.npz"
    np.savez(
        more, **{**arrays, "f0.indices": np.zeros(99, int), "f0.offsets": np.array([0, 50, 99])}
    )
    assert refusal(tmp_path, "run", TMU, program, "--values", more) == (
        "gnarl: f0: 99 look-ups: must be at most 2, for which the program is made"
    )
    np.savez(more, **{**arrays, **{f"{name}.offsets": np.array([0, 3]) for name in FEATURES}})
    assert refusal(tmp_path, "run", TMU, program, "--values", more) == (
        "gnarl: tensor f0.offsets: dimension 0 has size 2: must be 3"
    )


def test_batches_of_what_is_no_model(tmp_path: Path) -> None:
    assert refusal(tmp_path, "run", TMU, "embedding_bag:tiny", "--batch", "2") == (
        "gnarl: --batch 2: only models have one: must be left out"
    )

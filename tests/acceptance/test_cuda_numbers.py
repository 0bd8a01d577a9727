"""Numbers of tables and weights: not finite, beyond a feature's type, and lost in it."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from gnarl import Device
from gnarl.sw.workloads.embedding.recflex import load_model
from tests.support.commands import gnarl, refusal

CONFIG = "cuda_sm90"

MODEL = """\
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature

model = EmbeddingModel(
    "small",
    (
        Feature("h", 2, 2, table_type="float16", weighted=True),
        Feature("b", 2, 2, table_type="bfloat16"),
        Feature("f", 2, 2),
    ),
)
"""


def arrays(**changed: np.ndarray) -> dict[str, np.ndarray]:
    """A batch of one sample that looks up both rows; keywords have ``_`` for the dot."""
    found = {
        f"{name}.{part}": array
        for name in "hbf"
        for part, array in {
            "indices": np.array([0, 1]),
            "offsets": np.array([0, 2]),
            "table": np.ones((2, 2), np.float32),
        }.items()
    }
    found["h.weights"] = np.ones(2)
    return found | {name.replace("_", "."): array for name, array in changed.items()}


def command(folder: Path, **changed: np.ndarray) -> tuple[Path, list[str]]:
    model, values = folder / "small.py", folder / "values.npz"
    model.write_text(MODEL)
    np.savez(values, **arrays(**changed))
    given = ["--values", str(values), "--backend", "emulation"]
    return values, ["run", CONFIG, f"{model}:model", *given]


def table(number: float, type: type = np.float32) -> np.ndarray:
    return np.array([[1, number], [2, 3]], type)


FINITE = "must be finite in float64"

REFUSED = {
    "NaN": ({"f_table": table(np.nan)}, f"f.table[0,1] = nan: {FINITE}"),
    "infinity": ({"f_table": table(np.inf)}, f"f.table[0,1] = inf: {FINITE}"),
    "infinity in another type": ({"h_table": table(-np.inf)}, f"h.table[0,1] = -inf: {FINITE}"),
    "bits of an infinity": (
        {"b_table": np.array([[0, 0x7F80], [0, 0]], np.uint16)},
        f"b.table[0,1] = inf: {FINITE}",
    ),
    "weight": ({"h_weights": np.array([1, np.nan])}, f"h.weights[1] = nan: {FINITE}"),
    "beyond float16": (
        {"h_table": table(1e9)},
        "h.table[0,1] = 1e+09: float16 holds -65504.0 to 65504.0",
    ),
    "beyond float32": (
        {"h_weights": np.array([1, 1e39])},
        "h.weights[1] = 1e+39: float32 holds -3.4028234663852886e+38 to 3.4028234663852886e+38",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_numbers(tmp_path: Path, name: str) -> None:
    changed, text = REFUSED[name]
    path, arguments = command(tmp_path, **changed)
    assert refusal(tmp_path, *arguments) == f"gnarl: {path}: {text}"


def test_what_becomes_zero_is_said(tmp_path: Path) -> None:
    _, arguments = command(
        tmp_path, h_table=table(1e-8), b_table=table(1e-45), h_weights=np.array([1e-320, 1])
    )
    found = json.loads(gnarl(*arguments, "--json").stdout)["vanished"]
    assert found == {"count": 3, "first": "h.table[0,1] = 1e-08", "format": "float16"}


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_arrays_may_hold_what_their_types_hold(tmp_path: Path, number: float) -> None:
    (tmp_path / "small.py").write_text(MODEL)
    tables = {f"{name}_table": table(number) for name in "hbf"}
    with Device(CONFIG, "emulation") as device, warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        program = device.compile(load_model(tmp_path / "small.py"))
        result = device.run(program, arrays(**tables))
        found = device.verify(result)
    assert not found.difference
    for name in "hbf":
        assert np.array_equal(result.outputs[name], [[3, number]], equal_nan=True)

"""The notebook runs as it is, and what its cells say is so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from matplotlib import pyplot

NOTEBOOK = Path(__file__).parents[2] / "examples" / "tour.ipynb"


def cells(kind: str) -> list[dict[str, Any]]:
    found = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


def test_it_is_without_outputs() -> None:
    assert all(cell["outputs"] == [] for cell in cells("code"))
    assert all(cell["execution_count"] is None for cell in cells("code"))


def test_its_cells_run_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    names: dict[str, Any] = {}
    try:
        for cell in cells("code"):
            exec(compile("".join(cell["source"]), f"{NOTEBOOK}:{cell['id']}", "exec"), names)
        (number,) = pyplot.get_fignums()
        drawn = pyplot.figure(number).axes
    finally:
        pyplot.close("all")
    assert names["verification"].bit_exact
    assert names["result"].scalars()["dot"] == pytest.approx(names["a"] @ names["b"], rel=1e-6)
    cycles = list(names["cycles"].values())
    assert cycles == sorted(set(cycles), reverse=True)
    busy = [float(axes.texts[0].get_text().split()[1]) for axes in drawn]
    assert busy[0] > busy[1] > 0
    assert names["same"]
    assert 0 <= names["difference"] < 1e-5
    assert names["report"].matches
    assert "embedding_bag:tiny on tmu_l2, model" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []

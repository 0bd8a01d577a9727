"""Outputs that are not finite, or lost, as ``gnarl run`` and ``gnarl compare`` report them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.sw.runtime.cuda.verify import verify
from gnarl.sw.runtime.report.tally import Counted
from gnarl.sw.workloads.embedding.model import Batch, EmbeddingModel, Feature, FeatureInputs
from tests.support.commands import gnarl

QUOTIENT = """from gnarl.sw.workloads.loops.notation import float32, nest, sizes

(n,) = sizes("n")


@nest
def quotient(a: float32[n], b: float32[n]):
    for i in range(n):
        b[i] = a[i] / a[i]
"""


def product(value: float) -> str:
    """A graph that squares a number."""
    nodes = [{"id": "x", "op": "input", "value": value}, {"id": "y", "op": "mul"}]
    edges = [{"source": "x", "target": "y", "operand": at, "key": at} for at in range(2)]
    graph = {"directed": True, "multigraph": True, "nodes": nodes, "edges": edges}
    return json.dumps(graph)


def run(*arguments: str | Path) -> tuple[dict[str, Any], str]:
    """The object, and the page's lines below its title."""
    command = ("run", *arguments, "--backend", "model")
    found = gnarl(*command, "--json")
    assert found.exit_code == 0, found.stderr
    page = gnarl(*command).stdout
    return json.loads(found.stdout, parse_constant=pytest.fail), page.partition("cycle")[2]


@pytest.fixture
def quotient(tmp_path: Path) -> tuple[str | Path, ...]:
    (tmp_path / "quotient.py").write_text(QUOTIENT)
    np.save(tmp_path / "a.npy", np.array([3, 0, 5, 0], np.float32))
    return tmp_path / "quotient.py", "--tensor", f"a={tmp_path / 'a.npy'}"


@pytest.mark.parametrize("config", ["tmu_l2", "sram_b2"])
def test_quotients_of_zeros(config: str, quotient: tuple[str | Path, ...]) -> None:
    if config == "sram_b2":
        pytest.importorskip("egglog")
    place = ["--place", "core"] if config == "sram_b2" else []
    found = gnarl("run", config, *quotient, "--backend", "model", *place)
    assert found.exit_code == 0, found.stderr
    assert (
        "  ✔ bit-exact, error against float64 of finite outputs 0.0e+00\n"
        "  ! 2 of 4 outputs not finite; the first is b[1] = nan, in float64 nan\n"
    ) in found.stdout
    command = ("run", config, *quotient, "--backend", "model", *place, "--json")
    report = json.loads(gnarl(*command).stdout, parse_constant=pytest.fail)
    assert [report[name] for name in ("not_finite", "lost", "bit_exact")] == [2, 0, True]


@pytest.mark.parametrize(("function", "of_zero"), [("reciprocal", "inf"), ("log", "-inf")])
def test_functions_of_zeros_on_sam(tmp_path: Path, function: str, of_zero: str) -> None:
    np.save(tmp_path / "c.npy", np.zeros(3))
    text = f"x(i)={function}(c(i)) -f=x:d -f=c:d"
    report, page = run("sam_fp32", text, "--tensor", f"c={tmp_path / 'c.npy'}")
    assert [report[name] for name in ("not_finite", "lost", "bit_exact")] == [3, 0, True]
    assert report["max_rel_error"] == "NaN"
    assert "✔ bit-exact, no finite output to compare with float64\n" in page
    first = f"x[0] = {of_zero}, in float64 {of_zero}"
    assert f"! 3 of 3 outputs not finite; the first is {first}\n" in page


@pytest.mark.parametrize(
    ("value", "is_finite", "error", "text"),
    [
        (1e-30, True, 1.0, "1 of 1 output lost: y = 0, in float64 1e-60"),
        (1e30, False, "Infinity", "1 of 1 output lost: y = inf, in float64 1e+60"),
    ],
)
def test_products_beyond_the_format_on_the_dpu(
    tmp_path: Path, value: float, is_finite: bool, error: object, text: str
) -> None:
    path = tmp_path / "square.json"
    path.write_text(product(value))
    report, page = run("dpu_d1_b8", path)
    assert [report[name] for name in ("not_finite", "lost", "bit_exact", "matches")] == [
        int(not is_finite),
        1,
        True,
        True,
    ]
    assert report["max_rel_error"] == error
    assert "✔" not in page and f"! {text}\n" in page
    compared = gnarl("compare", path, "dpu_d1_b8", "dpu_d2_b16", "--backend", "model")
    assert compared.exit_code == 0
    for config in ("dpu_d1_b8", "dpu_d2_b16"):
        assert f"! {config}: {text}\n" in compared.stdout
    assert compared.stdout.count("! bit-exact") == 2


def test_looked_up_sums_beyond_their_format() -> None:
    model = EmbeddingModel("one", (Feature("f", 2, 2, output_type="float16"),))
    table = np.array([[6e4, 1], [np.inf, 2]], np.float32)
    indices, offsets = np.array([0, 0, 1]), np.array([0, 2, 3])
    batch = Batch(2, [FeatureInputs(indices, offsets)])
    found = verify(model, [table], batch, {"f": np.array([[np.inf, 2], [np.inf, 2]], np.float16)})
    assert (found.bit_exact, found.max_rel_error) == (True, np.inf)
    assert found.lost == Counted(1, 4, "f[0,0] = inf, in float64 120000")
    assert found.not_finite == Counted(2, 4, "f[0,0] = inf, in float64 120000")

"""``gnarl compare``: its table, its object, its picture, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from gnarl.sw.runtime.report.report import JSON_FIELDS as RUN_FIELDS
from gnarl.sw.runtime.run.comparison_report import JSON_FIELDS
from tests.support.commands import gnarl, refusal
from tests.support.targets import adder
from tests.support.targets.adder_target import AdderReader, Table
from tests.support.targets.installed import OUTSIDE, importable, install
from tests.support.targets.ulp_target import UlpExecutor

EXPRESSION = "x(i)=B(i,j)*c(j) -f=x:d -f=B:ds -f=c:d"
MODEL = ("--backend", "model")


@pytest.fixture(scope="module", autouse=True)
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The target ``ulp``, which compiles and runs in no time."""
    folder = tmp_path_factory.mktemp("packages")
    install(folder, "outside", OUTSIDE)
    with importable(folder):
        yield


@pytest.fixture
def moves(tmp_path: Path) -> Path:
    path = tmp_path / "moves.txt"
    path.write_text("0 1.0\n1 -2.5\n")
    return path


@pytest.fixture
def operands(tmp_path: Path) -> list[str]:
    matrix = scipy.sparse.random(6, 5, 0.5, random_state=0)
    scipy.io.mmwrite(tmp_path / "b.mtx", matrix)
    np.save(tmp_path / "c.npy", np.arange(5) + 0.25)
    return ["--tensor", f"B={tmp_path / 'b.mtx'}", "--tensor", f"c={tmp_path / 'c.npy'}"]


def test_two_configurations_of_one_target(moves: Path, tmp_path: Path) -> None:
    picture = tmp_path / "bars.png"
    result = gnarl("compare", moves, "ulp", "ulp_fast", *MODEL, "--json", "--chart", picture)
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert list(found) == list(JSON_FIELDS)
    assert (found["workload"], found["golden"], found["matches"]) == ("moves", "ulp", True)
    assert [run["config"] for run in found["runs"]] == ["ulp", "ulp_fast"]
    for run in found["runs"]:
        assert list(run) == list(RUN_FIELDS)
        assert (run["backend"], run["bit_exact"]) == ("model", True)
    assert picture.read_bytes().startswith(b"\x89PNG")
    page = gnarl("compare", moves, "ulp", "ulp_fast", *MODEL).stdout.splitlines()
    assert page[1].strip() == "moves"
    assert page[3].split()[:2] == ["ulp", "model"]
    assert page[-2] == "Results are compared with the golden model of ulp."


def test_brackets_in_names_are_printed(moves: Path, tmp_path: Path) -> None:
    config = tmp_path / "ulp[red].toml"
    config.write_text('target = "ulp"\n')
    page = gnarl("compare", moves, config, "ulp", *MODEL).stdout.splitlines()
    assert page[3].split()[:2] == ["ulp[red]", "model"]
    assert page[-2] == "Results are compared with the golden model of ulp[red]."


def test_targets_with_one_golden_model(operands: list[str]) -> None:
    arguments = ("compare", EXPRESSION, "sam_fp32", "cuda_sm90", *MODEL, *operands)
    result = gnarl(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    sam, cuda = json.loads(result.stdout)["runs"]
    assert (sam["backend"], cuda["backend"]) == ("model", "emulation")
    assert sam["outputs"]["x"]["values"].keys() == cuda["outputs"]["x"]["values"].keys()
    assert cuda["matches"]
    assert cuda["cycles"] is None
    assert sam["estimate"] is None
    estimate = cuda["estimate"]
    assert list(estimate) == ["us", "device", "features_us"]
    assert estimate["us"] > sum(estimate["features_us"].values()) > 0
    assert list(estimate["features_us"]) == ["x"]
    page = gnarl(*arguments).stdout
    figure = f"≈ {estimate['us']:.1f} µs"
    assert page.splitlines()[4].split()[:4] == ["cuda_sm90", "emulation", *figure.split()[:2]]
    assert f"cuda_sm90: {figure} on H100 SXM: the cost model's estimate of the kernel" in page


def test_long_names_are_folded_and_figures_are_whole(operands: list[str]) -> None:
    page = gnarl("compare", EXPRESSION, "sam_fp32", "sam_fabric_small", *MODEL, *operands).stdout
    assert page.count("✔ bit-exact") == 2
    assert "…" not in page


def test_results_must_be_those_of_the_first_golden_model(
    moves: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A target that is wrong together with its own golden model."""
    outputs, golden = UlpExecutor.outputs, UlpExecutor.golden

    def doubled(config: Mapping[str, Any], arrays: Mapping[str, Any]) -> dict[str, Any]:
        fast = config["clock_mhz"] != 100
        return {
            name: 2 * array if fast and name == "y" else array for name, array in arrays.items()
        }

    monkeypatch.setattr(
        UlpExecutor,
        "outputs",
        lambda self, launch, *rest: doubled(launch.config, outputs(self, launch, *rest)),
    )
    monkeypatch.setattr(
        UlpExecutor,
        "golden",
        lambda self, program, tensors: doubled(program.config, golden(self, program, tensors)),
    )
    result = gnarl("compare", moves, "ulp", "ulp_fast", *MODEL, "--json")
    assert result.exit_code == 1
    right, wrong = json.loads(result.stdout)["runs"]
    assert right["matches"]
    assert wrong["difference"].startswith("2 of 4 outputs differ; the first is y[0]: 2.0")
    assert wrong["difference"].endswith(", by the golden model of ulp")
    page = gnarl("compare", moves, "ulp", "ulp_fast", *MODEL).stdout
    assert "✘ ulp_fast: 2 of 4 outputs differ" in page


def test_a_field_goes_to_the_configurations_that_have_it(moves: Path) -> None:
    found = json.loads(
        gnarl("compare", moves, "ulp", "ulp_fast", *MODEL, "--json", "--set", "clock_mhz=7").stdout
    )
    assert [run["overrides"] for run in found["runs"]] == [{"clock_mhz": 7}] * 2


def test_what_is_refused(moves: Path, operands: list[str], tmp_path: Path) -> None:
    see = " See gnarl compare --help"
    assert refusal(tmp_path, "compare", moves, "ulp") == (
        f"gnarl compare: Missing argument 'CONFIG': there must be two or more.{see}"
    )
    assert refusal(tmp_path, "compare", moves, "ulp", "ulp") == (
        f"gnarl compare: ulp: given twice.{see}"
    )
    assert refusal(tmp_path, "compare", moves, "ulp", "adder", "--backend", "cuda") == (
        f"gnarl compare: --backend cuda: target ulp or adder runs on rtl or fpga or model.{see}"
    )
    assert refusal(tmp_path, "compare", moves, "ulp", "adder", "--opt", "1") == (
        f"gnarl compare: --opt: not supported by target ulp or adder.{see}"
    )
    assert refusal(tmp_path, "compare", moves, "ulp", "adder", "--set", "lanes=1") == (
        "gnarl: --set: lanes = 1: no such field; there are stage, clock_mhz"
    )
    program = tmp_path / "moves.npz"
    assert gnarl("compile", "ulp", moves, "-o", program).exit_code == 0
    assert refusal(tmp_path, "compare", program, "ulp", "ulp_fast") == (
        f"gnarl: {program}: is compiled already: must be a workload"
    )
    unsupported = "X(i,j)=B(i,j) -f=X:ss -f=B:ss"
    assert refusal(
        tmp_path, "compare", unsupported, "sam_fp32", "cuda_sm90", *operands[:2], *MODEL
    ).startswith("gnarl: cuda_sm90: ")


def test_results_of_other_names_are_of_another_workload(
    moves: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table("moves", {"table": np.zeros(adder.SHAPE, np.uint32)})
    monkeypatch.setattr(AdderReader, "workload", lambda *_: table)
    assert refusal(tmp_path, "compare", moves, "ulp", "adder", *MODEL) == (
        f"gnarl: adder: results are sums {list(adder.SHAPE)}: must be those of ulp, "
        "distance [2], y [2]"
    )

"""``gnarl explore --search``: its files and table, how it goes on, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from PIL import Image

from gnarl.sw.commands import explore as command
from gnarl.sw.runtime.explore.explore import CSV, JSON, PICTURE
from gnarl.sw.runtime.explore.points import JSON_FIELDS
from gnarl.sw.runtime.explore.results_file import NAME
from gnarl.sw.runtime.explore.schedules import NAME as SCHEDULES
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.commands import gnarl, refusal, state
from tests.support.targets.counted import Order, counted_target, run_here

PLANS = {
    "long": {"times": 9, "estimated": 8, "blocks": 9},
    "short": {"times": 2, "estimated": 2, "blocks": 9},
    "small": {"times": 4, "estimated": 5, "blocks": 3},
    "equal": {"times": 2, "estimated": 2, "blocks": 10},
}
"""Of which estimates leave out the first, which another one without more blocks beats."""

SEE = " See gnarl explore --help"


@pytest.fixture(scope="module", autouse=True)
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with counted_target(tmp_path_factory.mktemp("packages")):
        yield


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points run in this process."""
    monkeypatch.setattr(command, "_runner", lambda *_: nullcontext(run_here))


def explored(order: Order, folder: Path, *arguments: str | Path) -> Result:
    return gnarl("explore", "counted", order.path, "--search", "-o", folder, *arguments)


def results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / NAME).read_text().splitlines()[1:]]


def test_the_table_and_the_files(tmp_path: Path, here: None) -> None:
    order, folder = Order(tmp_path, plans=PLANS), tmp_path / "a" / "b"
    result = explored(order, folder)
    assert (result.exit_code, result.stderr) == (0, "")
    table = [line.split() for line in result.stdout.splitlines()]
    at = next(at for at, words in enumerate(table) if words[:1] == ["no."])
    assert table[at : at + 5] == [
        ["no.", "plan", "estimate", "blocks", "cycles", "results"],
        ["◆", "001", "short", "20", "9", "20", "✔", "bit-exact"],
        ["◆", "002", "small", "50", "3", "40", "✔", "bit-exact"],
        ["003", "equal", "20", "10", "20", "✔", "bit-exact"],
        "◆: no other point has as few cycles and blocks, and fewer of one.".split(),
    ]
    assert "1 of 4 points were not run, only estimated: see the files.\n" in result.stdout
    files = [NAME, CSV, JSON, PICTURE, SCHEDULES, *(f"{at:03}.txt" for at in range(4))]
    assert sorted(path.name for path in folder.rglob("*.*")) == sorted(files)
    assert [(folder / f"schedules/{at:03}.txt").read_text() for at in range(4)] == [*PLANS]
    with Image.open(folder / PICTURE) as picture:
        assert picture.format == "PNG" and picture.width > 500
    rows = list(csv.DictReader(io.StringIO((folder / CSV).read_text())))
    assert [row["plan"] for row in rows] == [*PLANS]
    assert [row["cycles"] for row in rows] == ["", "20", "40", "20"]
    assert [row["estimated_cycles"] for row in rows] == ["80", "20", "50", "20"]
    assert [row["estimated_blocks"] for row in rows] == ["9", "9", "3", "10"]
    assert [row["pareto"] for row in rows] == ["False", "True", "True", "False"]
    assert [row["left_out"] for row in rows] == ["True", "False", "False", "False"]
    assert [row["schedule"] for row in rows] == [f"schedules/{at:03}.txt" for at in range(4)]
    assert order.runs() == [1, 1, 1]
    assert order.searches() == [[1, [1, 4, 16], None]]


def test_the_json_object(tmp_path: Path, here: None) -> None:
    order, folder = Order(tmp_path, plans=PLANS), tmp_path / "out"
    result = explored(order, folder, "--json", "--lanes", "2, 3,2", "--keep", "9")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert found == json.loads((folder / JSON).read_text())
    assert list(found) == list(JSON_FIELDS)
    assert (found["fields"], found["costs"]) == (["plan"], ["cycles", "blocks"])
    assert [point["cycles"] for point in found["points"]] == [90, 20, 40, 20]
    assert not any("left_out" in point for point in found["points"])
    assert found["points"][0]["estimate"] == {"cycles": 80, "ops": 3, "bytes": 24, "blocks": 9}
    assert order.searches() == [[1, [2, 3], None]]


def test_every_configuration_has_every_schedule(tmp_path: Path, here: None) -> None:
    """What is found for the first that is right; one that is not has its error with each."""
    order, folder = Order(tmp_path, plans=PLANS, refuses=[3]), tmp_path / "out"
    sweeps = ("--sweep", "number=1,2,3", "--sweep", "lanes=1,2")
    result = explored(order, folder, *sweeps)
    assert (result.exit_code, result.stderr) == (0, "")
    assert order.searches() == [[1, [1, 4, 16], None]]
    assert sorted(order.runs()) == [1] * 3 + [2] * 6
    points = json.loads((folder / JSON).read_text())["points"]
    assert [list(point["point"].values()) for point in points] == [
        [number, lanes, plan] for number in (1, 2, 3) for lanes in (1, 2) for plan in PLANS
    ]
    wrong = "--sweep lanes=2: lanes = 2: must be at most 1"
    assert [point["error"] for point in points[4:8]] == [wrong] * 4
    assert [point["error"] for point in points[16:]] == [
        *(None, *["number = 3: this order has no room"] * 3) * 2
    ]
    for at, point in enumerate(points):
        assert point["schedule"] == f"schedules/{at % 4:03}.txt"
        assert point["estimate"]["blocks"] == PLANS[point["point"]["plan"]]["blocks"]
    assert f"✘ number=1 lanes=2 plan=long: {wrong}\n" in result.stdout
    assert "…" not in result.stdout
    assert "5 of 24 points were not run, only estimated: see the files.\n" in result.stdout


def test_nothing_runs_that_is_to_be_estimated(tmp_path: Path, here: None) -> None:
    order, folder = Order(tmp_path, plans=PLANS), tmp_path / "out"
    result = explored(order, folder, "--estimate", "x=0.5, b.c = 1")
    assert (result.exit_code, result.stderr) == (0, "")
    assert order.searches() == [[1, [1, 4, 16], {"x": 0.5, "b.c": 1.0}]]
    assert not order.runs()
    assert result.stdout.count("– estimated") == 4
    assert "Nothing ran: no point is marked.\n" in result.stdout
    points = json.loads((folder / JSON).read_text())["points"]
    assert [point["left_out"] for point in points] == [True] * 4
    assert [point["pareto"] for point in points] == [False] * 4
    assert (folder / PICTURE).read_bytes().startswith(b"\x89PNG")
    again = explored(order, folder, "--estimate", "b.c=1,x=0.5")
    assert again.stdout == result.stdout
    assert len(order.searches()) == 1


def test_estimates_beside_a_configuration_that_is_wrong(tmp_path: Path, here: None) -> None:
    order, folder = Order(tmp_path, plans=PLANS), tmp_path / "out"
    sweeps = ("--sweep", "number=1,2", "--sweep", "lanes=1,2")
    result = explored(order, folder, *sweeps, "--estimate", "x=0.5")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.count("– estimated") == 12
    assert result.stdout.count("✘ did not run") == 4


def stops_behind(count: int) -> Any:
    """What runs so many points, and then can run no more."""

    def run(tasks: Mapping[int, dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
        for at, (key, outcome) in enumerate(run_here(tasks)):
            if at == count:
                yield key, {"stopped": "enough"}
            yield key, outcome

    return run


def test_it_goes_on_without_another_search(
    tmp_path: Path, here: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    order, folder = Order(tmp_path, plans=PLANS), tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(command, "_runner", lambda *_: nullcontext(stops_behind(1)))
        result = explored(order, folder)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "gnarl: plan=small: enough; the same command goes on\n"
    assert [line["at"] for line in results(folder)] == [0, 1]
    assert not (folder / CSV).exists()
    with (folder / NAME).open("a") as file:
        file.write('{"at": 2, "cyc')
    result = explored(order, folder)
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(order.searches()) == 1
    assert [line["at"] for line in results(folder)] == [0, 1, 2, 3]
    # The second run of the first command had begun when it stopped.
    assert len(order.runs()) == 4
    before = state(folder)
    assert explored(order, folder).stdout == result.stdout
    assert state(folder).keys() == before.keys()
    assert (len(order.searches()), len(order.runs())) == (1, 4)
    (folder / SCHEDULES).unlink()
    assert explored(order, folder).stdout == result.stdout
    assert (len(order.searches()), len(order.runs())) == (2, 4)


def test_a_search_that_failed_leaves_nothing(tmp_path: Path, here: None) -> None:
    order, place = Order(tmp_path, plans={}), tmp_path / "place"
    place.mkdir()
    given = ("explore", "counted", order.path, "--search", "-o")
    for folder in (place, place / "a" / "b"):
        assert refusal(place, *given, folder) == "gnarl: order: has no plans"
    assert len(order.searches()) == 2


def test_results_of_another_search_are_refused(tmp_path: Path, here: None) -> None:
    order, folder = Order(tmp_path, plans=PLANS), tmp_path / "out"
    sweep = ("--sweep", "number=1,2")
    assert explored(order, folder, *sweep).exit_code == 0
    given = ("explore", "counted", order.path, "-o", folder, *sweep)

    def why(*arguments: str | Path) -> str:
        line = refusal(tmp_path, *given, *arguments)
        begin, end = (
            f"gnarl: {folder / NAME}: results of another sweep: ",
            "; must be another folder",
        )
        assert line.startswith(begin) and line.endswith(end)
        return line.removeprefix(begin).removesuffix(end)

    assert why("--search", "--lanes", "1") == "lanes was [1, 4, 16], is [1]"
    assert why("--search", "--words", "1,4") == "words was [1], is [1, 4]"
    assert why("--search", "--keep", "2") == "keep was 1.25, is 2.0"
    assert why("--search", "--estimate", "x=0.5") == 'estimate was null, is {"x": 0.5}'
    assert why("--search", "--seed", "1") == "seed was 0, is 1"
    assert (
        why() == "search was true, is null, lanes was [1, 4, 16], is null, words was [1], is null, "
        "keep was 1.25, is null"
    )
    assert len(order.searches()) == 1
    other = tmp_path / "other"
    assert gnarl("explore", "counted", order.path, "-o", other, *sweep).exit_code == 0
    line = refusal(tmp_path, "explore", "counted", order.path, "-o", other, *sweep, "--search")
    assert "another sweep: search was null, is true, lanes was null, is [1, 4, 16], words" in line


def test_a_damaged_file_of_schedules_is_refused(tmp_path: Path, here: None) -> None:
    order, folder = Order(tmp_path, plans=PLANS), tmp_path / "out"
    assert explored(order, folder).exit_code == 0
    given = ("explore", "counted", order.path, "--search", "-o", folder)
    right = (folder / SCHEDULES).read_text()
    for text in (right[:-20], right.replace("80", '"80"'), right.replace('"long"', "1", 1), "mine"):
        assert text != right
        (folder / SCHEDULES).write_text(text)
        assert refusal(tmp_path, *given) == (
            f"gnarl: {folder / SCHEDULES}: not schedules of gnarl explore, or damaged: must be "
            "another folder"
        )
    (folder / SCHEDULES).unlink()
    (folder / SCHEDULES).mkdir()
    assert refusal(tmp_path, *given) == f"gnarl: {folder / SCHEDULES}: Is a directory"
    assert len(order.searches()) == 1


def test_no_point_that_runs_is_an_error(tmp_path: Path, here: None) -> None:
    """Others are only estimated."""
    order, folder = Order(tmp_path, plans=PLANS, refuses=[1]), tmp_path / "out"
    result = explored(order, folder)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"gnarl: {folder / NAME}: no point ran; the first, plan=short: number = 1: this order has "
        "no room\n"
    )
    assert (folder / PICTURE).exists()


def test_processes_have_the_schedule(tmp_path: Path) -> None:
    order, folder = Order(tmp_path, plans=PLANS), tmp_path / "out"
    result = explored(order, folder, "--jobs", "1", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    cycles = [point.get("cycles") for point in json.loads(result.stdout)["points"]]
    assert cycles == [None, 20, 40, 20]


def test_long_values_have_letters(tmp_path: Path, here: None) -> None:
    long = {f"{'a plan of many words ' * 6}, {name}": plan for name, plan in PLANS.items()}
    result = explored(Order(tmp_path, plans=long), tmp_path / "out")
    assert "◆  001  b" in result.stdout
    assert f"plan b: {'a plan of many words ' * 6}, short\n" in result.stdout


def test_values_that_are_tables(tmp_path: Path, here: None) -> None:
    """As a fabric's units are; whole, however wide the page."""
    folder, tensor = tmp_path / "out", tmp_path / "b.npy"
    np.save(tensor, np.ones(3))
    fabric = load_configuration("sam_fabric_small").config.fabric
    tables = [
        ",".join(f"{name}={count}" for name, count in {**fabric, "alu": alus}.items())
        for alus in (1, 2)
    ]
    sweep = f"fabric={{{tables[0]}}},{{{tables[1]}}}"
    given = ("sam_fabric_small", "x(i)=b(i)*b(i)", "--tensor", f"b={tensor}", "--sweep", sweep)
    result = gnarl("explore", *given, "-o", folder)
    assert (result.exit_code, result.stderr) == (0, "")
    for point in json.loads((folder / JSON).read_text())["points"]:
        assert point["matches"] and str(point["point"]["fabric"]) in result.stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("--sweep number=1 --lanes 4", "--lanes: only with --search."),
        ("--sweep number=1 --words 4", "--words: only with --search."),
        ("--sweep number=1 --keep 2", "--keep: only with --search."),
        ("--sweep number=1 --estimate x=1", "--estimate: only with --search."),
        ("--lanes 4", "Missing option '--sweep' or '--search'."),
        ("--search --plan short", "--plan: schedules say so: not for --search."),
        ("--search --fuse full", "--fuse: not supported by target counted."),
        *(
            (
                f"--search --lanes {text}",
                f"Invalid value for '--lanes': {text!r}: must be whole numbers from 1, as 1,4,16.",
            )
            for text in ("0", "1,x", "3?", "4,", ",", "-4", "1.5", "1,0", "100000")
        ),
        *(
            (
                f"--search --keep {text}",
                f"Invalid value for '--keep': {float(text)} is not in the range x>=1.",
            )
            for text in ("0.5", "0", "-1", "-inf")
        ),
        *(
            (
                f"--search --keep {text}",
                f"Invalid value for '--keep': {text!r}: must be a finite number.",
            )
            for text in ("nan", "inf", "1e400")
        ),
        *(
            (
                f"--search --estimate {text}",
                f"Invalid value for '--estimate': {part!r}: must be a name and a share "
                "from 0 to 1, as adj=0.998.",
            )
            for text, part in (
                ("x", "x"),
                ("=2", "=2"),
                ("=0.5", "=0.5"),
                ("x=", "x="),
                ("x=nan", "x=nan"),
                ("x=inf", "x=inf"),
                ("x=1.01", "x=1.01"),
                ("x=-0.5", "x=-0.5"),
                ("x=0.5,", ""),
                ("x=0.5,y", "y"),
                ("x=0.5=1", "x=0.5=1"),
            )
        ),
        (
            "--search --estimate x=0.5,x=0.6",
            "Invalid value for '--estimate': 'x=0.6': x is given twice.",
        ),
    ],
)
def test_bad_arguments(tmp_path: Path, here: None, arguments: str, problem: str) -> None:
    order, folder = Order(tmp_path, plans=PLANS), tmp_path / "out"
    given = ("explore", "counted", order.path, "-o", folder)
    assert refusal(tmp_path, *given, *arguments.split()) == f"gnarl explore: {problem}{SEE}"
    assert not order.searches()


MODEL = (
    "t(i,m)=sum[k](A(i,k)*X(k,m)); p(i,j)=sum[m](t(i,m)*W(m,j)); y(i,j)=relu(p(i,j)) "
    "-f=A:ds -f=X:ds"
)


@pytest.fixture
def tensors(tmp_path: Path) -> list[str]:
    """Options for those of ``MODEL``."""
    noise = np.random.default_rng(0)
    given = []
    for name, shape in (("A", (6, 6)), ("X", (6, 4)), ("W", (4, 3))):
        path = tmp_path / f"{name}.npy"
        np.save(path, noise.integers(-3, 4, shape) * (noise.random(shape) < 0.5))
        given += ["--tensor", f"{name}={path}"]
    return given


def points_of(result: Result) -> list[dict[str, Any]]:
    assert (result.exit_code, result.stderr) == (0, "")
    return list(json.loads(result.stdout)["points"])


def test_what_is_left_out_of_a_model_is_worse(
    tmp_path: Path, here: None, tensors: list[str]
) -> None:
    """And every schedule runs as estimated, here and by its file."""
    given = ("explore", "sam_fp32", MODEL, *tensors, "--search", "--lanes", "1,2", "--json")
    everything = points_of(gnarl(*given, "-o", tmp_path / "all", "--keep", "1000"))
    best = points_of(gnarl(*given, "-o", tmp_path / "best", "--keep", "1.1"))
    assert [point["point"] for point in best] == [point["point"] for point in everything]
    assert [*everything[0]["point"]] == ["fuse", "associate", "words", "lanes"]
    for point in everything:
        assert (point["error"], point["bit_exact"], point.get("left_out")) == (None, True, None)
        estimate = {name: point["estimate"][name] for name in ("cycles", "ops", "bytes")}
        assert estimate == {name: point[name] for name in estimate}
    out = [bool(point.get("left_out")) for point in best]
    assert 0 < sum(out) < len(best) - 2
    for point, is_out in zip(everything, out, strict=True):
        own, blocks = point["cycles"], point["estimate"]["blocks"]
        beaten = [
            each["cycles"]
            for each, other in zip(everything, out, strict=True)
            if not other and each["estimate"]["blocks"] <= blocks
        ]
        assert is_out == (min(beaten) * 1.1 < own)
    assert [each["pareto"] for each in best] == [each["pareto"] for each in everything]
    at = next(at for at, each in enumerate(best) if each["pareto"] and each["point"]["lanes"] > "1")
    file = tmp_path / "best" / best[at]["schedule"]
    run = gnarl(
        "run", "sam_fp32", MODEL, *tensors, "--schedule", file, "--backend", "model", "--json"
    )
    report = json.loads(run.stdout)
    assert (report["cycles"], report["digest"]) == (best[at]["cycles"], best[at]["digest"])


def test_models_and_others_that_are_refused(tmp_path: Path, here: None, tensors: list[str]) -> None:
    folder = tmp_path / "new" / "out"

    def why(config: str, *arguments: str | Path) -> str:
        return refusal(tmp_path, "explore", config, *arguments, "-o", folder, "--search")

    sums = tmp_path / "sums.mtx"
    sums.write_text("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n")
    assert why("dpu_d1_b8", sums) == "gnarl: --search: dpu_d1_b8: target dpu has none"
    graph = tmp_path / "x.gv"
    gnarl("compile", "sam_fp32", "x(i)=b(i)", "--dot", graph, "-o", tmp_path / "x.npz")
    assert why("sam_fp32", graph) == (
        "gnarl: --search: a graph has none: must be a model or an expression"
    )
    assert why("sam_fp32", "x(i)=A(i,j)*X(j,k)", *tensors[:2]).startswith(
        "gnarl: x(i)=A(i,j)*X(j,k): tensor "
    )
    model = ("sam_fp32", MODEL, *tensors)
    allowed = "must be 1, 2 to 16, or a product of two such numbers up to 64"
    assert why(*model, "--lanes", "1,17") == f"gnarl: --lanes 17: {allowed}"
    assert why(*model, "--lanes", "65") == f"gnarl: --lanes 65: {allowed}"
    assert why(*model, "--estimate", "A=0.5,B=0.5") == (
        "gnarl: --estimate B: no input; the model has A, X, W"
    )
    schedules = "schedules say so: not for --search."
    assert why(*model, "--fuse", "full") == f"gnarl explore: --fuse: {schedules}{SEE}"
    assert why(*model, "--no-copies") == f"gnarl explore: --no-copies: {schedules}{SEE}"
    assert why(*model, "--schedule", sums) == f"gnarl explore: --schedule: {schedules}{SEE}"
    assert why(*model, "--opt", "1") == (f"gnarl explore: --opt: not supported by target sam.{SEE}")
    assert why(*model, "--set", "array_words=16").startswith("gnarl: array_words = 16: tensor ")

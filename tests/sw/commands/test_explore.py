"""``gnarl explore``: its table and files, how it goes on, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gnarl import __version__
from gnarl.sw.commands import explore as command
from gnarl.sw.commands.output import page
from gnarl.sw.runtime.explore.explore import CSV, JSON, PICTURE
from gnarl.sw.runtime.explore.picture import draw_points
from gnarl.sw.runtime.explore.point_run import AREA, REPORTED, run_point
from gnarl.sw.runtime.explore.points import JSON_FIELDS, Points
from gnarl.sw.runtime.explore.results_file import NAME
from tests.support.commands import gnarl, refusal
from tests.support.forked import Forked
from tests.support.targets import adder
from tests.support.targets.counted import Order, counted_target, run_here

DPU = "dpu_d1_b8"
MATRIX = "%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 2\n2 1 1\n2 2 4\n3 1 1\n3 3 2\n"

COMMAND = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from gnarl.sw.runtime.target.registry import installed
installed.cache_clear()
from gnarl.sw.commands.main import main
main()
"""


@pytest.fixture(scope="module", autouse=True)
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with counted_target(tmp_path_factory.mktemp("packages")) as folder:
        yield folder


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points run in this process."""
    monkeypatch.setattr(command, "_runner", lambda *_: nullcontext(run_here))


def explored(order: Order, *arguments: str | Path) -> Any:
    return gnarl("explore", "counted", order.path, "--jobs", "1", *arguments)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / NAME).read_text().splitlines()]


def test_a_dpu_has_the_cycles_of_its_runs(tmp_path: Path, here: None) -> None:
    source, folder = tmp_path / "sum.mtx", tmp_path / "out"
    source.write_text(MATRIX)
    sweeps = ("--sweep", "depth=1,2", "--sweep", "format=float32,float16")
    result = gnarl("explore", DPU, source, *sweeps, "-o", folder, "--jobs", "1", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert found == json.loads((folder / JSON).read_text())
    assert list(found) == list(JSON_FIELDS)
    assert len(found["points"]) == 4
    for point in found["points"]:
        overrides = [word for name, value in point["point"].items() for word in _set(name, value)]
        run = gnarl("run", DPU, source, "--backend", "model", "--json", *overrides)
        report = json.loads(run.stdout)
        assert {name: point[name] for name in REPORTED} == {name: report[name] for name in REPORTED}
        assert (point["error"], point["area"]) == (None, None)
    fewest = min(point["cycles"] for point in found["points"])
    assert all(point["pareto"] == (point["cycles"] == fewest) for point in found["points"])


def _set(name: str, value: Any) -> tuple[str, str]:
    return "--set", f"{name}={value}"


def test_the_table_and_the_files(tmp_path: Path, here: None) -> None:
    order, folder = Order(tmp_path, refuses=[3]), tmp_path / "a" / "b"
    sweeps = ("--sweep", "number=1,2,3", "--sweep", "lanes=1,2")
    result = explored(order, *sweeps, "-o", folder)
    assert (result.exit_code, result.stderr) == (0, "")
    table = [line.split() for line in result.stdout.splitlines()]
    table = table[next(at for at, words in enumerate(table) if words[:1] == ["number"]) :]
    assert table[0] == ["number", "lanes", *"cycles ops a cycle ops a byte results".split()]
    assert table[1] == ["◆", "1", "1", "10", "0.30", "✔", "bit-exact"]
    assert table[4] == ["◆", "2", "2", "10", "0.30", "✔", "bit-exact"]
    assert table[5] == ["3", "1", "✘", "did", "not", "run"]
    wrong = "--sweep lanes=2: lanes = 2: must be at most 1"
    assert f"✘ number=1 lanes=2: {wrong}\n" in result.stdout
    assert "✘ number=3 lanes=1: number = 3: this order has no room\n" in result.stdout
    assert sorted(path.name for path in folder.iterdir()) == sorted([NAME, CSV, JSON, PICTURE])
    rows = list(csv.DictReader(io.StringIO((folder / CSV).read_text())))
    assert [row["cycles"] for row in rows] == ["10", "", "20", "10", "", ""]
    assert rows[1]["error"] == wrong
    assert [row["pareto"] for row in rows] == ["True", *["False"] * 2, "True", *["False"] * 2]
    assert sorted(order.runs()) == [1, 2, 2]
    with Image.open(folder / PICTURE) as picture:
        assert picture.format == "PNG" and picture.width > 500


def test_it_goes_on_after_it_was_killed(tmp_path: Path, packages: Path) -> None:
    order, folder = Order(tmp_path, waits=[4]), tmp_path / "out"
    arguments = ("--sweep", "number=1,2,3,4,5,6", "-o", folder)
    command = ("explore", "counted", order.path, "--jobs", "1", *arguments)
    with Forked(packages, *command, code=COMMAND) as process:
        while order.runs()[-1:] != [4]:
            assert process.returncode is None
            time.sleep(0.01)
        assert refusal(tmp_path, *command) == (
            f"gnarl: {folder / NAME}: another gnarl explore is writing it"
        )
        process.kill()
        process.wait()
    assert [line.get("cycles") for line in lines(folder)] == [None, 10, 20, 30]
    with (folder / NAME).open("a") as file:
        file.write('{"at": 3, "cyc')
    order.go()
    result = explored(order, *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    assert order.runs() == [1, 2, 3, 4, 4, 5, 6]
    assert [line.get("cycles") for line in lines(folder)] == [None, 10, 20, 30, 40, 50, 60]
    again = explored(order, *arguments)
    assert again.stdout == result.stdout
    assert len(order.runs()) == 7


def test_its_processes_end_with_it(tmp_path: Path, packages: Path) -> None:
    order, folder = Order(tmp_path, waits=[1]), tmp_path / "out"
    command = ("explore", "counted", order.path, "--jobs", "1", "--sweep", "number=1", "-o", folder)
    with Forked(packages, *command, code=COMMAND) as process:
        while not order.runs():
            time.sleep(0.01)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert children
        process.kill()
        process.wait()
    end = time.monotonic() + 60
    while any(_runs(int(pid)) for pid in children):
        assert time.monotonic() < end
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_point_whose_process_is_killed_is_run_once_more(tmp_path: Path) -> None:
    order, folder = Order(tmp_path, kills={"2": 1}), tmp_path / "out"
    result = explored(order, "--sweep", "number=1,2,3", "-o", folder, "--json")
    assert result.exit_code == 0
    assert [point["cycles"] for point in json.loads(result.stdout)["points"]] == [10, 20, 30]
    assert order.runs() == [1, 2, 2, 3]


def test_results_of_another_sweep_are_refused(
    tmp_path: Path, here: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    order, folder = Order(tmp_path), tmp_path / "out"
    sweep = ("--sweep", "number=2,3", "-o", folder)
    assert explored(order, *sweep).exit_code == 0

    def why(*arguments: str | Path) -> str:
        line = refusal(tmp_path, "explore", "counted", order.path, *arguments)
        begin, end = (
            f"gnarl: {folder / NAME}: results of another sweep: ",
            "; must be another folder",
        )
        assert line.startswith(begin) and line.endswith(end)
        return line.removeprefix(begin).removesuffix(end)

    assert why(*sweep, "--seed", "1") == "seed was 0, is 1"
    assert why(*sweep, "--set", "lanes=2") == "configuration differs"
    assert why("--sweep", "number=2", "-o", folder) == (
        'sweep was {"number": [2, 3]}, is {"number": [2]}, configuration differs'
    )
    with monkeypatch.context() as patch:
        patch.setattr("gnarl.sw.runtime.explore.identity.__version__", "9")
        assert why(*sweep) == f'gnarl was "{__version__}", is "9"'
    order.path.write_text(order.path.read_text() + " ")
    assert why(*sweep) == "workload differs"
    assert order.runs() == [2, 3]


def test_files_of_others_are_refused(tmp_path: Path, here: None) -> None:
    order, folder = Order(tmp_path), tmp_path / "out"
    folder.mkdir()
    arguments = ("explore", "counted", order.path, "--sweep", "number=1", "-o", folder)
    (folder / CSV).write_text("mine")
    assert refusal(tmp_path, *arguments) == (
        f"gnarl: {folder / CSV}: is there without {NAME}: must be another folder"
    )
    (folder / CSV).unlink()
    for text in ("", "mine", "[1]\n", '{"sweep": 1}\n'):
        (folder / NAME).write_text(text)
        assert refusal(tmp_path, *arguments) == (
            f"gnarl: {folder / NAME}: not results of gnarl explore, or damaged: must be another "
            "folder"
        )


def test_a_damaged_result_is_refused(tmp_path: Path, here: None) -> None:
    order, folder = Order(tmp_path), tmp_path / "out"
    arguments = ("--sweep", "number=1,2", "-o", folder)
    assert explored(order, *arguments).exit_code == 0
    head, _, last = (folder / NAME).read_text().splitlines()
    (folder / NAME).write_text(f"{head}\nnothing\n{last}\n")
    assert refusal(tmp_path, "explore", "counted", order.path, *arguments) == (
        f"gnarl: {folder / NAME}:2: not a result of gnarl explore, or damaged"
    )


def test_no_point_that_runs_is_an_error(tmp_path: Path, here: None) -> None:
    order, folder = Order(tmp_path, refuses=[1, 2]), tmp_path / "out"
    result = explored(order, "--sweep", "number=1,2", "-o", folder)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"gnarl: {folder / NAME}: no point ran; the first, number=1: number = 1: this order has no "
        "room\n"
    )
    assert (folder / JSON).exists()


def test_bad_arguments(tmp_path: Path, here: None) -> None:
    order, folder = Order(tmp_path), tmp_path / "out"
    given = ("explore", "counted", order.path, "-o", folder)
    see = " See gnarl explore --help"
    assert refusal(tmp_path, *given, "--sweep", "number=0,1") == (
        "gnarl: --sweep number=0: number = 0: must be a whole number from 1 to 99"
    )
    assert refusal(tmp_path, *given) == (
        f"gnarl explore: Missing option '--sweep' or '--search'.{see}"
    )
    number = ("--sweep", "number=1")
    assert refusal(tmp_path, *given, *number, "--backend", "rtl") == (
        f"gnarl explore: --backend rtl: points of target counted run on model.{see}"
    )
    assert refusal(tmp_path, *given, *number, "--area") == (
        f"gnarl explore: --area: counted: target counted has no Verilog.{see}"
    )
    assert refusal(tmp_path, *given, *number, "--max-cycles", "9") == (
        f"gnarl explore: --max-cycles: not supported by target counted.{see}"
    )
    assert refusal(tmp_path, *given, *number, "--fuse", "full") == (
        f"gnarl explore: --fuse: not supported by target counted.{see}"
    )
    nothing = tmp_path / "nothing"
    assert refusal(tmp_path, "explore", "counted", nothing, "-o", folder, *number) == (
        f"gnarl: {nothing}: no such file"
    )
    cuda = ("explore", "cuda_sm90", order.path, "-o", folder, "--sweep", "workers=warps")
    assert refusal(tmp_path, *cuda) == (
        "gnarl explore: Missing option '--backend': points of target cuda run on cuda or "
        f"emulation.{see}"
    )
    assert not order.runs()


TASK = {
    **{"version": __version__, "config": "counted", "overrides": [], "swept": ["number=4"]},
    **{"backend": "model", "values": None, "tensors": {}, "sizes": {}, "seed": 0, "options": {}},
    **{"max_cycles": None, "area": False, "allow_python": False, "schedule": None},
    **{"board": None, "place": None},
}


def test_what_stops_a_sweep(tmp_path: Path) -> None:
    task = {**TASK, "source": str(Order(tmp_path).path)}
    assert run_point(task)["result"]["cycles"] == 40
    assert run_point({**task, "version": "9"}) == {
        "stopped": f"a worker has Gnarl {__version__}: must be 9"
    }
    missing = tmp_path / "missing.json"
    assert run_point({**task, "source": str(missing)}) == {
        "result": {"error": f"{missing}: no such file", "warnings": []}
    }
    broken = run_point({**task, "options": None})
    assert list(broken) == ["defect"] and "AttributeError" in broken["defect"]


def test_area_is_that_of_gnarl_area(tmp_path: Path) -> None:
    """Of the smallest hardware."""
    table = tmp_path / "table.txt"
    np.savetxt(table, np.zeros(adder.SHAPE, int), "%d")
    task = {**TASK, "config": "adder", "swept": [], "source": str(table), "area": True}
    found = run_point(task)["result"]["area"]
    area = json.loads(gnarl("area", "adder", "--json").stdout)
    whole = {**area["components"], "memory_bits": area["memory_bits"]}
    assert found == {
        **{"stage": "before layout", "gate": area["gate"]},
        **{name: whole[name] for name in AREA},
    }
    assert found["gates"] > 0 and found["memory_bits"] > 0


def test_points_are_compared_by_cycles_gates_and_memory(tmp_path: Path) -> None:
    costs = [(10, 7.0, 64), (20, 5.0, 64), (20, 7.0, 32), (20, 7.0, 64), (5, None, None)]
    results = [
        {
            **dict.fromkeys(REPORTED),
            **{"cycles": cycles, "matches": True, "bit_exact": True, "error": None},
            "area": gates and {**dict.fromkeys(AREA), "gates": gates, "memory_bits": bits},
        }
        for cycles, gates, bits in costs
    ]
    points = Points("c", "w", "model", ["n"], True, [{"n": at} for at in range(5)], results)
    assert points.pareto() == [True, True, True, False, False]
    rows = list(csv.DictReader(io.StringIO(points.to_csv())))
    assert [row["gates"] for row in rows] == ["7.0", "5.0", "7.0", "7.0", ""]
    assert "an estimate before layout" in page(points.print)
    draw_points(points, tmp_path / "points.png")
    assert (tmp_path / "points.png").read_bytes().startswith(b"\x89PNG")

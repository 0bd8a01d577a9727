"""The table of targets: what it promises of each, and that other packages can add some."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.configuration import TargetConfig
from gnarl.hw.lib.errors import CapacityError, ConfigError, ProgramError, WorkloadError
from gnarl.sw.program.program import Program
from gnarl.sw.program.schema import Schema
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.run.programs import load_program
from gnarl.sw.runtime.target.configuration import configuration_files, load_configuration
from gnarl.sw.runtime.target.contract import Target
from gnarl.sw.runtime.target.host_executor import HostExecutor
from gnarl.sw.runtime.target.registry import TARGETS, loaded, others
from tests.support.commands import GNARL, gnarl, refusal
from tests.support.targets import adder
from tests.support.targets.adder_target import TARGET as ADDER
from tests.support.targets.adder_target import AdderCompiler, AdderReader
from tests.support.targets.installed import OUTSIDE, importable, install
from tests.support.targets.ulp_target import SIZE

ROOT = Path(__file__).parents[4]


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Targets of another package."""
    folder = tmp_path_factory.mktemp("packages")
    install(folder, "outside", OUTSIDE)
    with importable(folder):
        yield


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.txt"
    np.savetxt(path, np.arange(72).reshape(adder.SHAPE), "%d")
    return path


@pytest.fixture
def moves(tmp_path: Path) -> Path:
    path = tmp_path / "moves.txt"
    path.write_text("0 1.0\n1 -2.5\n255 1e-40\n")
    return path


def output(*arguments: str | Path) -> str:
    """What a command that succeeds prints. On stderr only slow stages may be."""
    result = gnarl(*arguments)
    assert (result.exit_code, "gnarl" in result.stderr) == (0, False), result.stderr
    return result.stdout


@pytest.mark.parametrize("name", [*TARGETS, *OUTSIDE])
def test_every_target_is_complete(name: str, outside: None, tmp_path: Path) -> None:
    target = TARGETS[name]
    assert isinstance(target, Target)
    assert target.name == name == target.configuration.target
    assert issubclass(target.configuration, TargetConfig)
    assert target.configuration().digest == target.configuration.from_dict({}).digest
    assert isinstance(target.compiler.schema, Schema)
    behind_port = isinstance(target.executor, HostExecutor)
    assert target.executor.backends == (
        ("rtl", "fpga", "model") if behind_port else ("cuda", "emulation")
    )
    assert target.executor.default_backend() in target.executor.backends
    assert target.reader.target == name
    names = [each.name for each in target.compiler.passes]
    assert names
    assert len(set(names)) == len(names)
    for each in target.compiler.passes:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", each.name)
        assert each.does
    for option in target.command_line.options:
        assert option.help
        assert option.help.endswith(".")
        assert set(option.commands) <= {"compile", "run", "tune"}
        assert option.commands
    if target.demo:
        assert load_configuration(target.demo).target is target
        examples = target.reader.examples(tmp_path)
        assert examples
    for path in target.configurations.glob("*.toml"):
        assert configuration_files()[path.stem] == path


def test_targets_are_loaded_when_they_are_used() -> None:
    code = (
        "import sys; from gnarl.sw.runtime.target.registry import TARGETS; list(TARGETS); "
        "print([name for name in sys.modules if name.endswith('.target')]); "
        "TARGETS['dpu']; print([name for name in sys.modules if name.endswith('.target')])"
    )
    assert python(code).splitlines() == [
        "['gnarl.sw.runtime.target']",
        "['gnarl.sw.runtime.target', 'gnarl.sw.runtime.dpu.target']",
    ]


def test_verilog_depends_on_the_sources_of_targets_from_elsewhere(outside: None) -> None:
    sources = {}
    for name in ("dpu", "adder"):
        target = TARGETS[name]
        assert target.executor.generator is not None
        sources[name] = target.executor.generator.sources()
    assert sources == {"dpu": [ROOT / "hw"], "adder": [ROOT / "hw", Path(adder.__file__).parent]}


@pytest.mark.parametrize("backend", ["rtl", "model"])
def test_the_adder_runs(outside: None, table: Path, backend: str) -> None:
    with Device("adder", backend) as device:
        assert device.target is ADDER
        program = device.compile(table)
        numbers = device.workload(table).inputs["table"]
        for values in (numbers, numbers + 2**31):
            result = device.run(program, {"table": values})
            assert result.outputs["sums"].tolist() == (values + 1).tolist()
            assert result.outputs["sums"].dtype == np.uint32
            assert result.cycles == adder.CYCLES
            assert device.verify(result).bit_exact
    assert result.counters["rows"] == adder.ROWS


@pytest.mark.parametrize(
    ("configuration", "backend"), [("ulp", "rtl"), ("ulp", "model"), ("ulp_fast", "model")]
)
def test_two_launches_run_one_after_the_other(
    outside: None, moves: Path, configuration: str, backend: str
) -> None:
    with Device("ulp") as compiler:
        program = compiler.compile(moves)
    with Device(configuration, backend) as device:
        for size in (1, 3, SIZE):
            steps = np.arange(size).astype(np.uint8)
            x = np.linspace(-1, 1, size, dtype=np.float32)
            result = device.run(program, {"steps": steps, "x": x})
            distance, y = result.outputs["distance"], result.outputs["y"]
            assert distance.dtype == np.int64
            assert distance.tolist() == (steps + 1).tolist()
            assert y.dtype == np.float32
            expected = x.view(np.uint32) + distance.astype(np.uint32)
            assert y.view(np.uint32).tolist() == expected.tolist()
            assert device.verify(result).bit_exact
            assert [run.launch.name for run in result.launches] == ["count", "move"]
            assert [run.finished.cycles for run in result.launches] == [adder.CYCLES] * 2
            assert result.cycles == 2 * adder.CYCLES
            assert result.counters["rows"] == 2 * adder.ROWS
        digests = [device.hardware(program, launch).config.digest for launch in program.launches]
        assert digests[0] == device.configuration.config.digest
        assert digests[1] == program.launches[1].digest != program.digest


def test_a_size_is_bound_by_all_tensors_that_have_it(outside: None, moves: Path) -> None:
    device = Device("ulp", "model")
    program = device.compile(moves)
    given = {"steps": np.zeros(3, np.uint8), "x": np.zeros(4, np.float32)}
    text = "tensor x: dimension 0 has size 4: must be 3 (n)"
    with pytest.raises(WorkloadError, match=f"^{re.escape(text)}$"):
        device.run(program, given)
    with pytest.raises(CapacityError, match="^n = 73: at most 72$"):
        device.run(program, {"steps": np.zeros(73, np.uint8), "x": np.zeros(73, np.float32)})
    with pytest.raises(WorkloadError, match="^tensor steps: value 256: uint8 holds 0 to 255$"):
        device.run(program, {"steps": [256], "x": [1.0]})


def test_a_program_for_several_configurations_is_not_for_all(outside: None, moves: Path) -> None:
    program = Device("ulp").compile(moves)
    text = "program for another configuration: stage is 1, must be 2"
    with pytest.raises(ProgramError, match=f"^{text}$"):
        Device(load_configuration("ulp", ["stage=2"]), "model").run(program, {})


def test_a_program_of_two_launches_is_a_file(outside: None, moves: Path, tmp_path: Path) -> None:
    program = Device("ulp").compile(moves)
    path = tmp_path / "moves.npz"
    program.save(path)
    found = load_program(path)
    assert same_programs(found, program)
    assert found.statistics == {"stages": 2}


def same_programs(one: Program, other: Program) -> bool:
    sections = [[launch.sections for launch in program.launches] for program in (one, other)]
    for left, right in zip(*sections, strict=True):
        assert left.keys() == right.keys()
        assert all(np.array_equal(left[name], right[name]) for name in left)
    return all(
        getattr(one, name) == getattr(other, name)
        for name in ("target", "config", "digest", "workload", "inputs", "outputs")
    ) and all(
        getattr(left, name) == getattr(right, name)
        for left, right in zip(one.launches, other.launches, strict=True)
        for name in ("name", "inputs", "outputs", "statistics", "config", "digest")
    )


def test_a_damaged_launch_names_itself(outside: None, moves: Path, tmp_path: Path) -> None:
    program = Device("ulp").compile(moves)
    order = np.array(program.launches[1].sections["order"])
    order[3] = 72
    damaged = replace(program.launches[1], sections={"order": order})
    text = "launch 1 (move): order[3] = 72: must be from 0 to 71"
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        replace(program, launches=(program.launches[0], damaged)).save(tmp_path / "moves.npz")


def test_the_adder_has_the_commands(outside: None, table: Path, tmp_path: Path) -> None:
    program, results = tmp_path / "program.npz", tmp_path / "results.npz"
    assert re.search(r"^ *adder +adder +Adds 1 to a table", output("configs"), re.MULTILINE)
    assert re.search(r"^ *place +a row of the table", output("passes", "adder"), re.MULTILINE)
    output("compile", "adder", table, "-o", program)
    report = json.loads(output("run", "adder", program, "--values", table, "--json", "-o", results))
    assert (report["target"], report["bit_exact"]) == ("adder", True)
    assert report["ops_per_cycle"] == 72 / 48
    assert report["outputs"] == {
        "sums": {
            "shape": [24, 3],
            "type": "uint32",
            "entries": 72,
            "values": {"sums[0,0]": 1, "sums[0,1]": 2, "sums[0,2]": 3, "sums[1,0]": 4},
        }
    }
    with np.load(results) as arrays:
        assert arrays["sums"].dtype == np.uint32
        assert arrays["sums"].reshape(-1).tolist() == list(range(1, 73))
    folder = tmp_path / "out"
    assert output("rtl", "adder", "-o", folder) == f"{folder}/adder.v\n{folder}/adder.json\n"
    assert output("lint", "adder") == ""


def test_two_launches_have_the_commands(outside: None, moves: Path, tmp_path: Path) -> None:
    passes = tmp_path / "passes"
    output("compile", "ulp", moves, "--dump", passes, "--stop-after", "split")
    assert {path.name: path.read_text() for path in passes.iterdir()} == {
        "01_split.txt": "count\nmove\n",
        "01_split.dot": "digraph {count -> move}\n",
    }
    report = json.loads(output("run", "ulp", moves, "--reverse", "--json"))
    assert report["cycles"] == 2 * adder.CYCLES
    assert report["launches"] == {
        name: {"cycles": 48, "counters": {"starts": 1, "rows": 24}} for name in ("count", "move")
    }
    assert report["outputs"]["distance"]["values"] == {
        "distance[0]": 1,
        "distance[1]": 2,
        "distance[2]": 256,
    }
    page = output("run", "ulp_fast", moves, "--backend", "model")
    assert "\nLaunches\n  count 48 cycles · move 48 cycles\n" in page
    assert "\n  distance [3] int64: distance[0] = 1, distance[1] = 2, distance[2] = 256\n" in page
    text = output("demo", "--config", "ulp", "-o", tmp_path / "demo")
    assert "moves on ulp, rtl" in text
    assert "bit-exact" in text


def test_options_of_a_target_are_its_own(outside: None, moves: Path, table: Path) -> None:
    shown = " ".join(output("run", "--help").split())
    assert "--most INTEGER Refuse longer moves (ulp)." in shown
    assert "--reverse Place the last element first (ulp)." in shown
    assert "--most" not in output("compile", "--help")
    folder = moves.parent
    assert refusal(folder, "run", "ulp", moves, "--most", "3") == (
        "gnarl: moves: moves are longer than 3"
    )
    assert refusal(folder, "run", "adder", table, "--most", "3") == (
        "gnarl run: --most: not supported by target adder. See gnarl run --help"
    )
    assert refusal(folder, "compile", "adder", table, "--reverse", "-o", folder / "x.npz") == (
        "gnarl compile: --reverse: not supported by target adder. See gnarl compile --help"
    )


def test_a_workload_is_read_and_compiled_once(
    outside: None, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    for part, name in ((AdderReader, "workload"), (AdderCompiler, "compile")):
        method = getattr(part, name)

        def counted(self: Any, *arguments: Any, name: str = name, method: Any = method, **own: Any):
            calls.append(name)
            return method(self, *arguments, **own)

        monkeypatch.setattr(part, name, counted)
    output("run", "adder", table, "--backend", "model")
    assert calls == ["workload", "compile"]


@pytest.mark.parametrize("command", ["compile", "run"])
def test_help_says_what_workloads_of_each_target_are(outside: None, command: str) -> None:
    shown = " ".join(output(command, "--help").split())
    assert " WORKLOADS " not in shown
    assert " For adder, a file. For ulp, a file of moves, a line each. Example: gnarl" in shown
    for name in TARGETS:
        assert f" For {name}, {TARGETS[name].command_line.workloads}." in shown


def test_help_says_which_targets_have_an_option(outside: None) -> None:
    shown = " ".join(output("run", "--help").split())
    assert "takes more cycles with an error (dpu, sam, tmu, sram, ulp). [default: more" in shown
    assert "FOLDER (sam, tmu, cuda); an array or scalar of a loop nest: .npy, " in shown


@pytest.mark.parametrize("name", [*TARGETS, *OUTSIDE])
def test_a_target_says_of_shared_options_what_it_does(outside: None, name: str) -> None:
    target = TARGETS[name]
    assert ("--max-cycles" in target.command_line.shared) <= target.executor.limits_cycles
    assert set(target.command_line.shared) <= {
        "--allow-python",
        "--dot",
        "--max-cycles",
        "--size",
        "--tensor",
    }


def test_what_a_target_lacks_is_refused_before_it_runs(outside: None, table: Path) -> None:
    folder = table.parent
    assert refusal(folder, "run", "adder", table, "--timeline", folder / "x.png") == (
        "gnarl run: --timeline: not supported by target adder. See gnarl run --help"
    )
    assert refusal(folder, "run", "adder", table, "--tensor", "a=b") == (
        "gnarl: --tensor a: not supported by target adder"
    )
    assert refusal(folder, "compile", "adder", table, "--dot", folder / "x.dot") == (
        "gnarl: --dot: not supported by target adder"
    )
    assert refusal(folder, "tune", "adder", table, "-o", folder / "x.json") == (
        "gnarl: adder: target adder has no schedules"
    )


def test_a_program_has_no_input_values_of_its_own(outside: None, table: Path) -> None:
    program = table.with_name("program.npz")
    output("compile", "adder", table, "-o", program)
    assert refusal(table.parent, "run", "adder", program) == (
        "gnarl: table: a program has no input values: --values FILE gives them"
    )
    assert refusal(table.parent, "run", "adder", program, "--values", table, "-o", program) == (
        f"gnarl: {program}: is an input of this command: must be another file"
    )


BROKEN = {
    "absent": (
        "tests.support.absent:TARGET",
        "cannot be loaded: ModuleNotFoundError: No module named 'tests.support.absent'",
    ),
    "unnamed": (
        "tests.support.targets.adder_target:ABSENT",
        "cannot be loaded: AttributeError: module 'tests.support.targets.adder_target' has no "
        "attribute 'ABSENT'",
    ),
    "other": (
        "tests.support.targets.adder:CYCLES",
        "is 48: must be a Target of that name",
    ),
}
"""Entry points that hold no target, and what is said of them."""


@pytest.fixture
def broken(outside: None, tmp_path: Path) -> Iterator[list[str]]:
    """The lines of entry points that hold no target."""
    folder = tmp_path / "broken"
    folder.mkdir()
    install(folder, "broken", {name: value for name, (value, _) in BROKEN.items()})
    with importable(folder):
        yield [f"target {name}: {BROKEN[name][0]} {BROKEN[name][1]}" for name in sorted(BROKEN)]


def test_a_broken_entry_point_is_one_line_and_the_others_work(
    broken: list[str], table: Path
) -> None:
    result = gnarl("run", "adder", table, "--backend", "model", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["bit_exact"]
    assert result.stderr.splitlines() == [f"gnarl: {line}" for line in broken]
    assert [str(error) for error in others()[1]] == broken
    assert {"dpu", "sam", "adder", "ulp"} <= set(loaded())


@pytest.mark.parametrize("name", BROKEN)
def test_a_configuration_of_a_broken_target_is_refused(
    broken: list[str], tmp_path: Path, name: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'target = "{name}"\n')
    (text,) = (line for line in broken if line.startswith(f"target {name}:"))
    with pytest.raises(ConfigError, match=f"^{re.escape(text)}$"):
        load_configuration(path)


def test_the_projects_own_targets_cannot_be_replaced(tmp_path: Path) -> None:
    install(tmp_path, "outside", {"dpu": "tests.support.targets.adder_target:TARGET"})
    with importable(tmp_path):
        assert type(TARGETS["dpu"].executor).__name__ == "DpuExecutor"


def test_installed_packages_belong_to_processes_of_their_own(tmp_path: Path, table: Path) -> None:
    install(tmp_path, "outside", OUTSIDE)
    install(tmp_path, "broken", {"absent": BROKEN["absent"][0]})
    found = subprocess.run(
        [GNARL, "run", "adder", table, "--backend", "model", "--json"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(found.stdout)["outputs"]["sums"]["entries"] == 72
    assert found.stderr.count("\n") == 1
    assert found.stderr.startswith("gnarl: target absent: tests.support.absent:TARGET cannot be")


def python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

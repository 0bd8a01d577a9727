"""The command line: help, bad input by its whole text, and what lands on stdout and on disk."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from gnarl.hw.dpu.config import DpuConfig
from gnarl.sw.commands.main import main
from gnarl.sw.runtime.machine.waves.trace_names import read_variables
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.run.programs import load_program
from gnarl.sw.runtime.target.configuration import configuration_files
from tests.support.dpu.dag_files import PRODUCT_EDGES, PRODUCT_NODES, node_link, product
from tests.support.forked import Forked
from tests.support.machines.wave_views import gtkwave_groups, surfer_groups
from tests.support.targets import adder
from tests.support.targets.installed import OUTSIDE, importable, install

CONFIG = "dpu_d1_b8"


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    return product(tmp_path)


def gnarl(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def refusal(*arguments: str | Path) -> str:
    """The one line on stderr of a command that ends with status 2 and prints nothing else."""
    result = gnarl(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    return result.stderr.rstrip("\n")


def test_without_a_command_it_lists_the_commands() -> None:
    result = gnarl()
    assert result.exit_code == 0
    for name in main.commands:
        assert f"\n  {name} " in result.stdout


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_command_has_help_with_an_example(name: str) -> None:
    result = gnarl(name, "--help")
    assert result.exit_code == 0
    assert f"  Example: gnarl {name}" in result.stdout
    for parameter in main.commands[name].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.opts[0]}"


def test_configs_lists_every_configuration() -> None:
    result = gnarl("configs")
    assert result.exit_code == 0
    names = [line.split()[0] for line in result.stdout.splitlines() if not line.startswith(" ")]
    assert names == ["name", *configuration_files()]


def test_run_prints_a_page(graph: Path) -> None:
    result = gnarl("run", CONFIG, graph, "--backend", "model")
    assert result.exit_code == 0
    assert "product on dpu_d1_b8, model\n" in result.stdout
    assert "✔ bit-exact, error against float64 0.0e+00" in result.stdout
    assert "  y = 3\n" in result.stdout


@pytest.mark.parametrize("backend", ["rtl", "model"])
def test_json_is_one_object_with_the_promised_fields(graph: Path, backend: str) -> None:
    result = gnarl("run", CONFIG, graph, "--json", "--backend", backend)
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert report["compile_s"] > 0
    assert report["simulate_s"] > 0
    expected = {
        "config": CONFIG,
        "target": "dpu",
        "workload": "product",
        "backend": backend,
        "ops": 1,
        "ops_per_cycle": 1 / report["cycles"],
        "matches": True,
        "bit_exact": True,
        "max_rel_error": 0.0,
        "outputs": {"y": 3.0},
    }
    assert {name: report[name] for name in expected} == expected
    issued = ["exec", "copy", "load", "store", "nop"]
    assert list(report["counters"]) == [*issued, "underflow", "overflow", "nan"]
    assert report["counters"]["exec"] == 1


def test_seeds_and_overrides_reach_the_run(tmp_path: Path) -> None:
    path = tmp_path / "sum.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n2 1 1\n2 2 4\n")
    outputs = []
    for seed in ("1", "1", "2"):
        result = gnarl("run", CONFIG, path, "--seed", seed, "--json", "--backend", "model")
        outputs.append(json.loads(result.stdout)["outputs"])
    assert outputs[0] == outputs[1] != outputs[2]
    overrides = ("--set", "registers=8", "--set", "format=float16")
    result = gnarl("run", CONFIG, path, *overrides, "--json", "--backend", "model")
    assert json.loads(result.stdout)["overrides"] == {"registers": 8, "format": "float16"}


def test_a_program_runs_with_new_values(graph: Path, tmp_path: Path) -> None:
    program, values = tmp_path / "product.npz", tmp_path / "values.json"
    result = gnarl("compile", CONFIG, graph, "-o", program)
    assert (result.exit_code, result.stdout) == (0, "")
    values.write_text('{"a": -4, "b": 0.5}')
    arguments = ("--values", values, "--json", "--backend", "model")
    for source in (program, graph):
        result = gnarl("run", CONFIG, source, *arguments)
        assert json.loads(result.stdout)["outputs"] == {"y": -2.0}
    assert refusal("run", CONFIG, program, "--backend", "model") == (
        "gnarl: product: a program has no input values: --values FILE gives them"
    )


def test_values_of_a_workload_may_be_given_in_part(graph: Path, tmp_path: Path) -> None:
    values = tmp_path / "values.json"
    values.write_text('{"a": 10}')
    result = gnarl("run", CONFIG, graph, "--values", values, "--json", "--backend", "model")
    assert json.loads(result.stdout)["outputs"] == {"y": 20.0}


def test_operands_stay_in_order_without_reassociation(tmp_path: Path) -> None:
    names = [f"x{k}" for k in range(8)]
    nodes = [{"id": name, "op": "input", "value": 1.0} for name in names]
    edges = [(name, "y") for name in names]
    nodes.append({"id": "y", "op": "add"})
    path = tmp_path / "sum.json"
    path.write_text(node_link(nodes, *edges))
    cycles = []
    for options in ((), ("--no-reassociate",)):
        result = gnarl("run", CONFIG, path, *options, "--json", "--backend", "model")
        cycles.append(json.loads(result.stdout)["cycles"])
    assert cycles[0] < cycles[1]


def test_disasm_lists_every_instruction(graph: Path, tmp_path: Path) -> None:
    program = tmp_path / "product.npz"
    gnarl("compile", CONFIG, graph, "-o", program)
    lines = gnarl("disasm", program).stdout.splitlines()
    assert len(lines) == load_program(program).statistics["instructions"]
    assert [line.split()[2] for line in lines][-2:] == ["STORE", "HALT"]
    assert any(" * " in line for line in lines)


def test_a_result_that_differs_ends_with_status_1(graph: Path, tmp_path: Path) -> None:
    path = tmp_path / "product.npz"
    gnarl("compile", CONFIG, graph, "-o", path)
    program = load_program(path)
    operations = program.launches[0].sections["tree_op"]
    operations += 1  # the golden model now takes the larger of the two

    program.save(path)
    values = tmp_path / "values.json"
    values.write_text('{"a": 3, "b": 2}')
    result = gnarl("run", CONFIG, path, "--values", values, "--json", "--backend", "model")
    assert (result.exit_code, result.stderr) == (1, "")
    report = json.loads(result.stdout)
    assert report["bit_exact"] is False
    assert report["difference"] == (
        "1 of 1 outputs differ; the first is y: 0x40c00000, must be 0x40400000"
    )


def test_rtl_writes_verilog_and_its_configuration(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    result = gnarl("rtl", CONFIG, "--set", "registers=8", "-o", folder)
    assert result.stdout == f"{folder}/{CONFIG}.v\n{folder}/{CONFIG}.json\n"
    assert f"\nmodule {CONFIG}(" in (folder / f"{CONFIG}.v").read_text()
    resolved = json.loads((folder / f"{CONFIG}.json").read_text())
    assert DpuConfig.from_dict(resolved["fields"]).digest == resolved["digest"]
    assert resolved["fields"]["registers"] == 8
    assert sorted(path.name for path in folder.iterdir()) == [f"{CONFIG}.json", f"{CONFIG}.v"]


def test_lint_finds_nothing() -> None:
    result = gnarl("lint", CONFIG)
    assert (result.exit_code, result.stdout) == (0, "")


def test_the_timeline_is_a_picture(graph: Path, tmp_path: Path) -> None:
    picture = tmp_path / "timeline.png"
    gnarl("run", CONFIG, graph, "--backend", "model", "--timeline", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_waves_are_written_whole(tmp_path: Path) -> None:
    """Of a small design, which other tests trace, too."""
    table, waves = tmp_path / "table.txt", tmp_path / "waves.fst"
    np.savetxt(table, np.arange(72).reshape(adder.SHAPE), "%d")
    package = tmp_path / "package"
    package.mkdir()
    install(package, "outside", OUTSIDE)
    with importable(package):
        result = gnarl("run", "adder", table, "--waves", waves)
    assert result.exit_code == 0, result.stderr
    assert waves.stat().st_size > 1000
    names = ["package", "table.txt", "waves.fst", "waves.gtkw", "waves.sucl"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    variables = read_variables(waves)
    shown = surfer_groups(tmp_path / "waves.sucl")
    assert list(shown) == ["clock", "host_port", "run", "port"]
    assert {name for names in shown.values() for name in names} <= {each.path for each in variables}
    with_bits = {each.path + each.bits for each in variables}
    for names in gtkwave_groups(tmp_path / "waves.gtkw").values():
        assert names and set(names) <= with_bits


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["frobnicate"], "gnarl: No such command 'frobnicate'. See gnarl --help"),
        (
            ["run", CONFIG],
            f"gnarl run: Missing argument 'WORKLOAD': {CONFIG} names none. See gnarl run --help",
        ),
        (
            ["run", CONFIG, "GRAPH", "--backend", "cuda"],
            "gnarl run: --backend cuda: target dpu runs on rtl or fpga or model. "
            "See gnarl run --help",
        ),
        (
            ["run", CONFIG, "GRAPH", "--backend", "model", "--waves", "x.fst"],
            "gnarl run: --waves shows the RTL: not for --backend model. See gnarl run --help",
        ),
        (
            ["run", CONFIG, "nowhere.psdd"],
            "gnarl: nowhere.psdd: no such file",
        ),
        (
            ["run", CONFIG, "GRAPH", "--timeline", "nowhere/x.png"],
            "gnarl run: Invalid value for '--timeline': nowhere: no such folder. "
            "See gnarl run --help",
        ),
        (
            ["run", "dpu_d9", "GRAPH"],
            f"gnarl: dpu_d9: no such configuration; there are {', '.join(configuration_files())}, "
            "and paths of .toml files",
        ),
        (
            ["run", CONFIG, "GRAPH", "--set", "banks=9"],
            "gnarl: --set: banks = 9: must be a multiple of 2**depth = 2",
        ),
        (
            ["compile", CONFIG, "GRAPH"],
            "gnarl compile: Missing option '-o' / '--output', '--dot' or '--stop-after'. "
            "See gnarl compile --help",
        ),
    ],
)
def test_bad_arguments(graph: Path, arguments: list[str], text: str) -> None:
    assert refusal(*(str(graph) if word == "GRAPH" else word for word in arguments)) == text


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        (
            "x.txt",
            "",
            "no workload has the extension '.txt': must be one of .psdd, .mtx, .npz, .graphml, "
            ".gml, .json, .edgelist, .edges",
        ),
        ("x.npz", "", "not a program file, or damaged: File is not a zip file"),
        ("x.mtx", "hello\n", None),
        ("x.psdd", "psdd 1\nQ 0\n", None),
        ("x.graphml", "<graphml", None),
        ("x.json", "[", None),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, content: str, text: str | None) -> None:
    path = tmp_path / name
    path.write_text(content)
    line = refusal("run", CONFIG, path)
    assert line.startswith(f"gnarl: {path}")
    if text:
        assert line == f"gnarl: {path}: {text}"


def test_a_cycle_names_its_nodes(tmp_path: Path) -> None:
    path = tmp_path / "loop.json"
    edges = [*PRODUCT_EDGES, ("y", "z"), ("z", "y")]
    nodes = [*PRODUCT_NODES, {"id": "z", "op": "add"}]
    path.write_text(node_link(nodes, *edges))
    assert refusal("run", CONFIG, path) == f"gnarl: {path}: cycle: z -> y -> z"


def test_a_program_for_another_configuration(graph: Path, tmp_path: Path) -> None:
    path = tmp_path / "product.npz"
    gnarl("compile", CONFIG, graph, "-o", path)
    assert refusal("run", CONFIG, path, "--set", "registers=64") == (
        f"gnarl: {path}: program for another configuration: registers is 16, must be 64"
    )


def test_a_truncated_program(graph: Path, tmp_path: Path) -> None:
    path = tmp_path / "product.npz"
    gnarl("compile", CONFIG, graph, "-o", path)
    path.write_bytes(path.read_bytes()[:-100])
    assert refusal("disasm", path).startswith(f"gnarl: {path}: not a program file, or damaged: ")


def test_more_memory_than_there_is_leaves_nothing_behind(tmp_path: Path) -> None:
    source, output = tmp_path / "sum.mtx", tmp_path / "sum.npz"
    lines = [f"{row} {row} 2" for row in range(1, 101)]
    header = "%%MatrixMarket matrix coordinate real general\n100 100 100\n"
    source.write_text(header + "\n".join(lines) + "\n")
    arguments = ("compile", CONFIG, source, "-o", output, "--set", "data_rows=4")
    assert refusal(*arguments).startswith("gnarl: data_rows = 4: this DAG needs at least ")
    assert [path.name for path in tmp_path.iterdir()] == ["sum.mtx"]


def test_a_folder_that_cannot_be_written(graph: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert refusal("rtl", CONFIG, "-o", tmp_path / "file" / "below").startswith("gnarl")


@pytest.mark.parametrize(("number", "delay"), [(signal.SIGINT, 1.0), (signal.SIGTERM, 0.3)])
def test_an_interrupt_leaves_nothing_behind(
    tmp_path: Path, number: signal.Signals, delay: float
) -> None:
    source, output = tmp_path / "big.mtx", tmp_path / "big.npz"
    size = 60_000
    lines = [f"{row} {column} 1.5" for row in range(1, size + 1) for column in {1, row}]
    header = f"%%MatrixMarket matrix coordinate real general\n{size} {size} {len(lines)}\n"
    source.write_text(header + "\n".join(lines) + "\n")
    started = "from gnarl.sw.commands.main import main; print('started', flush=True); main()"
    room = ("--set", "instruction_words=1048576", "--set", "data_rows=65536")
    with Forked("compile", CONFIG, source, "-o", output, *room, code=started) as process:
        assert process.stdout.readline() == "started\n"
        time.sleep(delay)
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.splitlines()[-1] == "gnarl: interrupted"
    assert [path.name for path in tmp_path.iterdir()] == ["big.mtx"]


@pytest.mark.parametrize("cause", [KeyboardInterrupt(), ValueError()])
def test_an_interrupt_of_machine_code(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cause: BaseException
) -> None:
    def compile(*arguments: Any, **options: Any) -> None:
        inner = SystemError("_numba_unpickle returned a result with an exception set")
        inner.__cause__ = cause
        raise SystemError("CPUDispatcher returned a result with an exception set") from inner

    monkeypatch.setattr(Device, "compile", compile)
    result = gnarl("compile", CONFIG, graph, "-o", tmp_path / "x.npz")
    if isinstance(cause, KeyboardInterrupt):
        assert (result.exit_code, result.stderr) == (130, "gnarl: interrupted\n")
    else:
        assert result.exit_code == 3
        assert result.stderr.startswith("gnarl: internal error: SystemError: CPUDispatcher ")


def test_a_reader_that_stops_early_is_no_error(graph: Path, tmp_path: Path) -> None:
    program = tmp_path / "product.npz"
    gnarl("compile", CONFIG, graph, "-o", program)
    with Forked("disasm", program) as process:
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == ("", 0)

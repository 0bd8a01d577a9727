"""``gnarl`` on program files of nests, and on sizes that the command line gives."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sram_compute.target import TARGET
from tests.support.commands import gnarl, refusal
from tests.sw.runtime.sram_compute.nests.saved import saved

pytest.importorskip("egglog")

EXAMPLES = Path(__file__).parents[5] / "examples"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    saved((EXAMPLES / "vec_add.c").read_text(), tmp_path, "vec_add.c")
    for name, length in (("a", 40), ("b", 40), ("long", 70)):
        np.save(tmp_path / f"{name}.npy", np.arange(length, dtype=np.float32))
    return tmp_path


@pytest.mark.parametrize(
    "arguments, text",
    [
        (
            ["--tensor", "a=a.npy", "--tensor", "b=long.npy"],
            "b: is [70]: must be [n] = [40], with n = 40 (as a has it)",
        ),
        (
            ["--tensor", "a=a.npy", "--tensor", "b=b.npy", "--size", "n=64"],
            "a: is [40]: must be [n] = [64], with n = 64 (given)",
        ),
        (
            ["--tensor", "a=a.npy", "--tensor", "b=b.npy", "--size", "k=64"],
            "k: is no size of vec_add: must be one of n",
        ),
        (
            ["--tensor", "a=a.npy", "--tensor", "b=b.npy", "--tensor", "d=b.npy"],
            "d: is no parameter of vec_add: must be one of a, b, c",
        ),
        (["--tensor", "a=a.npy"], "b: missing: must be given"),
        (
            ["--tile", "16x16"],
            "--tile: program.npz is compiled already: must be left out",
        ),
    ],
)
def test_inputs_that_do_not_fit_a_file(
    files: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], text: str
):
    monkeypatch.chdir(files)
    run = ("run", "sram_b4", "program.npz", "--backend", "model", *arguments)
    assert refusal(files, *run) == f"gnarl: {text}"


@pytest.mark.parametrize("place, says", [("core", "on the core"), ("near", "near memory")])
def test_a_file_runs_in_another_place(files: Path, place: str, says: str):
    arrays = [f"--tensor={name}={files / name}.npy" for name in "ab"]
    run = ("run", "sram_b4", files / "program.npz", "--backend", "model", *arrays, "--json")
    found = gnarl(*run, "--place", place)
    assert found.exit_code == 0, found.stderr
    report = json.loads(found.stdout)
    assert report["bit_exact"] and [says in each for each in report["places"]] == [True]
    source = gnarl("run", "sram_b4", files / "vec_add.c", *run[3:], "--place", place)
    assert report["cycles"] == json.loads(source.stdout)["cycles"]


def test_commands_have_no_place(files: Path):
    (files / "end.sram").write_text("end\n")
    assert gnarl("compile", "sram_b4", files / "end.sram", "-o", files / "end.npz").exit_code == 0
    run = ("run", "sram_b4", files / "end.npz", "--backend", "model", "--place", "core")
    assert refusal(files, *run) == (
        "gnarl: --place core: only nests have a place: must be left out"
    )


@pytest.mark.parametrize("size", ["n", "n=", "=3", "n=0", "n=-4", "n=2.5", "n=many"])
def test_sizes_are_whole_numbers_from_1_on(files: Path, size: str):
    run = ("run", "sram_b4", files / "vec_add.c", "--backend", "model", "--size", size)
    assert refusal(files, *run) == (
        f"gnarl run: Invalid value for '--size': {size}: must be NAME=NUMBER, a whole number of at "
        "least 1. See gnarl run --help"
    )


def test_sizes_are_given_once_and_to_nests(files: Path):
    twice = ("--size", "n=3", "--size", "n=3")
    assert refusal(files, "run", "sram_b4", files / "vec_add.c", *twice) == (
        "gnarl run: Invalid value for '--size': n=3: n is given twice. See gnarl run --help"
    )
    by_hand = ("run", "sram_b2", EXAMPLES / "vec_add.sram", "--size", "n=3")
    assert refusal(files, *by_hand) == "gnarl: --size n: only nests have sizes: must be left out"
    program, hand = files / "hand.npz", EXAMPLES / "vec_add.sram"
    assert gnarl("compile", "sram_b2", hand, "-o", program).exit_code == 0
    tensors = ("--tensor", f"a={files / 'a.npy'}", "--tensor", f"b={files / 'b.npy'}")
    for command in (
        ("run", "sram_b2", program, *tensors),
        ("disasm", program, "--config", "sram_b2"),
    ):
        assert refusal(files, *command, "--size", "n=3") == (
            "gnarl: --size n: only nests have sizes: must be left out"
        )
    other = ("run", "tmu_l2", EXAMPLES / "vec_add.py", "--size", "n=3")
    assert refusal(files, *other) == "gnarl: --size n: not supported by target tmu"


def test_synthesised_arrays_have_the_sizes_that_are_given(files: Path):
    run = ("run", "sram_b4", files / "vec_add.c", "--backend", "model", "--size", "n=21", "--json")
    found = gnarl(*run)
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["outputs"]["c"]["shape"] == [21]


def test_listings_are_of_graphs_or_of_commands_for_sizes(files: Path):
    path = files / "program.npz"
    graphs = gnarl("disasm", path).stdout.splitlines()
    assert "def vec_add(a: float32[n], b: float32[n], c: float32[n]):" in graphs
    assert graphs[-1] == "    c[0, n) = %2"
    found = gnarl("disasm", path, "--config", "sram_b4_512", "--size", "n=40")
    program = Program.load(path, lambda target: TARGET.compiler.schema)
    a = np.zeros(40, np.float32)
    with Device("sram_b4_512", "model") as device:
        lowered = device.run(program, {"a": a, "b": a}).program
    assert found.stdout.splitlines() == list(TARGET.presenter.listing(lowered))
    tensors = ("--tensor", f"a={files / 'a.npy'}")
    assert gnarl("disasm", path, "--config", "sram_b4_512", *tensors).stdout == found.stdout
    assert refusal(files, "disasm", path, "--size", "n=40") == (
        "gnarl disasm: --size needs --config CONFIG. See gnarl disasm --help"
    )

"""The target of docs/development.md, in a folder of its own, as its readers would write it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import GNARL, gnarl, refusal
from tests.support.targets.installed import importable, install

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs" / "development.md"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an installer leaves of the package."""
    text = PAGE.read_text(encoding="utf-8")
    (source,) = re.findall(r'```python\n("""Doubles numbers.*?)```', text, re.DOTALL)
    (section,) = re.findall(r"```toml\n\[project\.entry-points.*?\]\n(.*?)```", text, re.DOTALL)
    assert section == 'doubler = "doubler:TARGET"\n'
    folder = tmp_path_factory.mktemp("site")
    (folder / "doubler.py").write_text(source)
    (folder / "configurations").mkdir()
    (folder / "configurations" / "doubler.toml").write_text('# As it comes.\ntarget = "doubler"\n')
    install(folder, "doubler", {"doubler": "doubler:TARGET"})
    return folder


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    path = tmp_path / "numbers.txt"
    path.write_text("1\n2.5\n-3\n4\n5\n")
    return path


def test_it_has_the_commands(site: Path, numbers: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.npz"
    with importable(site):
        assert re.search(r"^ *doubler +doubler +As it comes", gnarl("configs").stdout, re.M)
        assert re.search(r"^ *deal +a number to each", gnarl("passes", "doubler").stdout, re.M)
        for command in ("compile", "run"):
            shown = " ".join(gnarl(command, "--help").stdout.split())
            assert " For doubler, a file of numbers. Example: " in shown
            assert " Refuse more numbers (doubler)." in shown
        dump = tmp_path / "dump"
        compiled = gnarl("compile", "doubler", numbers, "-o", program, "--dump", dump)
        assert (compiled.exit_code, compiled.stderr) == (0, "")
        assert (dump / "01_deal.txt").read_text() == "5 numbers, 4 lanes\n"
        for arguments in ([numbers, "--set", "lanes=4"], [program, "--values", numbers]):
            ran = gnarl("run", "doubler", *arguments, "--json")
            assert (ran.exit_code, ran.stderr) == (0, "")
            report = json.loads(ran.stdout)
            assert (report["cycles"], report["bit_exact"]) == (2, True)
            assert report["counters"] == {"numbers": 5}
            assert report["outputs"]["y"]["values"]["y[2]"] == -6


def test_what_it_lacks_is_refused(site: Path, numbers: Path, tmp_path: Path) -> None:
    with importable(site):
        for arguments, line in (
            (("--most", "4"), "gnarl: numbers: has 5 numbers: must be at most 4"),
            (("--tensor", "x=x"), "gnarl: --tensor x: not supported by target doubler"),
            (("--size", "n=1"), "gnarl: --size n: not supported by target doubler"),
            (("--set", "lanes=0"), "gnarl: --set: lanes = 0: must be a whole number from 1 to 64"),
        ):
            assert refusal(tmp_path, "run", "doubler", numbers, *arguments) == line
        for option, value in (("--max-cycles", "9"), ("--timeline", tmp_path / "x.png")):
            assert refusal(tmp_path, "run", "doubler", numbers, option, value) == (
                f"gnarl run: {option}: not supported by target doubler. See gnarl run --help"
            )
        assert refusal(tmp_path, "lint", "doubler") == (
            "gnarl lint: doubler: target doubler has no Verilog. See gnarl lint --help"
        )


def test_a_process_of_its_own_has_it(site: Path, numbers: Path, tmp_path: Path) -> None:
    for arguments, text in (
        (("run", "--help"), "For doubler, a file of numbers."),
        (("run", "doubler", "numbers.txt"), "numbers on doubler"),
    ):
        done = subprocess.run(
            [GNARL, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": f"{site}:{ROOT}"},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert text in done.stdout

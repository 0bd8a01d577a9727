"""The table of targets: what it promises of each, and that another package can add one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sw.cli import main
from sw.runtime.device import Device
from sw.targets import TARGETS, Frontend, Runtime
from tests.support import adder_target

HOST_PORT = ("build", "memory_map", "model")
"""Parts of targets behind the host port."""


@pytest.mark.parametrize("name", TARGETS)
def test_every_part_of_a_target_is_there(name: str) -> None:
    target = TARGETS[name]
    assert target.name == name == target.part("configuration").target
    for part in ("compile", "run", *(HOST_PORT if target.build else ())):
        assert callable(target.part(part))
    for function in functions(Runtime if target.build else Frontend):
        assert callable(getattr(target.part("runtime"), function))


def functions(protocol: type) -> list[str]:
    return [
        name
        for kind in protocol.__mro__
        for name in vars(kind)
        if name.islower() and name[0] != "_"
    ]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A configuration of a target from outside, and a workload for it."""
    monkeypatch.setitem(TARGETS, "adder", adder_target.TARGET)
    config, table = tmp_path / "mine.toml", tmp_path / "table.txt"
    config.write_text('# Mine.\ntarget = "adder"\n')
    table.write_text(" ".join(map(str, range(adder_target.COUNT))))
    return config, table


@pytest.mark.parametrize("backend", ["rtl", "model"])
def test_a_target_from_outside_runs(files: tuple[Path, Path], backend: str) -> None:
    config, table = files
    with Device(config, backend) as device:
        program = device.compile(table)
        inputs = device.workload(table).inputs
        for values in (inputs, -inputs):
            result = device.run(program, values)
            assert result.outputs.tolist() == (values + 1).tolist()
            assert result.cycles == 48
            assert device.verify(program, values, result).bit_exact
    assert result.counters["rows"] == 24


def test_a_target_from_outside_has_the_commands(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, table = files
    program = tmp_path / "table.npz"

    def gnarl(*arguments: str | Path) -> str:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        found = capsys.readouterr()
        assert (ended.value.code or 0, found.err) == (0, "")
        return found.out

    gnarl("compile", config, table, "-o", program)
    assert gnarl("disasm", program) == "add 1 to all\n"
    report = json.loads(gnarl("run", config, program, "--values", table, "--json"))
    assert report["target"] == "adder"
    assert report["bit_exact"]
    assert np.allclose(report["ops_per_cycle"], 72 / 48)
    text = gnarl("rtl", config, "-o", tmp_path / "out")
    assert text == f"{tmp_path}/out/mine.v\n{tmp_path}/out/mine.json\n"
    assert gnarl("lint", config) == ""

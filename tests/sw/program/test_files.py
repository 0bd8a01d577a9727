"""Files that appear whole or not at all, and Verilog that is generated once."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnarl.hw.lib.errors import ConfigError
from gnarl.sw.program.atomic import atomic_path, write_text
from gnarl.sw.runtime.target import verilog as module
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.runtime.target.verilog import generate, verilog


def test_a_file_is_replaced_when_its_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    write_text(path, "old")
    with atomic_path(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.suffix == ".txt"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_block_that_raises_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    write_text(path, "old")
    with pytest.raises(KeyboardInterrupt), atomic_path(path) as temporary:
        temporary.write_text("ne")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_verilog_is_generated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNARL_CACHE", str(tmp_path))
    calls = []
    monkeypatch.setattr(module, "generate", lambda found: calls.append(found) or "module\n")
    small, other = load_configuration("dpu_d1_b8"), load_configuration("dpu_d1_b8", ["registers=8"])
    assert [verilog(found) for found in (small, small, other, small)] == ["module\n"] * 4
    assert calls == [small, other]


def test_verilog_is_the_same_each_time_and_named_after_the_configuration() -> None:
    configuration = load_configuration("dpu_d1_b8")
    text = generate(configuration)
    assert text == generate(configuration)
    assert text.count("\nmodule dpu_d1_b8(") == 1
    assert "src" not in text


def test_a_name_that_verilog_does_not_allow_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "my-dpu.toml"
    path.write_text('target = "dpu"\n')
    with pytest.raises(
        ConfigError,
        match=r"^my-dpu: cannot be the name of a Verilog module: must be letters, digits and _, "
        "a letter first$",
    ):
        verilog(load_configuration(path))

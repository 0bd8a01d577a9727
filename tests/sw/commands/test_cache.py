"""``gnarl cache`` lists what is kept, and prunes it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from gnarl.sw.commands.main import main
from gnarl.sw.program.cache import cached, digest_of

KEPT = {"simulator": 3000, "verilog": 2000}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GNARL_CACHE", str(tmp_path))
    for kind, size in KEPT.items():
        (path,) = cached(
            kind,
            digest_of(kind),
            lambda folder, size=size: (folder / "kept").write_bytes(bytes(size)),  # type: ignore[misc]
            keep=("kept",),
        )
        used = time.time() - size
        for each in path.parent.iterdir():
            os.utime(each, (used, used))
    return tmp_path


def call(*arguments: str, status: int = 0) -> str:
    done = CliRunner().invoke(main, ["cache", *arguments])
    assert done.exit_code == status
    return done.output


def test_the_largest_kind_is_listed_first(cache: Path) -> None:
    lines = call().splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["kind", "simulator", "verilog"]
    assert lines[-1] == f"{cache}: 0.0 MB; is kept to 2,000.0 MB."


def test_json_has_bytes(cache: Path) -> None:
    found = json.loads(call("--json"))
    assert found["folder"] == str(cache)
    assert found["max_bytes"] == 2_000_000_000
    assert found["bytes"] == sum(each["bytes"] for each in found["kinds"])
    sizes = {each["kind"]: each["bytes"] for each in found["kinds"] if each["bytes"]}
    assert all(KEPT[kind] < size < KEPT[kind] + 100 for kind, size in sizes.items())
    assert found["removed"] is None


def test_pruning_removes_what_was_not_used_for_longest(cache: Path) -> None:
    found = json.loads(call("--prune", "--max-bytes", "2500", "--json"))
    assert [each["kind"] for each in found["kinds"]] == ["verilog"]
    assert 3000 < found["removed"]["bytes"] < 3100
    assert "Removed: 0.0 MB, entries: 1." in call("--prune", "--max-bytes", "0")


def test_the_environment_says_how_much_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNARL_CACHE_MAX_BYTES", "0")
    assert json.loads(call("--prune", "--json"))["kinds"] == []


def test_a_size_alone_is_refused() -> None:
    assert "--max-bytes needs --prune." in call("--max-bytes", "1", status=2)


def test_a_wrong_size_in_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNARL_CACHE_MAX_BYTES", "2GB")
    assert "GNARL_CACHE_MAX_BYTES = '2GB': must be a number of bytes" in call(status=2)

"""Stages on a console, and their times."""

from __future__ import annotations

import io
import json
import re
import time
from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner
from rich.console import Console

from gnarl.sw.commands import progress
from gnarl.sw.commands.held_lines import held_lines
from gnarl.sw.commands.main import main
from gnarl.sw.commands.progress import ConsoleStages
from gnarl.sw.runtime.report.stages import TimedStages, quiet


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE_S", 0.05)


def shown(terminal: bool, seconds: float) -> str:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=80)
    with ConsoleStages(console)("compile") as advance:
        advance(0.5)
        time.sleep(seconds)
    return text.getvalue()


def stages_of(text: str) -> list[str]:
    """The stages whose lines ``text`` is, each with a time of its own."""
    found = [re.fullmatch(r"(\w+): \d+\.\d s", line) for line in text.splitlines()]
    assert all(found), text
    return [each[1] for each in found if each]


def test_what_is_quick_shows_nothing() -> None:
    assert shown(terminal=True, seconds=0) == ""
    assert shown(terminal=False, seconds=0) == ""


def test_what_takes_long_shows_a_bar_on_a_terminal() -> None:
    text = shown(terminal=True, seconds=0.4)
    assert "compile" in text
    assert "━" in text
    assert " left" in text


def test_a_stage_that_cannot_tell_shows_no_time_left() -> None:
    text = io.StringIO()
    with ConsoleStages(Console(file=text, force_terminal=True, width=80))("compile"):
        time.sleep(0.4)
    assert "compile" in text.getvalue()
    assert "left" not in text.getvalue()


def test_without_a_terminal_there_is_one_line_at_the_end() -> None:
    assert stages_of(shown(terminal=False, seconds=0.1)) == ["compile"]


def test_lines_wait_and_are_dropped_if_nobody_asks_for_them() -> None:
    text = io.StringIO()
    stages = ConsoleStages(Console(file=text))
    with held_lines() as print_held:
        with stages("compile"):
            time.sleep(0.1)
        assert text.getvalue() == ""
        print_held()
        assert stages_of(text.getvalue()) == ["compile"]
        with stages("simulate"):
            time.sleep(0.1)
    assert stages_of(text.getvalue()) == ["compile"]
    with stages("verify"):
        time.sleep(0.1)
    assert stages_of(text.getvalue()) == ["compile", "verify"]


def test_lines_on_a_terminal_do_not_wait() -> None:
    with held_lines():
        text = shown(terminal=True, seconds=0.1)
    assert text.rpartition("\x1b[2K")[2].count("compile: ") == 1


@pytest.mark.parametrize("ends_well", [True, False])
def test_a_refusal_after_a_long_stage_is_one_line(tmp_path: Path, ends_well: bool) -> None:
    path = tmp_path / "sum.json"
    nodes = [{"id": name, "op": "input", "value": 1} for name in "ab"]
    total = {"id": "s", "op": "add"}
    edges = [{"source": name, "target": "s"} for name in "ab"]
    path.write_text(json.dumps({"nodes": [*nodes, total], "edges": edges, "directed": True}))
    limit = () if ends_well else ("--max-cycles", "1")
    with mock.patch.object(progress, "PATIENCE_S", 0):
        done = CliRunner().invoke(
            main, ["run", "dpu_d1_b8", str(path), "--backend", "model", *limit]
        )
    lines = done.stderr.splitlines()
    if ends_well:
        assert done.exit_code == 0
        assert "compile: 0." in done.stderr
    else:
        assert done.exit_code == 2
        assert len(lines) == 1
        assert lines[0].endswith("did not end within 1 cycles: --max-cycles N allows more")


def test_a_stage_that_fails_ends_its_bar() -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True)
    with pytest.raises(ValueError), ConsoleStages(console)("compile"):
        time.sleep(0.2)
        raise ValueError
    assert text.getvalue().rstrip("\r\n ").endswith("\x1b[2K")  # the line is cleared


def test_times_of_a_stage_add_up() -> None:
    stages = TimedStages(quiet)
    for _ in range(2):
        with stages("load"):
            time.sleep(0.02)
    with pytest.raises(ValueError), stages("compile"):
        raise ValueError
    assert list(stages.seconds) == ["load", "compile"]
    assert 0.04 <= stages.seconds["load"] < 1


def test_a_stage_inside_another_shows_its_name_on_that_ones_bar() -> None:
    text = io.StringIO()
    stages = ConsoleStages(Console(file=text, force_terminal=True, width=80))
    with stages("simulate"):
        with stages("build kernel") as advance:
            advance(0.5)
            time.sleep(0.4)
        built = text.getvalue()
        assert "build kernel" in built
        assert "simulate" not in built
        time.sleep(0.2)
    assert "simulate" in text.getvalue().removeprefix(built)


def test_what_is_inside_a_stage_counts_once() -> None:
    stages = TimedStages(quiet)
    with stages("simulate"):
        time.sleep(0.02)
        with stages("build kernel"):
            time.sleep(0.2)
        with stages("build kernel"):
            time.sleep(0.2)
    with stages("verify"):
        pass
    assert stages.seconds["build kernel"] >= 0.4
    assert 0.02 <= stages.seconds["simulate"] < 0.2
    assert stages.seconds["verify"] < 0.1


def test_a_stage_whose_line_nobody_reads() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            if text:
                raise BrokenPipeError
            return 0

    with ConsoleStages(Console(file=Closed()))("compile"):
        time.sleep(0.1)

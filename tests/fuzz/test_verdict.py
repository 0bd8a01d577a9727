"""What a case must not do: the fuzzing is worth what its verdict notices."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import pytest

from tests.fuzz.cases import Case
from tests.fuzz.formats import Format
from tests.fuzz.verdict import failure

COMMAND = ("run", "dpu", "a.psdd", "--json", "-o", "mine.npz")
FORMAT = Format("psdd", "text", ("a.psdd",), (COMMAND,))
CASE = Case(0, 0, FORMAT, COMMAND, "nothing", "utf-8")
BEFORE = {"a.psdd": b"psdd", "small": None, "small/data": b"1"}
LINE = "gnarl: a.psdd:1: must be better\n"


def verdict(
    status: int, stdout: str = "", stderr: str = "", case: Case = CASE, **after: Any
) -> str:
    changed = {name.replace("_", "."): content for name, content in after.items()}
    return failure(case, status, stdout, stderr, BEFORE, {**BEFORE, **changed})


def written(option: str) -> Case:
    return replace(CASE, command=("run", "dpu", "b.psdd", "--json", option))


def test_right_ends() -> None:
    assert verdict(2, "", LINE) == ""
    assert verdict(0, '{"cycles": 1}\n') == ""
    assert verdict(0, "{}", mine_npz=b"1") == ""
    assert verdict(0, "{}", mine_png=b"1", case=written("--timeline=mine.png")) == ""
    assert verdict(0, "{}", a_psdd=b"1", case=written("--output=a.psdd")) == ""
    assert verdict(0, "{}", a_psdd=b"1", case=written("--waves=a.psdd")) == "'a.psdd' was changed"
    assert verdict(1, "{}", case=replace(CASE, format=replace(FORMAT, computes=True))) == ""


@pytest.mark.parametrize(
    ("status", "stdout", "stderr", "text"),
    [
        (-signal.SIGSEGV, "", "", "ended by SIGSEGV"),
        (-signal.SIGXCPU, "", LINE, "ended by SIGXCPU"),
        (1, "", "Traceback (most recent call last):\n", "Traceback on stderr"),
        (0, "{}", "RuntimeWarning: overflow\n", "Warning: on stderr"),
        (3, "", "gnarl: internal error\n", "exit status 3"),
        (130, "", "gnarl: interrupted\n", "exit status 130"),
        (1, "{}", "", "results differ from the golden model's"),
        (0, "{} {}", "", "stdout with --json: Extra data: line 1 column 4 (char 3)"),
        (0, '{"error": NaN}', "", "stdout with --json: NaN is no JSON"),
        (2, "{}", LINE, "refused, but something is on stdout"),
        (2, "", "", "0 lines on stderr: must be one"),
        (2, "", LINE * 2, "2 lines on stderr: must be one"),
        (2, "", f"gnarl: {'a' * 3000}\n", "3008 characters on stderr: must be at most 2500"),
        (2, "", "a.psdd: bad\n", "the line on stderr does not begin with the command"),
        (2, "", "gnarl: \x1b[31m\n", "unprintable characters on stderr"),
        (2, "", "gnarl: a.psdd: MemoryError\n", "out of memory"),
    ],
)
def test_wrong_ends(status: int, stdout: str, stderr: str, text: str) -> None:
    assert verdict(status, stdout, stderr) == text


def test_files_that_are_left_or_changed() -> None:
    assert verdict(2, "", LINE, mine_npz=b"half") == "'mine.npz' was left"
    assert verdict(2, "", LINE, out_npz=b"half") == "'out.npz' was left"
    assert verdict(0, "{}", other_npz=b"") == "'other.npz' was left"
    for status, stdout, stderr in ((2, "", LINE), (0, "{}", "")):
        assert verdict(status, stdout, stderr, a_psdd=b"new") == "'a.psdd' was changed"
    journal = {"out.json.journal": b"cut o"}
    assert failure(CASE, 2, "", LINE, {**BEFORE, **journal}, BEFORE) == ""
    assert failure(CASE, 0, "{}", "", BEFORE, {"small": None}) == "'a.psdd' was removed"

"""What a journal keeps, and what it refuses."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.sw.compiler.cuda.tune.distribute import Outcome
from gnarl.sw.compiler.cuda.tune.journal import Journal, journal_path
from tests.support.errors import refused

TUNING = {"model": "abc", "strategy": "two-stage"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "schedules.json.journal"


def write(path, *outcomes):
    with Journal(path, TUNING) as journal:
        for key, outcome in outcomes:
            journal.add(key, outcome)


def read(path):
    with Journal(path, TUNING) as journal:
        return journal.outcomes


def test_it_is_beside_the_output(tmp_path):
    assert journal_path(tmp_path / "a.json") == tmp_path / "a.json.journal"


def test_a_new_journal_knows_nothing(path):
    assert read(path) == {}


def test_outcomes_come_back(path):
    write(path, ("one", Outcome((1.5, 2.0))), ("two", Outcome((), "it hangs")))
    write(path, ("three", Outcome((0.1,))))
    assert read(path) == {
        "one": Outcome((1.5, 2.0)),
        "two": Outcome((), "it hangs"),
        "three": Outcome((0.1,)),
    }


@given(st.lists(st.floats(0, allow_infinity=False), min_size=1))
def test_times_come_back_exactly(tmp_path_factory, times):
    path = tmp_path_factory.mktemp("journal") / "a.journal"
    write(path, ("job", Outcome(tuple(times))))
    assert read(path)["job"].times == tuple(times)


def test_an_outcome_is_on_disk_before_the_next(path):
    with Journal(path, TUNING) as journal:
        journal.add("one", Outcome((1.5,)))
        assert json.loads(path.read_text().splitlines()[-1]) == {"job": "one", "times": [1.5]}


def test_a_write_that_was_cut_off_anywhere_is_forgotten(path):
    write(path, ("one", Outcome((1.5,))), ("two", Outcome((2.5,))))
    text = path.read_bytes()
    header = text.index(b"\n") + 1
    first = text.index(b"\n", header) + 1
    for size in range(len(text)):
        path.write_bytes(text[:size])
        known = ["one"] if size >= first else []
        assert list(read(path)) == known
        write(path, ("three", Outcome((3.5,))))
        assert list(read(path)) == [*known, "three"]


def test_a_damaged_last_line_is_forgotten(path):
    write(path, ("one", Outcome((1.5,))))
    with open(path, "ab") as file:
        file.write(b"\0\0\0\0\n")
    assert list(read(path)) == ["one"]
    write(path, ("two", Outcome((2.5,))))
    assert list(read(path)) == ["one", "two"]


def test_an_earlier_line_that_is_damaged_is_named(path):
    write(path, ("one", Outcome((1.5,))), ("two", Outcome((2.5,))))
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[1][:9] + "\n" + lines[2])
    with refused(f"{path}: line 2: is damaged: delete the file to start again"):
        read(path)


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"job": 3, "times": [1.0]},
        {"job": "one"},
        {"job": "one", "times": []},
        {"job": "one", "times": 1.0},
        {"job": "one", "times": [True]},
        {"job": "one", "times": ["1"]},
        {"job": "one", "times": [-1.0]},
        {"job": "one", "times": [float("nan")]},
        {"job": "one", "times": [10**400]},
        {"job": "one", "failure": ""},
        {"job": "one", "failure": 3},
    ],
)
def test_a_record_of_another_form_is_named(path, record):
    write(path)
    with open(path, "a") as file:
        file.write(json.dumps(record) + "\n")
    with refused(f"{path}: line 2: is damaged: delete the file to start again"):
        read(path)


def test_a_record_with_a_key_twice_is_damaged(path):
    write(path, ("one", Outcome((1.5,))))
    text = path.read_text()
    path.write_text(text.replace('"times"', '"times": [2.0], "times"') * 2)
    with refused(f"{path}: line 2: is damaged: delete the file to start again"):
        read(path)


def test_the_journal_of_another_tuning_is_refused_and_kept(path):
    write(path, ("one", Outcome((1.5,))))
    text = path.read_bytes()
    with (
        refused(
            f"{path}: line 1: model = abc: must be def: delete the file to start again, "
            "or tune to another"
        ),
        Journal(path, {"model": "def", "strategy": "two-stage"}),
    ):
        pass
    assert path.read_bytes() == text


def test_the_journal_of_another_version_is_refused(path):
    path.write_text('{"journal": 0, "model": "abc", "strategy": "two-stage"}\n{}\n')
    with refused(
        f"{path}: line 1: journal = 0: must be 1: delete the file to start again, "
        "or tune to another"
    ):
        read(path)


@pytest.mark.parametrize("text", ["rows,dim", "rows,dim\n", '{"version": 1}\n', "\0"])
def test_a_file_that_is_no_journal_is_refused_and_kept(path, text):
    path.write_text(text)
    with refused(f"{path}: line 1: must be a tuner's journal"):
        read(path)
    assert path.read_text() == text


def test_two_processes_at_one_journal(path):
    with Journal(path, TUNING) as journal:
        with refused(f"{path}: another process is tuning to this file"):
            read(path)
        with refused(f"{path}: another process is tuning to this file"):
            read(path)
        journal.add("one", Outcome((1.5,)))
    assert list(read(path)) == ["one"]


def test_nothing_but_the_journal_stays(path):
    write(path, ("one", Outcome((1.5,))))
    with pytest.raises(KeyboardInterrupt), Journal(path, TUNING):
        raise KeyboardInterrupt
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_that_is_missing_is_not_made(path):
    with pytest.raises(FileNotFoundError):
        read(path.parent / "missing" / path.name)
    assert list(path.parent.iterdir()) == []

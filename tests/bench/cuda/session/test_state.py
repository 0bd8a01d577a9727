"""What a session saves, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.cuda_parts.protocol import PROTOCOL
from bench.cuda_parts.session.outcome import (
    DONE,
    FAILED,
    NOT_POSSIBLE,
    UNFINISHED,
    WRONG,
    Outcome,
)
from bench.cuda_parts.session.state import MOST_BYTES, State, StateError

KEY = {"gpu": "G", "kernel": "k", "schedules": "s", "protocol": "1"}


def test_a_state_begins_in_an_empty_folder(tmp_path: Path):
    state = State.open(tmp_path / "a" / "b")
    assert json.loads((state.folder / "session.json").read_text()) == {
        "protocol": PROTOCOL,
        "steps": {},
    }
    assert State.open(state.folder) == state


@pytest.mark.parametrize("status", [DONE, WRONG])
def test_what_is_measured_is_not_done_again(tmp_path: Path, status: str):
    """Of the same kernel, whatever the commit."""
    State.open(tmp_path).note("kernels: D", Outcome(status), KEY, 1.23)
    state = State.open(tmp_path)
    assert state.is_done("kernels: D", KEY)
    assert not state.is_done("kernels: D", KEY | {"kernel": "other"})
    assert not state.is_done("kernels: E", KEY)
    assert state.entries["kernels: D"].seconds == 1.2


@pytest.mark.parametrize("status", [NOT_POSSIBLE, UNFINISHED, FAILED])
def test_all_else_is_tried_again(tmp_path: Path, status: str):
    state = State.open(tmp_path)
    state.note("kernels: D", Outcome(status, "why"), KEY, 1.0)
    assert not State.open(tmp_path).is_done("kernels: D", KEY)


def test_what_makes_no_headway_has_failed(tmp_path: Path):
    state = State.open(tmp_path)
    failures = []
    for status in (NOT_POSSIBLE, UNFINISHED, UNFINISHED, FAILED, NOT_POSSIBLE, DONE):
        state.note("a", Outcome(status), KEY, 1.0)
        failures.append(State.open(tmp_path).failures("a"))
    assert failures == [0, 0, 1, 2, 2, 0]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not a session's state: JSONDecodeError"),
        ("[]", "not a session's state: TypeError"),
        ("{}", "not a session's state: KeyError"),
        (f'{{"protocol": {PROTOCOL}, "steps": {{"a": {{}}}}}}', "not a session's state: TypeError"),
        (f'{{"protocol": {PROTOCOL}, "steps": []}}', "not a session's state: AttributeError"),
        ('{"protocol": 7, "steps": {}}', f"protocol 7: must be {PROTOCOL}; nothing was changed"),
    ],
)
def test_what_is_no_state_is_refused(tmp_path: Path, text: str, complaint: str):
    (tmp_path / "session.json").write_text(text)
    with pytest.raises(StateError) as caught:
        State.open(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}/session.json: {complaint}")
    assert "\n" not in str(caught.value)
    assert (tmp_path / "session.json").read_text() == text


def test_a_folder_of_other_things_is_refused(tmp_path: Path):
    (tmp_path / "cuda_kernels.json").write_text("{}")
    with pytest.raises(StateError) as caught:
        State.open(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: must be a session's state, or empty: has cuda_kernels.json and no "
        "session.json"
    )


def test_a_state_that_is_too_large_is_refused(tmp_path: Path):
    State.open(tmp_path)
    (tmp_path / "a").write_bytes(bytes(MOST_BYTES))
    with pytest.raises(StateError) as caught:
        State.open(tmp_path)
    assert str(caught.value) == f"{tmp_path}: 16.0 MiB: must be at most 16.0 MiB"


def test_journals_of_tuning_make_room(tmp_path: Path):
    state = State.open(tmp_path)
    assert state.make_room() == ""
    state.schedules.mkdir()
    (state.schedules / "A.json").write_text("{}")
    (state.schedules / "A.json.journal").write_bytes(bytes(MOST_BYTES))
    assert state.make_room() == "16.0 MiB are too many: removed 1 journals of tuning"
    assert [each.name for each in state.schedules.iterdir()] == ["A.json"]
    (tmp_path / "a").write_bytes(bytes(MOST_BYTES + (1 << 20)))
    with pytest.raises(StateError) as caught:
        state.make_room()
    assert str(caught.value) == f"{tmp_path}: 17.0 MiB: must be at most 16.0 MiB"

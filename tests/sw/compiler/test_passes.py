"""Passes run in order, are timed, left out, repeated, reported, checked and stopped after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.errors import GnarlError, WorkloadError
from gnarl.sw.compiler.passes import (
    AnyPass,
    Pass,
    PassError,
    PassResult,
    Search,
    StoppedError,
    Trace,
    made,
    named,
    results,
    run_passes,
    states,
    taken_by,
    without,
)

State = tuple[str, ...]
"""Names of passes that have run."""


class Options(NamedTuple):
    """``odd``: whether passes run that need it; ``wrong``: the pass whose result is refused."""

    odd: bool = True
    wrong: str = ""


def dump(state: State, options: Options) -> dict[str, str]:
    return {"txt": " ".join(state)}


def simple(name: str, *, optional: bool = False) -> Pass[State, Options]:
    def check(state: State, options: Options) -> None:
        if options.wrong == name:
            raise GnarlError("it is wrong")

    return Pass(
        name,
        f"appends {name}",
        dump,
        run=lambda state, options: (*state, name),
        check=check,
        optional=optional,
    )


def twice(state: State, options: Options, trace: Trace) -> Iterator[State]:
    """Tries both passes, and takes the second try."""
    for name in ("second", "third"):
        for _ in range(2):
            with trace.timed(name):
                pass
        state = (*state, name)
        yield state


DEFAULT = Options()
FIRST, LAST = simple("first", optional=True), simple("last", optional=True)
ODD = replace(simple("odd"), is_needed=lambda state, options: options.odd)
QUIET = replace(simple("quiet"), is_reported=lambda state, options: False)
SEARCH: Search[State, Options] = Search(
    (PassResult("second", "appends second", dump), PassResult("third", "appends third", dump)),
    run=twice,
)
PASSES: tuple[AnyPass[State, Options], ...] = (FIRST, SEARCH, ODD, QUIET, LAST)

ALL = ("first", "second", "third", "odd", "quiet", "last")


def traced(options: Options = DEFAULT, **arguments: object) -> tuple[State, Trace, list[str]]:
    """The last state, the trace and the dumps of all passes."""
    dumps: list[str] = []

    def write(name: str, texts: Mapping[str, str]) -> None:
        dumps.append(f"{name}: {texts['txt']}")

    trace = Trace(write=write, **arguments)  # type: ignore[arg-type]
    return run_passes(PASSES, (), options, trace), trace, dumps


def test_passes_run_in_order_and_are_reported_with_what_they_left() -> None:
    state, _, dumps = traced()
    assert state == ALL
    assert dumps == [
        "first: first",
        "second: first second",
        "third: first second third",
        "odd: first second third odd",
        "last: first second third odd quiet last",
    ]


def test_what_is_not_needed_does_not_run() -> None:
    state, trace, dumps = traced(Options(odd=False))
    assert state == ("first", "second", "third", "quiet", "last")
    assert "odd" not in trace.times
    assert len(dumps) == 4


def test_only_the_chosen_are_dumped() -> None:
    _, _, dumps = traced(only=("last",))
    assert [each.partition(":")[0] for each in dumps] == ["last"]


def test_nothing_is_dumped_or_checked_where_nobody_looks() -> None:
    assert run_passes(PASSES, (), Options(wrong="first"), Trace()) == ALL


def test_a_result_that_is_refused_names_the_pass_and_nothing_behind_it_runs() -> None:
    trace = Trace(write=lambda name, texts: None)
    with pytest.raises(PassError) as caught:
        run_passes(PASSES, (), Options(wrong="odd"), trace)
    assert str(caught.value) == "pass odd: it is wrong"
    assert list(trace.times) == ["first", "second", "third", "odd"]


@pytest.mark.parametrize("name", [name for name in ALL if name != "quiet"])
def test_it_stops_after_each_pass(name: str) -> None:
    """A search, too, goes on only when its first result has been reported."""
    trace = Trace(stop_after=name)
    with pytest.raises(StoppedError, match=f"^{name}$"):
        run_passes(PASSES, (), DEFAULT, trace)
    assert list(trace.times) == list(ALL[: ALL.index(name) + 1])


def test_each_run_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gnarl.sw.compiler.passes.perf_counter", count().__next__)
    _, trace, _ = traced()
    assert {name: time.runs for name, time in trace.times.items()} == {
        "first": 1,
        "second": 2,
        "third": 2,
        "odd": 1,
        "quiet": 1,
        "last": 1,
    }
    assert all(time.seconds == time.runs for time in trace.times.values())


def test_a_run_that_fails_is_timed() -> None:
    def fail(state: State, options: Options) -> State:
        raise WorkloadError("no")

    trace = Trace()
    with pytest.raises(WorkloadError):
        run_passes((replace(FIRST, run=fail),), (), DEFAULT, trace)
    assert trace.times["first"].runs == 1


def test_what_no_pass_has_made_names_who_takes_it() -> None:
    taking = replace(ODD, run=lambda state, options: made(None))
    text = "no pass before makes what it takes"
    with pytest.raises(WorkloadError, match=f"^pass odd: {text}$"):
        run_passes((FIRST, taking), (), DEFAULT, Trace())
    with pytest.raises(WorkloadError, match=f"^program: {text}$"), taken_by("program"):
        made(None)


def test_runs_in_several_threads_are_all_counted() -> None:
    trace = Trace()

    def run(number: int) -> None:
        with trace.timed(f"pass{number % 3}"):
            pass

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(run, range(3000)))
    assert {each.runs for each in trace.times.values()} == {1000}


def test_each_pass_is_listed() -> None:
    listed = [(each.name, each.does) for each in results(PASSES)]
    assert listed == [(name, f"appends {name}") for name in ALL]


@given(st.lists(st.sampled_from(["first", "odd", "quiet", "last"])))
def test_passes_run_by_name_and_again(names: list[str]) -> None:
    trace = Trace()
    chosen = named(PASSES, names)
    assert run_passes(chosen, (), DEFAULT, trace) == tuple(names)
    assert {name: each.runs for name, each in trace.times.items()} == {
        name: names.count(name) for name in names
    }
    assert [state for _, state in states(chosen, (), DEFAULT, Trace())] == [
        tuple(names[:end]) for end in range(1, len(names) + 1)
    ]


@given(st.sets(st.sampled_from(["first", "last"])))
def test_optional_passes_may_be_left_out(names: set[str]) -> None:
    kept = without(PASSES, names)
    assert run_passes(kept, (), DEFAULT, Trace()) == tuple(n for n in ALL if n not in names)


def test_unknown_names_are_refused() -> None:
    for name in ("frob", "second"):
        with pytest.raises(WorkloadError) as caught:
            named(PASSES, ["first", name])
        assert str(caught.value) == f"pass {name}: must be one of first, odd, quiet, last"


def test_other_passes_must_not_be_left_out() -> None:
    for name in ("frob", "odd", "third"):
        with pytest.raises(WorkloadError) as caught:
            without(PASSES, ["first", name])
        assert str(caught.value) == (f"pass {name}: must not be left out: only first, last may be")
    with pytest.raises(WorkloadError) as caught:
        without((ODD,), ["odd"])
    assert str(caught.value) == "pass odd: must not be left out: no pass may be"

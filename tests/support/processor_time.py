"""A plugin of pytest: what tests take of the processor, the slowest by name, and a limit.

Time on the clock depends on what else a machine does, so that of the processor counts, with that of
children once they have ended. The limit is for a slow machine: a loop that is timed when a session
starts scales it. A machine that others use slows tests in more ways than it slows the loop, so that
what is over the limit is listed, and a test fails that takes ``FAILING`` times as much. What
fixtures take and what is built for the cache, numba's machine code included, does not count towards
the limit, since other tests find it there; it counts in the list of the slowest.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher

from gnarl.sw.program import cache
from tests.support import forked

PROPERTY = "processor_s"
"""What each test's report says it took, set-up and builds included."""

OVER = "over_the_limit"
"""What the report of a test over the limit says of it."""

LIMIT = "processor_limit_s"
"""Setting of pytest: the limit of a test that is not marked ``slow``, or 0 for none."""

LIMIT_S = 15.0
"""Of the slow machine."""

LOOP_S = 0.036
"""What ``_time_loop`` takes on the slow machine that the limit is for."""

FAILING = 2

LISTED = 20

_BEGAN = pytest.StashKey[float]()
_SCALED_LIMIT = pytest.StashKey[float]()


def processor_s() -> float:
    """Processor time of this process and of its children that have ended, in seconds, and of
    processes that a fork server started for it."""
    times = os.times()
    own = times.user + times.system + times.children_user + times.children_system
    return own + forked.used_s()


class Builds:
    """Counts what builds take, each of which other tests find done."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._depth = 0

    @property
    def seconds(self) -> float:
        """So far, in this process and in forked ones."""
        return self._seconds + forked.built_s()

    def begin(self, patch: pytest.MonkeyPatch) -> None:
        """Counts builds for the cache, machine code included, until ``patch`` is undone."""
        patch.setattr(cache, "build_entry", self.counted(cache.build_entry))
        patch.setattr(Dispatcher, "compile", self.counted(Dispatcher.compile))

    def counted(self, build: Callable[..., Any]) -> Callable[..., Any]:
        """``build`` as it is, with its processor time counted; once, where builds are nested."""

        @functools.wraps(build)
        def counting(*arguments: Any, **options: Any) -> Any:
            began = processor_s()
            self._depth += 1
            try:
                return build(*arguments, **options)
            finally:
                self._depth -= 1
                if not self._depth:
                    self._seconds += processor_s() - began

        return counting


BUILDS = pytest.StashKey[Builds]()
_PATCH = pytest.StashKey[pytest.MonkeyPatch]()


def _time_loop() -> float:
    began = time.process_time()
    total = 0
    for number in range(500_000):
        total += number
    return time.process_time() - began


def _scaled_limit(config: pytest.Config, choose: Callable[[list[float]], float]) -> float:
    """The limit in seconds of this machine, as ``choose`` sums up what the loop takes now."""
    loop_s = choose([_time_loop() for _ in range(5)])
    return float(config.getini(LIMIT)) * loop_s / LOOP_S


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(LIMIT, "Processor time of a test on a slow machine", default=str(LIMIT_S))


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_SCALED_LIMIT] = _scaled_limit(config, min)
    config.stash[BUILDS], config.stash[_PATCH] = Builds(), pytest.MonkeyPatch()
    config.stash[BUILDS].begin(config.stash[_PATCH])


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_PATCH].undo()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    item.stash[_BEGAN] = processor_s()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    builds, limit = item.config.stash[BUILDS], item.config.stash[_SCALED_LIMIT]
    began = processor_s() - builds.seconds
    yield
    used = processor_s() - builds.seconds - began
    if not limit or used <= limit or item.get_closest_marker("slow"):
        return
    # The machine may have become slower since the session began.
    limit = max(limit, _scaled_limit(item.config, max))
    if used <= limit:
        return
    problem = (
        f"takes {used:.1f} s of the processor, builds excluded: must be at most {limit:.1f} s "
        "on this machine, or be marked slow"
    )
    if used > FAILING * limit:
        pytest.fail(problem, pytrace=False)
    item.user_properties.append((OVER, problem))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    try:
        return (yield)
    finally:
        item.user_properties.append((PROPERTY, processor_s() - item.stash[_BEGAN]))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    said: dict[str, dict[str, Any]] = {PROPERTY: {}, OVER: {}}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name in said:
                    said[name][report.nodeid] = value
    if said[OVER]:
        terminalreporter.section("tests over the limit of processor time")
        for test, problem in said[OVER].items():
            terminalreporter.write_line(f"{test}: {problem}")
    spent = said[PROPERTY]
    if len(spent) < LISTED:
        return
    terminalreporter.section(f"slowest {LISTED} of {len(spent)} tests, by processor time")
    for test in sorted(spent, key=spent.__getitem__, reverse=True)[:LISTED]:
        terminalreporter.write_line(f"{spent[test]:7.1f} s  {test}")
    terminalreporter.write_line(f"{sum(spent.values()):7.0f} s  all tests")

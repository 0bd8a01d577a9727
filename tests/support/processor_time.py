"""A plugin of pytest: what tests take of the processor, the slowest by name, and a limit.

Time on the clock depends on what else a machine does, so that of the processor counts, with that of
children once they have ended. The limit is for a slow machine: a loop that is timed when a session
starts scales it. What fixtures take and what is built for the cache does not count towards it,
since other tests find it there; it counts in the list of the slowest.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

from gnarl.sw.program import cache

PROPERTY = "processor_s"
"""What each test's report says it took, set-up and builds included."""

LIMIT = "processor_limit_s"
"""Setting of pytest: the limit of a test that is not marked ``slow``, or 0 for none."""

LIMIT_S = 15.0

LOOP_S = 0.036
"""What ``_time_loop`` takes on the slow machine that the limit is for."""

LISTED = 20

_BEGAN = pytest.StashKey[float]()
_SCALED_LIMIT = pytest.StashKey[float]()


def processor_s() -> float:
    """Processor time of this process and of its children that have ended, in seconds."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class _Builds:
    """Counts what the cache's entries take while they are built."""

    def __init__(self, build: Callable[..., None]) -> None:
        self.seconds = 0.0
        self._build = build

    def __call__(self, *arguments: Any) -> None:
        began = processor_s()
        try:
            self._build(*arguments)
        finally:
            self.seconds += processor_s() - began


_BUILDS = pytest.StashKey[_Builds]()


def _time_loop() -> float:
    began = time.process_time()
    total = 0
    for number in range(500_000):
        total += number
    return time.process_time() - began


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(LIMIT, "Processor time of a test on a slow machine", default=str(LIMIT_S))


def pytest_configure(config: pytest.Config) -> None:
    scale = min(_time_loop() for _ in range(5)) / LOOP_S
    config.stash[_SCALED_LIMIT] = float(config.getini(LIMIT)) * scale
    config.stash[_BUILDS] = _Builds(cache.build_entry)
    cache.build_entry = config.stash[_BUILDS]


def pytest_unconfigure(config: pytest.Config) -> None:
    cache.build_entry = config.stash[_BUILDS]._build


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    item.stash[_BEGAN] = processor_s()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    builds, limit = item.config.stash[_BUILDS], item.config.stash[_SCALED_LIMIT]
    began = processor_s() - builds.seconds
    yield
    used = processor_s() - builds.seconds - began
    if limit and used > limit and item.get_closest_marker("slow") is None:
        pytest.fail(
            f"takes {used:.1f} s of the processor, builds excluded: must be at most {limit:.1f} s "
            "on this machine, or be marked slow",
            pytrace=False,
        )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    try:
        return (yield)
    finally:
        item.user_properties.append((PROPERTY, processor_s() - item.stash[_BEGAN]))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    spent = {
        report.nodeid: seconds
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, seconds in getattr(report, "user_properties", ())
        if name == PROPERTY
    }
    if len(spent) < LISTED:
        return
    terminalreporter.section(f"slowest {LISTED} of {len(spent)} tests, by processor time")
    for test in sorted(spent, key=spent.__getitem__, reverse=True)[:LISTED]:
        terminalreporter.write_line(f"{spent[test]:7.1f} s  {test}")
    terminalreporter.write_line(f"{sum(spent.values()):7.0f} s  all tests")

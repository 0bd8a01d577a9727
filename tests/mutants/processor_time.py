"""A plugin of pytest that adds to each test's report what it took of the processor.

Of its children, too, once they have ended. Time on the clock depends on what else the machine does.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

PROPERTY = "processor_s"

_BEGAN = pytest.StashKey[float]()


def _now() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    item.stash[_BEGAN] = _now()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    try:
        return (yield)
    finally:
        item.user_properties.append((PROPERTY, _now() - item.stash[_BEGAN]))

"""Settings of all tests."""

from __future__ import annotations

import functools
import sys

import pytest
from hypothesis import settings

# Machines differ in speed: a slow example is no failure. `make test` repeats the same examples, so
# that it fails on what changed; `make test-all` looks for others.
settings.register_profile("quick", deadline=None, max_examples=25, derandomize=True)
settings.register_profile("exhaustive", deadline=None, max_examples=250)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("quick" if "not slow" in config.option.markexpr else "exhaustive")


@pytest.fixture(autouse=True)
def operators_found_once() -> None:
    """``torch.export`` looks for operators of all its libraries 26 times a module, a fifth of the
    time that a small one takes; tests register none."""
    utils = sys.modules.get("torch._export.utils")
    if utils is not None and not hasattr(utils._materialize_cpp_cia_ops, "cache_info"):
        utils._materialize_cpp_cia_ops = functools.cache(utils._materialize_cpp_cia_ops)

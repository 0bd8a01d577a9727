"""Errors that tests expect, and what they add to those they do not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gnarl.hw.lib.errors import WorkloadError


def refused(text: str) -> pytest.RaisesExc[WorkloadError]:
    """Expects a ``WorkloadError`` with exactly this text, on one line."""
    assert "\n" not in text
    return pytest.raises(WorkloadError, match=f"^{re.escape(text)}$")


@contextmanager
def noted(text: str) -> Iterator[None]:
    """What fails says ``text``, too: which case it was."""
    try:
        yield
    except Exception as error:
        error.add_note(text)
        raise

"""What tests of golden models share."""

from __future__ import annotations

import pytest


@pytest.fixture
def compiled_golden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Golden models of loop nests as machine code, however little they have to do."""
    monkeypatch.setattr("gnarl.sw.golden.loops.INTERPRETED_LINES", 0)

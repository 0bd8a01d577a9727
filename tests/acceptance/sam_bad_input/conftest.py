"""Operands of SAM for tests that spoil one of them; no RTL is generated for any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.sam.files import B, C, write_mtx


@pytest.fixture(autouse=True)
def _no_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """No RTL is generated for bad input."""

    def generated(*arguments: Any) -> None:
        raise AssertionError("RTL was generated")

    monkeypatch.setattr("gnarl.sw.runtime.target.verilog.verilog", generated)


@pytest.fixture
def operands(tmp_path: Path) -> list[str]:
    """The options that give ``B``, ``C`` and the vector ``c``."""
    b, c = write_mtx(tmp_path / "b.mtx", B), write_mtx(tmp_path / "c.mtx", C)
    vector = tmp_path / "c.tns"
    vector.write_text("# shape 4\n1 2\n3 4\n")
    return ["--tensor", f"B={b}", "--tensor", f"C={c}", "--tensor", f"c={vector}"]

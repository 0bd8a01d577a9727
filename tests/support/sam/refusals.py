"""How the ``gnarl`` command refuses bad input to SAM, on the model as on the RTL."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import refusal
from tests.support.sam.files import CONFIG

TRANSPOSED = (
    "expression, column 6: B(i,j) cannot be walked in loop order j,i: mode 1 (index j) is stored "
    "inside mode 0 (index i), but its loop is outside; a transposed copy would do: -f=B:ss:1,0"
)


def refused(folder: Path, *arguments: str | Path, config: str | Path = CONFIG) -> str:
    """How ``run`` refuses, on the model as on the RTL, which is not built for it."""
    command = ("run", config, *arguments)
    line = refusal(folder, *command, "--backend", "model")
    assert line == refusal(folder, *command, "--backend", "rtl")
    assert line.startswith("gnarl: ")
    return line.removeprefix("gnarl: ")

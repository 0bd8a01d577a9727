"""Program files of nests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sram_compute.target import TARGET


def saved(text: str, folder: Path, name: str, **options: Any) -> Program:
    """The program in the file that a nest's text is compiled to."""
    source, path = folder / name, folder / "program.npz"
    source.write_text(text)
    with Device("sram_b4", "model") as device:
        device.compile(device.workload(str(source)), **options).save(path)
    return Program.load(path, lambda target: TARGET.compiler.schema)

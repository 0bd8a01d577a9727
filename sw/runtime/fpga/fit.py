"""Decides which boards a configuration fits."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnarl.hw.fpga.baud import BAUD
from gnarl.hw.fpga.boards import Board, find_board, usable_boards
from gnarl.hw.fpga.clock import plan_clock
from gnarl.hw.fpga.family import RESOURCE_NAMES, Family, Resources
from gnarl.sw.runtime.fpga.build import REPORT, board_top
from gnarl.sw.runtime.fpga.capacity import shortages
from gnarl.sw.runtime.fpga.estimate import estimate
from gnarl.sw.runtime.report.stages import Stages
from gnarl.sw.runtime.target.configuration import NamedConfiguration
from gnarl.sw.runtime.target.verilog import module_name

# How many of a family's resources stand for one of ECP5's. By the widths of multipliers and block
# RAMs: 18 x 18 and 18 Kbit on ECP5; 25 x 18 and 18 Kbit on the 7 series, 27 x 27 and 10 Kbit on
# Cyclone V, 16 x 16 and 4 Kbit of 16-bit words on iCE40. Look-up tables by the link with a small
# memory, which takes 871 on ECP5, 1,035 on iCE40, 982 on Gowin, 401 on the 7 series and 330 ALMs on
# Cyclone V; the last two rounded up.
_RELATIVE: dict[Family, tuple[float, float, float, float]] = {
    Family.ECP5: (1, 1, 1, 1),
    Family.ICE40: (1.2, 1, 1, 4),
    Family.GOWIN: (1.1, 1, 1, 1),
    Family.XILINX: (0.6, 1, 0.5, 1),
    Family.INTEL: (0.5, 1, 0.25, 2),
}

COLUMNS = ("board", "part", *RESOURCE_NAMES.values(), "fits", "")


@dataclass(frozen=True)
class Fit:
    """What a configuration needs of a board, and whether that was measured."""

    board: Board
    needed: Resources
    measured: bool

    @property
    def fits(self) -> bool:
        return not shortages(self.needed, self.board.resources)

    def cells(self) -> list[str]:
        """Texts in the order of ``COLUMNS``."""
        there = self.board.resources.to_dict()
        shares = [_share(needed, there[name]) for name, needed in self.needed.to_dict().items()]
        source = "measured" if self.measured else "estimate"
        return [self.board.name, self.board.part, *shares, "yes" if self.fits else "no", source]

    def to_json(self) -> dict[str, Any]:
        return {
            "board": self.board.name,
            "part": self.board.part,
            "needed": self.needed.to_dict(),
            "available": self.board.resources.to_dict(),
            "fits": self.fits,
            "measured": self.measured,
        }


def fits(hardware: NamedConfiguration, builds: Path, stages: Stages) -> list[Fit]:
    """All usable boards, those that the configuration fits first.

    Measured by a build for a board of the same family, of those in folder ``builds``; the other
    figures are estimates of what ECP5 needs, with a factor for the family. Raises as ``build``
    does.
    """
    boards = usable_boards()
    measured = _measured(hardware, builds, boards)
    of_ecp5 = None
    board_fits = []
    for board in boards:
        needed = measured.get(board.family)
        if needed is None:
            of_ecp5 = of_ecp5 or _estimate(hardware, stages)
            needed = _scaled(of_ecp5, board.family)
        board_fits.append(Fit(board, needed, board.family in measured))
    return sorted(board_fits, key=lambda fit: (not fit.fits, fit.board.name))


def estimated(hardware: NamedConfiguration, family: Family, stages: Stages) -> Resources:
    """An estimate of what a configuration needs of a device of a family. Raises as ``build``
    does."""
    return _scaled(_estimate(hardware, stages), family)


def _measured(
    hardware: NamedConfiguration, builds: Path, boards: list[Board]
) -> dict[Family, Resources]:
    """Resources measured by earlier builds of the same configuration."""
    families = {board.name: board.family for board in boards}
    return {
        families[report["board"]]: Resources(**report["used"])
        for report in _reports(builds)
        if report["digest"] == hardware.config.digest and report["board"] in families
    }


def _reports(builds: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(builds.glob(f"*/{REPORT}")):
        yield json.loads(path.read_text(encoding="utf-8"))


def _estimate(hardware: NamedConfiguration, stages: Stages) -> Resources:
    """About what synthesis would make of it for an ECP5."""
    # Not at the top: Amaranth's back end takes a while to import.
    from gnarl.hw.lib.verilog import to_rtlil

    board, name = find_board("ulx3s_85f"), module_name(hardware)
    with stages("generate RTLIL"):
        design = to_rtlil(board_top(hardware, board, plan_clock(board), BAUD), name)
    with stages("estimate"):
        return estimate(design, name)


def _scaled(needed: Resources, family: Family) -> Resources:
    numbers = needed.to_dict().values()
    return Resources(*(math.ceil(n * f) for n, f in zip(numbers, _RELATIVE[family], strict=True)))


def _share(needed: int, there: int) -> str:
    return f"{100 * needed / there:.0f} %" if there else str(needed)

"""Families of FPGAs, and what their devices have."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gnarl.hw.fpga.pll import ECP5_PLL, GOWIN_PLL, ICE40_PLL, XILINX_MMCM, Pll


@dataclass(frozen=True)
class FamilyFacts:
    """What a flow knows of a family.

    title
        what its vendor calls it.
    pll
        ``None`` where the vendor's tool finds the dividers itself.
    clock_hz
        a clock that most designs meet; ``None``: that of the board.
    exported
        whether a project for the vendor's tool is made instead of a bitstream.
    goal_hz
        a clock that hardly any machine meets, for placements that are to be as fast as they can;
        ``None`` where the vendor's tool places.
    """

    title: str
    pll: Pll | None
    clock_hz: int | None
    exported: bool = False
    goal_hz: int | None = None


class Family(enum.Enum):
    ECP5 = FamilyFacts("Lattice ECP5", ECP5_PLL, 50_000_000, goal_hz=150_000_000)
    ICE40 = FamilyFacts("Lattice iCE40", ICE40_PLL, None, goal_hz=80_000_000)
    GOWIN = FamilyFacts("Gowin", GOWIN_PLL, None, goal_hz=200_000_000)
    XILINX = FamilyFacts("Xilinx 7 series", XILINX_MMCM, 100_000_000, exported=True)
    INTEL = FamilyFacts("Intel Cyclone V", None, 50_000_000, exported=True)


@dataclass(frozen=True)
class Resources:
    """Numbers of look-up tables, flip-flops, multipliers and block RAMs.

    A look-up table has as many inputs as the family's; a multiplier is a DSP block of its smallest
    useful kind.
    """

    luts: int
    flip_flops: int
    dsps: int
    block_rams: int

    def with_luts(self, luts: int) -> Resources:
        return replace(self, luts=luts)

    def to_dict(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in RESOURCE_NAMES}


RESOURCE_NAMES: Mapping[str, str] = {
    "luts": "LUTs",
    "flip_flops": "flip-flops",
    "dsps": "DSPs",
    "block_rams": "block RAMs",
}
"""What reports call them."""

# By the vendors' tables. ECP5: LUT4, MULT18X18D, DP16KD; iCE40: LUT4, SB_MAC16, SB_RAM40_4K; Gowin:
# LUT4, MULT18X18, BSRAM; 7 series: LUT6, DSP48E1, RAMB18E1; Cyclone V: ALM, variable-precision DSP
# block, M10K.
_DEVICES: tuple[tuple[Family, str, Resources], ...] = (
    (Family.ECP5, r"LFE5U-12F", Resources(24_288, 24_288, 28, 56)),
    (Family.ECP5, r"LFE5U\w*-25F", Resources(24_288, 24_288, 28, 56)),
    (Family.ECP5, r"LFE5U\w*-45F", Resources(43_848, 43_848, 72, 108)),
    (Family.ECP5, r"LFE5U\w*-85F", Resources(83_640, 83_640, 156, 208)),
    (Family.ICE40, r"iCE40UP5K", Resources(5_280, 5_280, 8, 30)),
    (Family.ICE40, r"iCE40(HX8K|HX4K|LP8K)", Resources(7_680, 7_680, 0, 32)),
    (Family.ICE40, r"iCE40(HX1K|LP1K)", Resources(1_280, 1_280, 0, 16)),
    (Family.GOWIN, r"GW2A-18C?", Resources(20_736, 15_552, 48, 46)),
    (Family.GOWIN, r"GW1N-9C?", Resources(8_640, 6_480, 20, 26)),
    (Family.XILINX, r"xc7a15ti?", Resources(10_400, 20_800, 45, 50)),
    (Family.XILINX, r"xc7a35ti?", Resources(20_800, 41_600, 90, 100)),
    (Family.XILINX, r"xc7a100ti?", Resources(63_400, 126_800, 240, 270)),
    (Family.XILINX, r"xc7s25", Resources(14_600, 29_200, 80, 90)),
    (Family.XILINX, r"xc7s50", Resources(32_600, 65_200, 120, 150)),
    (Family.XILINX, r"xc7z010", Resources(17_600, 35_200, 80, 120)),
    (Family.XILINX, r"xc7k325t", Resources(203_800, 407_600, 840, 890)),
    (Family.INTEL, r"5CSEBA6", Resources(41_910, 167_640, 112, 553)),
)


def device(name: str) -> tuple[Family, Resources] | None:
    """Family and contents of a device, by the name that boards have for it."""
    for family, pattern, resources in _DEVICES:
        if re.fullmatch(pattern, name, re.IGNORECASE):
            return family, resources
    return None

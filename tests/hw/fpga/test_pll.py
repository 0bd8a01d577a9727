"""Dividers of PLLs: within their ranges, what they say, and what the tools of each family find."""

from __future__ import annotations

import re
import shutil
import subprocess
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.fpga.pll import ECP5_PLL, GOWIN_PLL, ICE40_PLL, XILINX_MMCM, Pll, dividers, mhz
from gnarl.hw.lib.errors import ConfigError
from gnarl.sw.runtime.machine.tools import program

PLLS = {"ecp5": ECP5_PLL, "ice40": ICE40_PLL, "gowin": GOWIN_PLL, "xilinx": XILINX_MMCM}
SOURCES_MHZ = (12, 25, 27, 48, 100)
MHZ = 10**6


def tool(name: str) -> str:
    """A program of this environment, or a skipped test."""
    found = program(name)
    if shutil.which(found) is None:
        pytest.skip(f"{name} is not installed")
    return found


def said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found, text
    return float(found[1])


@pytest.mark.parametrize("name", PLLS)
@settings(max_examples=10, deadline=None)
@given(source=st.sampled_from(SOURCES_MHZ), wanted=st.integers(16, 275))
def test_dividers_are_in_range_and_give_what_they_say(name: str, source: int, wanted: int) -> None:
    pll = PLLS[name]
    found = dividers(pll, source * MHZ, wanted * MHZ)
    assert found.reference in pll.reference
    assert found.feedback in pll.feedback
    assert found.output in pll.outputs
    detector = Fraction(source * MHZ, found.reference)
    inner = detector * found.feedback
    clock, oscillator = (
        (inner, inner * found.output) if pll.outer_feedback else (inner / found.output, inner)
    )
    assert (found.detector_hz, found.oscillator_hz, found.hz) == (detector, oscillator, clock)
    for hz, (low, high) in (
        (detector, pll.detector),
        (oscillator, pll.oscillator),
        (clock, pll.output),
    ):
        assert low <= hz <= high


@pytest.mark.parametrize("name", PLLS)
@settings(max_examples=4, deadline=None)
@given(source=st.sampled_from(SOURCES_MHZ), wanted=st.integers(16, 275))
def test_no_dividers_come_closer(name: str, source: int, wanted: int) -> None:
    pll = PLLS[name]
    found = dividers(pll, source * MHZ, wanted * MHZ)
    assert abs(float(found.hz) - wanted * MHZ) <= closest(pll, source, wanted) + 1e-3


def closest(pll: Pll, source: int, wanted: int) -> float:
    """The least error in Hz of all dividers that are allowed, tried one by one."""
    errors = []
    for reference in pll.reference:
        detector = source * MHZ / reference
        if not pll.detector[0] <= detector <= pll.detector[1]:
            continue
        for feedback in pll.feedback:
            for output in pll.outputs:
                inner = detector * feedback
                outer = inner * output if pll.outer_feedback else inner / output
                clock, oscillator = (inner, outer) if pll.outer_feedback else (outer, inner)
                if (
                    pll.oscillator[0] <= oscillator <= pll.oscillator[1]
                    and pll.output[0] <= clock <= pll.output[1]
                ):
                    errors.append(abs(clock - wanted * MHZ))
    return min(errors)


def test_where_the_wanted_feedback_is_out_of_range() -> None:
    found = dividers(XILINX_MMCM, 12 * MHZ, 260 * MHZ)  # 65 / 3 would be it
    assert (found.feedback, found.output, found.hz) == (64, 3, 256 * MHZ)


@pytest.mark.parametrize(("source", "wanted"), [(25, 50), (25, 75), (25, 85), (12, 66), (100, 90)])
def test_ecppll_finds_the_same(source: int, wanted: int) -> None:
    text = said(tool("yowasp-ecppll"), "-i", str(source), "-o", str(wanted))
    found = dividers(ECP5_PLL, source * MHZ, wanted * MHZ)
    assert (found.reference, found.feedback, found.output) == (
        number(r"Refclk divisor: (\d+)", text),
        number(r"Feedback divisor: (\d+)", text),
        number(r"clkout0 divisor: (\d+)", text),
    )
    assert float(found.oscillator_hz) == MHZ * number(r"VCO frequency: ([\d.]+)", text)


@pytest.mark.parametrize("wanted", [17, 20, 24, 30, 48])
def test_icepll_comes_as_close(wanted: int) -> None:
    text = said(tool("yowasp-icepll"), "-i", "12", "-o", str(wanted))
    achieved = number(r"F_PLLOUT: +([\d.]+) MHz \(achieved\)", text)
    assert float(dividers(ICE40_PLL, 12 * MHZ, wanted * MHZ).hz) == pytest.approx(
        MHZ * achieved, abs=1000
    )


@pytest.mark.parametrize("wanted", [30, 50, 75])
def test_gowin_pll_comes_as_close(wanted: int) -> None:
    device = "GW2A-LV18PG256C8/I7"
    text = said(tool("gowin_pll"), "-i", "27", "-o", str(wanted), "-d", device)
    achieved = number(r"Achieved output frequency: +([\d.]+)", text)
    assert float(dividers(GOWIN_PLL, 27 * MHZ, wanted * MHZ).hz) == pytest.approx(
        MHZ * achieved, abs=1000
    )


def test_clocks_that_cannot_be_made() -> None:
    with pytest.raises(ConfigError) as caught:
        dividers(ECP5_PLL, 25 * MHZ, 500 * MHZ)
    assert str(caught.value) == "clock of 500 MHz: must be 10 to 400 MHz, which the PLL makes"
    with pytest.raises(ConfigError) as caught:
        dividers(ICE40_PLL, 3_300_000, 50 * MHZ)
    assert str(caught.value) == "clock of 50 MHz: the PLL cannot make it from 3.3 MHz"


@pytest.mark.parametrize(
    ("hz", "text"), [(25e6, "25"), (19_875_000, "19.875"), (Fraction(200_000_000, 3), "66.666667")]
)
def test_frequencies_as_texts(hz: float, text: str) -> None:
    assert mhz(hz) == text

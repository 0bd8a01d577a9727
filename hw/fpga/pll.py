"""Dividers of phase-locked loops, which make a design's clock of a board's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from gnarl.hw.lib.errors import ConfigError

_MHZ = 10**6


@dataclass(frozen=True)
class Pll:
    """What the PLL of a device family can do; ranges of frequencies in Hz, bounds included.

    reference, feedback, outputs
        the dividers that there are: before the phase detector, in the feedback, at the output.
    detector, oscillator, output
        the range at the phase detector, of the oscillator (VCO), and of the clock that is made.
    outer_feedback
        whether the feedback is taken behind the output's divider: then the clock is ``feedback``
        times the detector's, and the oscillator ``outputs`` times that. Otherwise the oscillator is
        ``feedback`` times the detector's, and divided for the clock.
    """

    reference: Sequence[int]
    feedback: range
    outputs: Sequence[int]
    detector: tuple[int, int]
    oscillator: tuple[int, int]
    output: tuple[int, int]
    outer_feedback: bool


@dataclass(frozen=True)
class Dividers:
    """A PLL's dividers, and the frequencies in Hz that they give."""

    reference: int
    feedback: int
    output: int
    detector_hz: Fraction
    oscillator_hz: Fraction
    hz: Fraction


# Lattice FPGA-DS-02012 (ECP5), section 3.20; ranges and rule as ecppll of Project Trellis.
ECP5_PLL = Pll(
    reference=range(1, 129),
    feedback=range(1, 81),
    outputs=range(1, 129),
    detector=(3_125_000, 400 * _MHZ),
    oscillator=(400 * _MHZ, 800 * _MHZ),
    output=(10 * _MHZ, 400 * _MHZ),
    outer_feedback=True,
)

# Lattice FPGA-TN-02052 (iCE40 sysCLOCK); as icepll of Project IceStorm, feedback SIMPLE.
ICE40_PLL = Pll(
    reference=range(1, 17),
    feedback=range(1, 129),
    outputs=tuple(1 << power for power in range(1, 7)),
    detector=(10 * _MHZ, 133 * _MHZ),
    oscillator=(533 * _MHZ, 1066 * _MHZ),
    output=(16 * _MHZ, 275 * _MHZ),
    outer_feedback=False,
)

# Gowin DS226E (GW2A) and DS117E (GW1NR): what both allow, at their slower grades.
GOWIN_PLL = Pll(
    reference=range(1, 65),
    feedback=range(1, 65),
    outputs=(2, 4, 8, 16, 32, 48, 64, 80, 96, 112, 128),
    detector=(3 * _MHZ, 400 * _MHZ),
    oscillator=(500 * _MHZ, 1200 * _MHZ),
    output=(3_906_250, 600 * _MHZ),
    outer_feedback=True,
)

# Xilinx DS181 and DS182 (Artix-7, Kintex-7), the MMCM of speed grade -1; whole dividers only.
XILINX_MMCM = Pll(
    reference=range(1, 107),
    feedback=range(2, 65),
    outputs=range(1, 129),
    detector=(10 * _MHZ, 450 * _MHZ),
    oscillator=(600 * _MHZ, 1200 * _MHZ),
    output=(4_690_000, 800 * _MHZ),
    outer_feedback=False,
)


def dividers(pll: Pll, source_hz: int, wanted_hz: int) -> Dividers:
    """The dividers that come closest to ``wanted_hz``.

    Of equally close ones those with the oscillator in the middle of its range, as ``ecppll`` has
    it, then those with the smallest dividers. Raises ``ConfigError`` where ``wanted_hz`` is out of
    range or the PLL cannot work from ``source_hz``.
    """
    low, high = pll.output
    if not low <= wanted_hz <= high:
        raise ConfigError(
            [
                f"clock of {mhz(wanted_hz)} MHz: must be {mhz(low)} to {mhz(high)} MHz, "
                "which the PLL makes"
            ]
        )
    candidates = [
        choice
        for reference in pll.reference
        if _within(detector := Fraction(source_hz, reference), pll.detector)
        for output in pll.outputs
        for choice in _choices(pll, detector, reference, output, wanted_hz)
    ]
    if not candidates:
        raise ConfigError(
            [f"clock of {mhz(wanted_hz)} MHz: the PLL cannot make it from {mhz(source_hz)} MHz"]
        )
    middle = Fraction(sum(pll.oscillator), 2)
    return min(
        candidates,
        key=lambda choice: (
            abs(choice.hz - wanted_hz),
            abs(choice.oscillator_hz - middle),
            choice.reference,
        ),
    )


def mhz(hz: Fraction | float) -> str:
    """A frequency in MHz, with as many digits as it takes, at most six."""
    return f"{float(hz) / _MHZ:.6f}".rstrip("0").rstrip(".")


def _choices(
    pll: Pll, detector: Fraction, reference: int, output: int, wanted_hz: int
) -> list[Dividers]:
    """Choices with these dividers, and the feedback's next to the wanted one on either side, of
    those that all ranges allow."""
    step = detector if pll.outer_feedback else detector / output
    ranges = [(step, pll.output), (step * output, pll.oscillator)]
    low = max(pll.feedback[0], *(math.ceil(bounds[0] / each) for each, bounds in ranges))
    high = min(pll.feedback[-1], *(math.floor(bounds[1] / each) for each, bounds in ranges))
    if low > high:
        return []
    nearest = int(wanted_hz / step)
    return [
        Dividers(reference, feedback, output, detector, step * feedback * output, step * feedback)
        for feedback in {min(max(each, low), high) for each in (nearest, nearest + 1)}
    ]


def _within(hz: Fraction, bounds: tuple[int, int]) -> bool:
    return bounds[0] <= hz <= bounds[1]

"""The clock of a machine on a board, and the PLL that makes it."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Const, Instance, Signal
from gnarl.hw.fpga.boards import Board
from gnarl.hw.fpga.family import Family
from gnarl.hw.fpga.pll import Dividers, dividers, mhz

_PLL_PADS = {("iCE40UP5K", "SG48"): "35"}
"""iCE40 pins that lead to their PLL alone while it is in use, by device and package."""


@dataclass(frozen=True)
class Clock:
    """A clock of ``hz``, of a board's of ``source_hz``.

    ``dividers``: of the PLL; ``None`` without one, or where the vendor's tool finds them.
    """

    source_hz: int
    hz: int
    dividers: Dividers | None = None

    @property
    def has_pll(self) -> bool:
        return self.hz != self.source_hz


def plan_clock(board: Board, wanted_hz: int | None = None) -> Clock:
    """The clock that a board's PLL makes closest to ``wanted_hz``; none if it is the board's own.

    By default that of its family. Raises ``ConfigError`` for what the PLL cannot make.
    """
    family, source_hz = board.family.value, board.oscillator_hz
    wanted_hz = wanted_hz or family.clock_hz or source_hz
    if wanted_hz == source_hz or family.pll is None:
        return Clock(source_hz, wanted_hz)
    chosen = dividers(family.pll, source_hz, wanted_hz)
    return Clock(source_hz, round(chosen.hz), chosen)


def pll(board: Board, clock: Clock, source: Signal, made: Signal, locked: Signal) -> Instance:
    """The board's PLL, which makes clock ``made`` of ``source``; ``locked``: it is stable."""
    match board.family:
        case Family.ECP5:
            return _ehxplll(clock, source, made, locked)
        case Family.ICE40:
            return _sb_pll40(board, clock, source, made, locked)
        case Family.GOWIN:
            return _rpll(board, clock, source, made, locked)
        case Family.XILINX:
            return _mmcm(clock, source, made, locked)
        case Family.INTEL:
            return _altera_pll(clock, source, made, locked)


def _ehxplll(clock: Clock, source: Signal, made: Signal, locked: Signal) -> Instance:
    """A PLL as ``ecppll`` of Project Trellis writes it."""
    chosen = _dividers(clock)
    return Instance(
        "EHXPLLL",
        a_FREQUENCY_PIN_CLKI=mhz(clock.source_hz),
        a_FREQUENCY_PIN_CLKOP=mhz(clock.hz),
        a_ICP_CURRENT="12",
        a_LPF_RESISTOR="8",
        a_MFG_ENABLE_FILTEROPAMP="1",
        a_MFG_GMCREF_SEL="2",
        p_PLLRST_ENA="DISABLED",
        p_INTFB_WAKE="DISABLED",
        p_STDBY_ENABLE="DISABLED",
        p_DPHASE_SOURCE="DISABLED",
        p_OUTDIVIDER_MUXA="DIVA",
        p_OUTDIVIDER_MUXB="DIVB",
        p_OUTDIVIDER_MUXC="DIVC",
        p_OUTDIVIDER_MUXD="DIVD",
        p_CLKI_DIV=chosen.reference,
        p_CLKOP_ENABLE="ENABLED",
        p_CLKOP_DIV=chosen.output,
        p_CLKOP_CPHASE=chosen.output // 2,
        p_CLKOP_FPHASE=0,
        p_FEEDBK_PATH="CLKOP",
        p_CLKFB_DIV=chosen.feedback,
        i_RST=Const(0),
        i_STDBY=Const(0),
        i_CLKI=source,
        i_CLKFB=made,
        i_PHASESEL0=Const(0),
        i_PHASESEL1=Const(0),
        i_PHASEDIR=Const(1),
        i_PHASESTEP=Const(1),
        i_PHASELOADREG=Const(1),
        i_PLLWAKESYNC=Const(0),
        i_ENCLKOP=Const(0),
        o_CLKOP=made,
        o_LOCK=locked,
    )


def _sb_pll40(board: Board, clock: Clock, source: Signal, made: Signal, locked: Signal) -> Instance:
    """A PLL as ``icepll`` of Project IceStorm writes it."""
    chosen = _dividers(clock)
    (pin,) = board.clock
    is_pad = _PLL_PADS.get((board.device, board.package)) == pin.site
    kind, port = ("SB_PLL40_PAD", "PACKAGEPIN") if is_pad else ("SB_PLL40_CORE", "REFERENCECLK")
    limits_mhz = (17, 26, 44, 66, 101)  # of the loop filter's ranges
    return Instance(
        kind,
        p_FEEDBACK_PATH="SIMPLE",
        p_DIVR=Const(chosen.reference - 1, 4),
        p_DIVF=Const(chosen.feedback - 1, 7),
        p_DIVQ=Const(chosen.output.bit_length() - 1, 3),
        p_FILTER_RANGE=Const(
            1 + sum(chosen.detector_hz >= limit * 10**6 for limit in limits_mhz), 3
        ),
        i_RESETB=Const(1),
        i_BYPASS=Const(0),
        o_PLLOUTCORE=made,
        o_LOCK=locked,
        **{f"i_{port}": source},
    )


def _rpll(board: Board, clock: Clock, source: Signal, made: Signal, locked: Signal) -> Instance:
    """A PLL as ``gowin_pll`` of Project Apicula writes it."""
    chosen = _dividers(clock)
    return Instance(
        "rPLL",
        p_FCLKIN=mhz(clock.source_hz),
        p_DEVICE=board.device,
        p_IDIV_SEL=chosen.reference - 1,
        p_FBDIV_SEL=chosen.feedback - 1,
        p_ODIV_SEL=chosen.output,
        i_CLKIN=source,
        i_CLKFB=Const(0),
        i_RESET=Const(0),
        i_RESET_P=Const(0),
        i_FBDSEL=Const(0, 6),
        i_IDSEL=Const(0, 6),
        i_ODSEL=Const(0, 6),
        i_PSDA=Const(0, 4),
        i_DUTYDA=Const(0, 4),
        i_FDLY=Const(0, 4),
        o_CLKOUT=made,
        o_LOCK=locked,
    )


def _mmcm(clock: Clock, source: Signal, made: Signal, locked: Signal) -> Instance:
    """The MMCM of Xilinx UG472, with internal feedback."""
    chosen = _dividers(clock)
    feedback = Signal()
    return Instance(
        "MMCME2_BASE",
        p_CLKIN1_PERIOD=round(1e9 / clock.source_hz, 3),
        p_DIVCLK_DIVIDE=chosen.reference,
        p_CLKFBOUT_MULT_F=float(chosen.feedback),
        p_CLKOUT0_DIVIDE_F=float(chosen.output),
        i_CLKIN1=source,
        i_CLKFBIN=feedback,
        i_PWRDWN=Const(0),
        i_RST=Const(0),
        o_CLKFBOUT=feedback,
        o_CLKOUT0=made,
        o_LOCKED=locked,
    )


def _altera_pll(clock: Clock, source: Signal, made: Signal, locked: Signal) -> Instance:
    """Quartus finds its dividers."""
    return Instance(
        "altera_pll",
        p_fractional_vco_multiplier="false",
        p_operation_mode="direct",
        p_number_of_clocks=1,
        p_reference_clock_frequency=f"{mhz(clock.source_hz)} MHz",
        p_output_clock_frequency0=f"{mhz(clock.hz)} MHz",
        p_phase_shift0="0 ps",
        p_duty_cycle0=50,
        i_refclk=source,
        i_rst=Const(0),
        i_fbclk=Const(0),
        o_outclk=made,
        o_locked=locked,
    )


def _dividers(clock: Clock) -> Dividers:
    assert clock.dividers is not None
    return clock.dividers

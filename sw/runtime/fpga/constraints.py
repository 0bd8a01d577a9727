"""Pins and clocks of a board as the constraint files of the tools have them."""

from __future__ import annotations

from collections.abc import Iterator

from gnarl.hw.fpga.boards import Board, Pin
from gnarl.hw.fpga.clock import Clock
from gnarl.hw.fpga.family import Family
from gnarl.hw.fpga.pll import mhz

ENDINGS = {
    Family.ECP5: "lpf",
    Family.ICE40: "pcf",
    Family.GOWIN: "cst",
    Family.XILINX: "xdc",
    Family.INTEL: "qsf",
}
"""The ending of the file with the pins."""


def pin_constraints(board: Board) -> str:
    """The text of the board's pins; for ECP5 and Xilinx with the board's clock."""
    lines = [line for pin in board.pins for line in _pin_lines(board, pin)]
    clock = board.clock[0].port
    if board.family == Family.ECP5:
        lines.append(f'FREQUENCY PORT "{clock}" {mhz(board.oscillator_hz)} MHZ;')
    if board.family == Family.XILINX:
        lines += [
            _create_clock(board),
            "set_false_path -from [get_ports rx]",
            "set_false_path -to [get_ports {tx leds*}]" if board.leds else _FALSE_TX,
        ]
    return "".join(f"{line}\n" for line in lines)


_FALSE_TX = "set_false_path -to [get_ports tx]"


def timing_constraints(board: Board, clock: Clock) -> str:
    """The text of a file of Synopsys design constraints (SDC) for Quartus."""
    lines = [_create_clock(board)]
    if clock.has_pll:
        lines.append("derive_pll_clocks")
    lines += [
        "derive_clock_uncertainty",
        "set_false_path -from [get_ports rx]",
        "set_false_path -to [get_ports {tx leds*}]" if board.leds else _FALSE_TX,
    ]
    return "".join(f"{line}\n" for line in lines)


def _create_clock(board: Board) -> str:
    period_ns = 1e9 / board.oscillator_hz
    return f"create_clock -name clock -period {period_ns:.3f} [get_ports {board.clock[0].port}]"


def _pin_lines(board: Board, pin: Pin) -> Iterator[str]:
    attributes = pin.attributes.items()
    match board.family:
        case Family.ECP5:
            yield f'LOCATE COMP "{pin.port}" SITE "{pin.site}";'
            if attributes:
                settings = " ".join(f"{name}={value}" for name, value in attributes)
                yield f'IOBUF PORT "{pin.port}" {settings};'
        case Family.ICE40:
            pull_up = "-pullup yes " if pin.attributes.get("PULLUP") == "1" else ""
            yield f"set_io {pull_up}{pin.port} {pin.site}"
        case Family.GOWIN:
            yield f'IO_LOC "{pin.port}" {pin.site};'
            for name, value in attributes:
                yield f'IO_PORT "{pin.port}" {name}={value};'
        case Family.XILINX:
            port = f"[get_ports {{{pin.port}}}]"
            yield f"set_property PACKAGE_PIN {pin.site} {port}"
            for name, value in attributes:
                yield f"set_property {name} {value} {port}"
        case Family.INTEL:
            yield f"set_location_assignment PIN_{pin.site} -to {{{pin.port}}}"
            for name, value in attributes:
                yield f'set_instance_assignment -name {name.upper()} "{value}" -to {{{pin.port}}}'

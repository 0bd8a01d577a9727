"""FPGA boards: device, clock, serial port and LEDs, as the package ``amaranth-boards`` has them."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from gnarl.hw.fpga.family import Family, Resources, device
from gnarl.hw.lib.errors import GnarlError

LEDS = 4
"""How many a board top drives, of those that the board has."""

EXTRA = "pip install 'gnarl[fpga]'"
"""Installs boards and tools."""


class BoardError(GnarlError):
    """A board that is not known or cannot be used; says which can."""


@dataclass(frozen=True)
class Pin:
    """A pin of the device, for a port of the top or a bit of one.

    ``attributes`` are those of the vendor's constraints; ``inverted`` where 1 is the low level.
    """

    port: str
    site: str
    attributes: Mapping[str, str]
    inverted: bool = False


@dataclass(frozen=True)
class Board:
    """A board that a machine with its link can be put on.

    part
        the device, as its vendor's tools call it: ``LFE5U-85F``, ``xc7a100ticsg324-1L``.
    device, package, speed
        its parts, as the board's class has them.
    clock
        one pin, or two of a differential pair, positive first; of such a pair the ECP5's tools take
        the positive pin alone.
    """

    name: str
    family: Family
    part: str
    device: str
    package: str
    speed: str
    resources: Resources
    oscillator_hz: int
    clock: tuple[Pin, ...]
    rx: Pin
    tx: Pin
    leds: tuple[Pin, ...]

    @property
    def pins(self) -> tuple[Pin, ...]:
        return (*self.clock, self.rx, self.tx, *self.leds)


def board_names() -> list[str]:
    """All boards of the package, those that cannot be used included. Raises ``BoardError``."""
    return sorted(_classes())


def usable_boards() -> list[Board]:
    """All boards that can be used, by name. Raises ``BoardError``."""
    return [board for name in board_names() if isinstance(board := _read(name), Board)]


def find_board(name: str) -> Board:
    """The board called ``name``. Raises ``BoardError`` where there is none, or none of use."""
    if name not in _classes():
        near = get_close_matches(name.lower(), board_names(), n=3, cutoff=0.4)
        hint = f"nearest: {', '.join(near)}" if near else "must be one that gnarl fpga --list shows"
        raise BoardError(f"board {name}: no such board in amaranth-boards; {hint}")
    found = _read(name)
    if isinstance(found, str):
        raise BoardError(f"board {name}: {found}")
    return found


@functools.cache
def _classes() -> dict[str, type]:
    """Platform classes by the name of the board."""
    try:
        import amaranth_boards
        from amaranth.build import Platform
    except ImportError as error:
        raise BoardError(f"amaranth-boards is not installed: boards need it: {EXTRA}") from error
    classes: dict[str, type] = {}
    for each in pkgutil.iter_modules(amaranth_boards.__path__):
        if each.ispkg:
            continue
        module = importlib.import_module(f"{amaranth_boards.__name__}.{each.name}")
        for _, kind in inspect.getmembers(module, inspect.isclass):
            is_own = kind.__module__ == module.__name__ and issubclass(kind, Platform)
            if is_own and not inspect.isabstract(kind):
                classes[_name(each.name, kind.__name__)] = kind
    return classes


def _name(module: str, kind: str) -> str:
    """``ulx3s_85f`` of ``ULX3S_85F_Platform`` in module ``ulx3s``.

    The module's name, and behind it what the class's says beyond it.
    """
    own = re.sub(r"_?Platform$", "", kind)
    squashed = module.replace("_", "")
    rest = own.replace("_", "").lower()
    if not rest.startswith(squashed):
        return own.lower()
    rest = rest.removeprefix(squashed)
    return f"{module}_{rest}" if rest else module


@functools.cache
def _read(name: str) -> Board | str:
    """The board, or why it cannot be used."""
    from amaranth.build import ResourceError

    try:
        platform = _classes()[name]()
    except ValueError as error:
        return f"its class in amaranth-boards cannot be used: {error}"
    try:
        lines = platform.lookup("uart", 0).ios
    except ResourceError:
        return "has no UART resource: the link to the host needs one"
    known = device(_device(platform))
    if known is None:
        families = ", ".join(family.value.title for family in Family)
        return f"device {_device(platform) or 'unknown'}: not supported: must be of {families}"
    if not platform.default_clk:
        return "has no clock resource: must have one"
    try:
        clock = platform.request(platform.default_clk, 0, dir="-")
    except ResourceError:
        return f"clock {platform.default_clk}: not supported: must come from a pin"
    uart = platform.request("uart", 0, dir={line.name: "-" for line in lines})
    family, resources = known
    (rx,), (tx,) = _pins("rx", uart.rx), _pins("tx", uart.tx)
    return Board(
        name,
        family,
        _part(platform, family),
        _device(platform),
        getattr(platform, "package", ""),
        getattr(platform, "speed", "") or "",
        resources,
        int(platform.default_clk_frequency),
        tuple(_pins("clock", clock))[: 1 if family == Family.ECP5 else 2],
        rx,
        tx,
        tuple(_leds(platform)),
    )


def _leds(platform: Any) -> Iterator[Pin]:
    """The first of the board, without those on pins that are taken."""
    from amaranth.build import ResourceError

    free = []
    for number in sorted(number for kind, number in platform.resources if kind == "led"):
        with suppress(ResourceError):
            free.append(platform.request("led", number, dir="-"))
    shown = free[:LEDS]
    for at, led in enumerate(shown):
        yield from _pins(f"leds[{at}]" if len(shown) > 1 else "leds", led)


def _pins(port: str, resource: Any) -> Iterator[Pin]:
    """The pins of a resource of one bit."""
    if hasattr(resource, "io"):
        sides = {port: resource.io}
    else:
        sides = {f"{port}_p": resource.p, f"{port}_n": resource.n}
    for name, side in sides.items():
        (metadata,) = side.metadata
        attributes = {key: str(value) for key, value in metadata.attrs.items()}
        yield Pin(name, metadata.name, attributes, resource.invert[0])


def _device(platform: Any) -> str:
    """The device's name without package and speed; for Gowin, the family's with its size."""
    return getattr(platform, "device", None) or getattr(platform, "family", None) or ""


def _part(platform: Any, family: Family) -> str:
    match family:
        case Family.GOWIN:
            return platform.part
        case Family.XILINX:
            return f"{platform.device}{platform.package}-{platform.speed}"
        case Family.INTEL:
            return f"{platform.device}{platform.package}{platform.speed}"
    return platform.device

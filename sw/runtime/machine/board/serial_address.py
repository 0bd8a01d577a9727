"""The address of a board."""

from __future__ import annotations

from typing import NamedTuple


class SerialAddress(NamedTuple):
    """A serial port of this computer, e.g. ``/dev/ttyUSB0``, and its bits a second."""

    device: str
    baud: int

"""A board's host port at a serial port of this computer."""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from typing import Any

from gnarl.hw.fpga.baud import BAUD
from gnarl.hw.lib.errors import one_line
from gnarl.sw.runtime.machine.board.frame_port import FramePort, LinkError

_LATENCY = 1.0  # USB adapters keep what they receive for up to 0.016 s; the rest is a busy system's
_POLL_SECONDS = 0.05
_WRITE_SECONDS = 10


class SerialLine:
    """A ``Line`` through the serial port ``device``, which nobody else may use meanwhile.

    Raises ``LinkError`` where the port cannot be opened, or pyserial is not installed, and once the
    port is gone.
    """

    latency = _LATENCY

    def __init__(self, device: str, baud: int) -> None:
        try:
            import serial
        except ImportError:
            raise LinkError(
                f"{device}: serial ports need pyserial: pip install 'gnarl[fpga]'"
            ) from None
        self.name = device
        self.baud = baud
        self._errors = (serial.SerialException, OSError)
        try:
            self._serial = serial.Serial(
                device, baud, timeout=_POLL_SECONDS, write_timeout=_WRITE_SECONDS, exclusive=True
            )
        except self._errors as error:
            raise LinkError(f"{device}: {_reason(device, error)}") from error
        except (ValueError, OverflowError) as error:
            raise LinkError(
                f"{device}: {baud} baud: {one_line(error)}: must be a rate that the port supports"
            ) from error
        # pyserial raises NotImplementedError where the platform has no such mode, ValueError where
        # the driver has none. It only saves time.
        with suppress(NotImplementedError, ValueError, *self._errors):
            self._serial.set_low_latency_mode(True)

    def send(self, message: bytes) -> None:
        """See ``Line``."""
        try:
            self._serial.write(message)
        except self._errors as error:
            raise self._gone(error) from error

    def receive(self, seconds: float) -> bytes:
        """See ``Line``."""
        end = time.monotonic() + seconds
        try:
            while True:
                # The first byte, or none, and what has come with it.
                first = self._serial.read(1)
                if first:
                    return first + self._serial.read(self._serial.in_waiting)
                if time.monotonic() >= end:
                    return b""
        except self._errors as error:
            raise self._gone(error) from error

    def close(self) -> None:
        """See ``Line``."""
        self._serial.close()

    def _gone(self, error: Exception) -> LinkError:
        return LinkError(f"{self.name}: the port is gone: {one_line(error)}: must stay connected")


class SerialPort(FramePort):
    """A ``gnarl.sw.runtime.machine.host.Port`` of the board at serial port ``device``, e.g.
    ``/dev/ttyUSB0``.

    Parameters: ``baud``, bits a second, as its bitstream was built.

    Raises ``LinkError`` as ``FramePort`` does, and where the port cannot be opened or is gone.
    """

    def __init__(self, device: str, baud: int = BAUD) -> None:
        line = SerialLine(device, baud)
        try:
            super().__init__(line)
        except BaseException:
            line.close()
            raise


def _reason(device: str, error: Any) -> str:
    """Why a port could not be opened, and what would be right."""
    match error.errno:
        case errno.ENOENT:
            ports = ", ".join(_ports())
            return f"no such serial port: must be {f'one of {ports}' if ports else 'connected'}"
        case errno.EACCES | errno.EPERM:
            return f"permission denied: its user must be {_permitted(device)}"
        case errno.EBUSY | errno.EAGAIN:
            return "in use: must be closed by the program that has it open"
    return f"not a serial port that can be opened: {one_line(error)}"


def _ports() -> list[str]:
    """Serial ports of this computer."""
    from serial.tools.list_ports import comports

    return sorted(port.device for port in comports())


def _permitted(device: str) -> str:
    with suppress(ImportError, OSError, KeyError):
        import grp

        return f"in group {grp.getgrgid(os.stat(device).st_gid).gr_name}"
    return "allowed to read and write it"

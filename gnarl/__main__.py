"""The ``gnarl`` command's way in, where interrupts already end it while the rest is imported, and
until ``gnarl.sw.commands.boundary`` hears them."""

from __future__ import annotations

import gc
import os
import signal
from typing import Any

from gnarl.sw import interrupted

_GARBAGE_THRESHOLDS = (50_000, 20, 50)
"""Python's look for garbage too often for compilers, whose modules are many small objects: a tenth
of the time of short commands."""


def main() -> None:
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    from gnarl.sw.commands.main import main as command

    command()


def _leave(*_: Any) -> None:
    """Ends the process: an exception could be lost in the code that is imported."""
    os.write(2, f"{interrupted.LINE}\n".encode())
    os._exit(interrupted.STATUS)


if __name__ == "__main__":
    main()

"""The ``gnarl`` command's way in, where interrupts already end it while the rest is imported."""

from __future__ import annotations

import os
import signal
from typing import Any

from sw import interrupted


def main() -> None:
    heard = [
        number
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) is not signal.SIG_IGN
    ]
    before = {number: signal.signal(number, _leave) for number in heard}
    from sw.cli import main as command

    for number, handler in before.items():
        signal.signal(number, handler)
    command()


def _leave(*_: Any) -> None:
    """Ends the process: an exception could be lost in the code that is imported."""
    os.write(2, f"{interrupted.LINE}\n".encode())
    os._exit(interrupted.STATUS)


if __name__ == "__main__":
    main()

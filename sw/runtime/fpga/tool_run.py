"""Programs of open FPGA flows, as YoWASP packages them for PyPI, and the time they take."""

from __future__ import annotations

import resource
from collections.abc import Callable, Sequence
from pathlib import Path

from gnarl.hw.fpga.boards import EXTRA
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.runtime.machine.tools import first_complaint, program, run_tool


class FpgaError(GnarlError):
    """A build for a board that failed, or that the board is too small for."""


def run(
    command: Sequence[str],
    folder: Path,
    log: str,
    hear: Callable[[str], None] = lambda line: None,
) -> float:
    """Runs a program of this Python environment, or on ``PATH``, in ``folder``; its CPU seconds.

    What it prints becomes file ``log`` there; ``hear`` is called with each line of it. Raises
    ``FpgaError`` where it is not installed, and with its first complaint where it fails.
    """
    name = command[0]
    before = _cpu_s()
    need = f"builds for FPGA boards need it: {EXTRA}"
    done = run_tool([program(name), *command[1:]], folder, need, FpgaError, hear=hear)
    (folder / log).write_text(done.stdout, encoding="utf-8")
    if done.returncode != 0:
        raise FpgaError(f"{name} failed: {first_complaint(done)} (all of it: {folder / log})")
    return _cpu_s() - before


def _cpu_s() -> float:
    """Seconds of all ended child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

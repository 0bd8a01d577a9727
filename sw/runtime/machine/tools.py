"""Programs that builds start: Verilator, make, the C++ compiler, Yosys, placers."""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.program.atomic import WRITING

_COMPLAINT = re.compile(r"(\S+: )?(fatal |%)?error\b|.*: undefined ", re.IGNORECASE)


def program(name: str) -> str:
    """A program of this Python environment, even if that is not on ``PATH``, or else ``name``."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.is_file() else name


def cxx() -> list[str]:
    """The C++ compiler and its first arguments: what ``CXX`` names, or else ``c++``."""
    return shlex.split(os.environ.get("CXX", "")) or ["c++"]


def first_complaint(done: subprocess.CompletedProcess[str]) -> str:
    """What a program that failed says first: an error, or else its last line or exit status."""
    lines = [line.strip() for line in text_lines(done.stdout) if line.strip()]
    errors = [line for line in lines if _COMPLAINT.match(line)]
    return next(iter(errors or lines[-1:]), f"exit status {done.returncode}")


def require_resources(output: str, folder: Path) -> None:
    """Raises ``OSError`` that names ``folder`` where a program that failed says that it could not
    write, as on a full disk, and ``MemoryError`` where it was given no memory."""
    for number in sorted(WRITING):
        if os.strerror(number) in output:
            raise OSError(number, os.strerror(number), str(folder))
    if os.strerror(errno.ENOMEM) in output:
        raise MemoryError(f"a program that was started in {folder}: {os.strerror(errno.ENOMEM)}")


def run_tool(
    command: Sequence[str],
    folder: Path,
    need: str,
    error: type[GnarlError],
    environment: Mapping[str, str] = {},
    hear: Callable[[str], None] = lambda line: None,
) -> subprocess.CompletedProcess[str]:
    """Runs a program in ``folder``; stderr is joined to stdout, any exit status is returned.

    ``environment`` is added to this process's; ``hear`` is called with each line as it comes. An
    exception, such as an interrupt, ends the program and all that it has started. Raises ``error``
    where it is not installed, with ``need``, which says what needs it; ``OSError`` where it fails
    on a full disk, ``MemoryError`` without memory.
    """
    # An outer make's flags are for its own children, not for ours.
    inherited = {key: value for key, value in os.environ.items() if key != "MAKEFLAGS"}
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**inherited, **environment},
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
    except FileNotFoundError:
        raise error(f"{command[0]} is not installed: {need}") from None
    with process:
        try:
            assert process.stdout is not None
            output = "".join(_heard(process.stdout, hear))
            process.wait()
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        require_resources(output, folder)
    return subprocess.CompletedProcess(command, process.returncode, output)


def _heard(lines: Iterable[str], hear: Callable[[str], None]) -> Iterator[str]:
    for line in lines:
        hear(line)
        yield line

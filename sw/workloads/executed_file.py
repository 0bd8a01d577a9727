"""Values of Python files, which are executed: a caller asks the user."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import FunctionType
from typing import Any, NoReturn
from unittest import mock

from gnarl.hw.lib.errors import GnarlError, WorkloadError, one_line
from gnarl.sw.workloads.text_file import read_text


def executed_value(path: Path, name: str) -> Any:
    """What a file gives the name, or what its function of that name returns; ``None`` if there is
    none. Raises ``WorkloadError`` naming file and line."""
    read_text(path)
    try:
        with _exits_as_errors(), redirect_stdout(sys.stderr):
            value = runpy.run_path(str(path), run_name="gnarl_model").get(name)
            if isinstance(value, FunctionType):
                value = value()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise WorkloadError(_fault(path, error)) from error
    return value


@contextmanager
def _exits_as_errors() -> Iterator[None]:
    """``os._exit`` raises ``SystemExit``: a file that calls it would end as if all were well."""
    process, leave = os.getpid(), os._exit

    def exit(status: int) -> NoReturn:
        if os.getpid() != process:  # one that the file has started
            leave(status)
        raise SystemExit(status)

    with mock.patch("os._exit", exit):
        yield


def _fault(path: Path, error: BaseException) -> str:
    """What running the Python file raised, at the last of its lines that led there."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{path}:{error.lineno}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    place = f"{path}:{lines[-1]}" if lines else str(path)
    text, kind = one_line(error), type(error).__name__
    is_named = isinstance(error, GnarlError) or text == kind
    return f"{place}: {text}" if is_named else f"{place}: {kind}: {text}"

"""Runs functions in processes that can be ended, and begin with all modules imported."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any

CONTEXT = get_context("forkserver")
"""A process that has imported what all need is forked for each: neither has a thread or the GPU's
driver been started in it."""

CONTEXT.set_forkserver_preload(["bench.cuda_parts.session.tasks"])


class Ended(Exception):
    """A process has not answered; in words."""


def call(function: Callable[..., Any], *arguments: Any, seconds: float) -> Any:
    """What a function returns in a process of its own.

    Raises ``Ended`` where the process takes longer, and is ended with all that it has started, or
    where it dies.
    """
    ours, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_answer, args=(theirs, function, arguments))
    process.start()
    theirs.close()
    try:
        if not ours.poll(max(0.0, seconds)):
            raise Ended(f"took more than {seconds:.0f} s")
        error, result = ours.recv()
    except EOFError:
        process.join()
        raise Ended(f"the process died, exit status {process.exitcode}") from None
    finally:
        _end(process)
        ours.close()
    if error is not None:
        raise error
    return result


def _answer(connection: Connection, function: Callable[..., Any], arguments: Any) -> None:
    os.setsid()
    try:
        connection.send((None, function(*arguments)))
    except Exception as error:
        connection.send((error, None))
    connection.close()
    os._exit(0)  # whatever the driver does at the end of a process takes time


def _end(process: ForkServerProcess) -> None:
    """Ends a process, and all that it has started."""
    assert process.pid is not None
    with suppress(ProcessLookupError):  # it has no group of its own yet
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()

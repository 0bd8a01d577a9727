"""Forks commands and scripts from a process that has everything imported.

``python -m tests.support.fork_server DESCRIPTOR MODULE`` calls ``warm_up`` of a module, then reads
requests from a socket. It has one thread, so that it can be forked. A child's descriptors,
environment, folder, arguments and streams are as if Python had been started for it, and the
interpreter ends it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import pickle
import runpy
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import IO, Any

with contextlib.suppress(ImportError):  # it is there with PyTorch Geometric
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # or its first bar starts a thread

LENGTH_BYTES = 8
"""Of a message's length, before the message."""

_THREAD_ENDS_S = 10
"""The system may have a thread yet that Python has seen the end of."""


@dataclass(frozen=True)
class Request:
    """``python -m MODULE`` or ``python -c CODE`` with arguments."""

    module: str
    code: str
    arguments: tuple[str, ...]
    folder: str
    environment: dict[str, str]
    before: Callable[[], object] | None
    """Is called where ``subprocess.Popen`` calls its ``preexec_fn``."""

    def run(self) -> None:
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update(self.environment)
        if self.before is not None:
            self.before()
        tempfile.tempdir = None
        sys.stdout = sys.__stdout__ = open_stream(1, "strict")  # type: ignore[assignment,misc]
        sys.stderr = sys.__stderr__ = open_stream(2, "backslashreplace")  # type: ignore[assignment,misc]
        sys.argv = ["-m" if self.module else "-c", *self.arguments]
        if self.module:
            runpy.run_module(self.module, run_name="__main__", alter_sys=True)
        else:
            sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(self.code, "<string>", "exec"), vars(sys.modules["__main__"]))


def open_stream(descriptor: int, errors: str) -> io.TextIOWrapper | None:
    """The stream that Python makes of a descriptor when it starts: none where it is closed."""
    try:
        os.fstat(descriptor)
    except OSError:
        return None
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    octets: IO[bytes] = open(descriptor, "wb", 0 if unbuffered else -1, closefd=False)
    return io.TextIOWrapper(
        octets,
        encoding=os.environ.get("PYTHONIOENCODING") or "utf-8",
        errors=errors,
        line_buffering=descriptor == 2,
        write_through=unbuffered,
    )


def check_for_threads() -> None:
    """What threads hold, a child that is forked would wait for."""
    assert threading.active_count() == 1
    tasks = Path("/proc/self/task")
    end = time.monotonic() + _THREAD_ENDS_S
    while tasks.exists() and len(list(tasks.iterdir())) > 1:
        assert time.monotonic() < end
        time.sleep(0.01)


def freeze() -> None:
    """Or collections of garbage in children would copy all pages; they are as rare as in commands,
    see ``gnarl.__main__``."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def serve(control: socket.socket) -> Request | None:
    """Returns in each child what it is to run, and nothing in the server once it is not needed."""
    while True:
        header, descriptors, *_ = socket.recv_fds(control, LENGTH_BYTES, 3)
        if not header:
            break
        request = pickle.loads(_receive(control, int.from_bytes(header)))
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if os.fork() == 0:
            control.close()
            if _attend(*descriptors):
                return request  # type: ignore[no-any-return]
        for descriptor in descriptors:
            os.close(descriptor)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    return None


def _receive(control: socket.socket, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        parts += control.recv(size - len(parts))
    return parts


def _attend(reply: int, stdout: int, stderr: int) -> bool:
    """Forks the child, where it returns true; its parent says the child's number, how it ended and
    what it took of the processor, and ends."""
    child = os.fork()
    if not child:
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        for descriptor in (reply, stdout, stderr):
            os.close(descriptor)
        return True
    status = 1
    try:
        os.close(stdout)
        os.close(stderr)
        _say(reply, child)
        _, wait_status, used = os.wait4(child, 0)
        _say(reply, (os.waitstatus_to_exitcode(wait_status), used.ru_utime + used.ru_stime))
        status = 0
    finally:
        os._exit(status)


def _say(reply: int, answer: Any) -> None:
    octets = pickle.dumps(answer)
    os.write(reply, len(octets).to_bytes(LENGTH_BYTES) + octets)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    importlib.import_module(sys.argv[2]).warm_up()
    check_for_threads()
    freeze()
    request = serve(socket.socket(fileno=int(sys.argv[1])))
    if request is not None:
        request.run()

"""Commands in processes of their own that need not import the project again: see ``fork_server``.

What starts Python itself is tested with ``subprocess``.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Self

from tests.support.fork_server import LENGTH_BYTES, Request

ROOT = Path(__file__).parents[2]

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

_ENVIRONMENT = {**os.environ, **ONE_THREAD}
"""Of servers: no test has changed it yet."""


class Forked:
    """A process, much as a ``subprocess.Popen`` of text: ``gnarl`` with arguments, or ``code``.

    ``before`` is called in it first; it must be a function of a module, or a partial one.
    ``server`` is the one of commands by default.
    """

    def __init__(
        self,
        *arguments: str | Path,
        code: str = "",
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        before: Callable[[], object] | None = None,
        stdout: IO[str] | None = None,
        server: Server | None = None,
    ) -> None:
        request = Request(
            *("" if code else "gnarl", code, tuple(map(str, arguments)), str(cwd or Path.cwd())),
            *(dict(os.environ if env is None else env), before),
        )
        self.returncode: int | None = None
        self._server = server or _commands()
        self._used_s = self._built_s = 0.0
        self.stdout, written = _pipe()
        self.stderr, errors = _pipe()
        self._reply, reply = socket.socketpair()
        out = written if stdout is None else stdout.fileno()
        self._server.send(request, [reply.fileno(), out, errors])
        reply.close()
        os.close(written)
        os.close(errors)
        self.pid: int = self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            self.kill()
        self.stdout.close()
        self.stderr.close()
        self.wait()

    def wait(self, timeout: float = 300) -> int:
        if self.returncode is None:
            self._reply.settimeout(timeout)
            self.returncode, used_s = self._answer()
            self._reply.close()
            self.count(used_s, self._built_s)
        assert self.returncode is not None
        return self.returncode

    def count(self, used_s: float, built_s: float) -> None:
        """Counts what the process has taken of the processor since it began, and builds of that."""
        self._server.used_s += used_s - self._used_s
        self._server.built_s += built_s - self._built_s
        self._used_s, self._built_s = used_s, built_s

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = 300) -> tuple[str, str]:
        """What is left to be read of stdout and stderr."""
        ending = threading.Timer(timeout, self.kill)
        ending.daemon = True
        ending.start()
        with self:
            with ThreadPoolExecutor(1) as pool:
                output = pool.submit(self.stdout.read)
                error = self.stderr.read()
            ended = ending.is_alive()
            ending.cancel()
            assert ended, f"still runs after {timeout} s"
        return output.result(), error

    def _answer(self) -> Any:
        with self._reply.makefile("rb") as reply:
            answer = reply.read(int.from_bytes(reply.read(LENGTH_BYTES)))
        return pickle.loads(answer)


def run(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """How a command ends, with the options of ``Forked``."""
    process = Forked(*arguments, **options)
    output, error = process.communicate()
    return subprocess.CompletedProcess(arguments, process.wait(), output, error)


def used_s() -> float:
    """Processor time of processes whose parents are servers, as far as it is known."""
    return sum(server.used_s for server in _SERVERS)


def built_s() -> float:
    """What builds for the cache took of ``used_s``, of processes that say so."""
    return sum(server.built_s for server in _SERVERS)


def _pipe() -> tuple[IO[str], int]:
    reader, writer = os.pipe()
    return os.fdopen(reader, encoding="utf-8", errors="surrogateescape"), writer


class Server:
    """Starts a process that calls ``warm_up`` of a module, which children are copies of."""

    def __init__(self, module: str, **environment: str) -> None:
        self.used_s = self.built_s = 0.0
        self._control, control = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.fork_server", str(control.fileno()), module],
            cwd=ROOT,
            env={**_ENVIRONMENT, **environment},
            stdin=subprocess.DEVNULL,
            pass_fds=[control.fileno()],
            start_new_session=True,
        )
        control.close()
        atexit.register(self._end)
        _SERVERS.append(self)

    def send(self, request: Request, descriptors: list[int]) -> None:
        octets = pickle.dumps(request)
        socket.send_fds(self._control, [len(octets).to_bytes(LENGTH_BYTES)], descriptors)
        self._control.sendall(octets)

    def _end(self) -> None:
        self._control.close()
        self._process.wait()


_SERVERS: list[Server] = []


@functools.cache
def _commands() -> Server:
    """One for each process that runs tests, from its first command on."""
    return Server("tests.support.warm_commands")

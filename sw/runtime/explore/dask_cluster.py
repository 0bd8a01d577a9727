"""Runs tasks on a Dask cluster that exists, whose workers may die."""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from gnarl.hw.lib.errors import GnarlError, one_line
from gnarl.sw.runtime.explore.outcome import RESULT, TRIES

CONNECT_S = 10.0
"""After which a cluster that does not answer is none."""

AWAY_S = 30.0
"""After which a cluster without workers has gone away."""

_POLL_S = 0.5

Function = Callable[[Any], dict[str, Any]]
Runner = Callable[[Mapping[int, Any]], Iterator[tuple[int, dict[str, Any]]]]


class ClusterError(GnarlError):
    """A cluster that there is not, or no more."""


@contextmanager
def on_cluster(function: Function, address: str) -> Iterator[Runner]:
    """Gives what runs ``function`` of each task, by the task's key, as the results come.

    function
        of a module that workers have, too; it takes and gives what can be pickled.
    address
        of the cluster's scheduler, such as ``tcp://host:8786``.

    A worker has one task at a time, and is given none before its result is here, so that a worker
    that dies takes no other result with it. Its task is run once more; if that worker dies, too,
    its result is an ``error``.

    Raises ``ClusterError`` where Dask is not installed or no cluster answers, and while it runs if
    the cluster goes away.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError("--dask: Dask is not installed: pip install 'gnarl[explore]'") from None

    class _Client(Client):
        def __del__(self) -> None:
            """Nothing: one that could not connect would wait for its end, and complain."""

    _silence()
    try:
        client = _Client(address, timeout=CONNECT_S)
    except (OSError, ValueError, TypeError) as error:
        raise ClusterError(f"--dask {address}: no cluster answers: {one_line(error)}") from None
    try:
        if not client.nthreads():
            raise ClusterError(f"--dask {address}: the cluster has no workers: must have one")
        yield lambda tasks: _run(client, function, tasks, address)
    finally:
        client.close(timeout=1)


def _run(
    client: Any, function: Function, tasks: Mapping[int, Any], address: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    from distributed import wait

    waiting, tries = deque(tasks), Counter[int]()
    running: dict[Any, tuple[int, str]] = {}
    seen = time.monotonic()
    while waiting or running:
        workers = _workers(client)
        seen = time.monotonic() if workers else seen
        if client.status != "running" or time.monotonic() - seen > AWAY_S:
            raise _gone(address)
        idle = workers - {worker for _, worker in running.values()}
        while waiting and idle:
            worker, at = idle.pop(), waiting.popleft()
            future = client.submit(function, tasks[at], pure=False, workers=[worker])
            running[future] = at, worker
        if not running:
            time.sleep(_POLL_S)  # until there are workers
            continue
        try:
            wait(list(running), timeout=_POLL_S, return_when="FIRST_COMPLETED")
        except TimeoutError:
            pass
        except (CancelledError, OSError):
            raise _gone(address) from None
        for future, (at, worker) in list(running.items()):
            is_dead = workers and worker not in workers
            if not (future.done() or is_dead):
                continue
            del running[future]
            result = _result(future, address) if future.done() else None
            future.cancel()
            if result is None:
                tries[at] += 1
                if tries[at] < TRIES:
                    waiting.appendleft(at)
                    continue
                result = {RESULT: {"error": f"its worker died, {TRIES} times: out of memory?"}}
            yield at, result


def _silence() -> None:
    """Its loggers say on stderr, over many lines, what is raised here in one."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _workers(client: Any) -> set[str]:
    """Addresses of the cluster's workers; none where it does not answer."""
    try:
        return set(client.nthreads())
    except OSError:
        return set()


def _result(future: Any, address: str) -> dict[str, Any] | None:
    """The result of a task that is done; ``None`` if it is lost with its worker."""
    from distributed import KilledWorker

    try:
        return future.result(timeout=CONNECT_S)
    except (KilledWorker, TimeoutError):
        return None
    except (CancelledError, OSError):
        raise _gone(address) from None


def _gone(address: str) -> ClusterError:
    return ClusterError(f"--dask {address}: the cluster has gone away; the same command goes on")

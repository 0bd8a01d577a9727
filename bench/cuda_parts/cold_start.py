"""What every contender begins with: its inputs on the device, empty caches, and the host ahead."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.cuda_parts.probes import Probes
from gnarl.sw.runtime.cuda.gpu.driver import Context, GpuError, call

DELAYS = (1.0, 10.0, 100.0)
"""Milliseconds that the host has to launch everything; the next is tried where it needs longer."""


class ColdStart:
    """Starts launches alike, whoever makes them."""

    def __init__(self, context: Context, probes: Probes) -> None:
        self._context = context
        self._probes = probes

    def put(self, stream: int, launch: Callable[[], None]) -> None:
        """Puts what ``launch`` launches into a stream, given by its handle.

        All that the device was asked for before, copies of inputs above all, is done when caches
        are emptied; and all is launched before any of it runs, so that events between launches see
        no time of the host. ``launch`` may be called again, where the host was too slow at first.
        Raises ``GpuError`` where it always is.
        """
        for delay in DELAYS:
            with self._context:
                call("cuCtxSynchronize")
            begin = time.perf_counter()
            self._probes.delay(stream, delay)
            self._probes.empty_caches(stream)
            launch()
            took = 1e3 * (time.perf_counter() - begin)
            if took < delay:
                return
        raise GpuError(
            f"launches took the host {took:.0f} ms: must be less than {DELAYS[-1]:.0f} ms to be "
            "timed without the host"
        )

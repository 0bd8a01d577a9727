"""Progress of work, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol


class Stages(Protocol):
    """Called with a stage's name when it begins; it ends with the ``with`` block.

    What the block gets is to be called with the share done, 0 to 1, as often as one likes; stages
    that cannot tell never call it.
    """

    def __call__(self, name: str) -> AbstractContextManager[Callable[[float], None]]: ...


def quiet(name: str) -> AbstractContextManager[Callable[[float], None]]:
    """``Stages`` that report nothing."""
    return nullcontext(lambda share: None)


class TimedStages:
    """Passes ``stages`` on.

    seconds
        how long each has taken in all, by its name, without the stages inside it.
    begun
        when the work began, by ``clock``: until now it was in stage ``start``.
    clock
        the time, in seconds.
    """

    def __init__(
        self,
        stages: Stages,
        begun: float | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.seconds: dict[str, float] = {}
        if begun is not None:
            self.seconds["start"] = clock() - begun
        self._clock = clock
        self._stages = stages
        self._inside = 0.0

    @contextmanager
    def __call__(self, name: str) -> Iterator[Callable[[float], None]]:
        begin = self._clock()
        before, self._inside = self._inside, 0.0
        try:
            with self._stages(name) as advance:
                yield advance
        finally:
            elapsed = self._clock() - begin
            self.seconds[name] = self.seconds.get(name, 0.0) + elapsed - self._inside
            self._inside = before + elapsed

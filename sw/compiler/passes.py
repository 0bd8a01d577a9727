"""Compilers as passes: what each is called, what it does, how they run, and who is told of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypeVar

from gnarl.hw.lib.errors import GnarlError, WorkloadError

StateT = TypeVar("StateT")
OptionsT = TypeVar("OptionsT")
ValueT = TypeVar("ValueT")


def _always(state: Any, options: Any) -> bool:
    return True


@dataclass(frozen=True)
class PassResult(Generic[StateT, OptionsT]):
    """A pass as users see it, by what it leaves.

    does
        what it does, in a line.
    texts
        the dump of a state that it left, by file ending (``txt``, ``dot``, …).
    check
        raises ``GnarlError`` for a state that it should not have left.
    is_reported
        whether a state that it left has anything to tell; by default always.
    """

    name: str
    does: str
    texts: Callable[[StateT, OptionsT], Mapping[str, str]]
    check: Callable[[StateT, OptionsT], None] | None = field(default=None, kw_only=True)
    is_reported: Callable[[StateT, OptionsT], bool] = field(default=_always, kw_only=True)


@dataclass(frozen=True, kw_only=True)
class Pass(PassResult[StateT, OptionsT]):
    """A pass of a compiler, from a state to the next one.

    run
        gives the state after the pass. The one before stays as it is.
    is_needed
        whether such a state and options need the pass; by default always.
    optional
        whether programs compute the same without it.
    """

    run: Callable[[StateT, OptionsT], StateT]
    is_needed: Callable[[StateT, OptionsT], bool] = _always
    optional: bool = False


@dataclass(frozen=True)
class Search(Generic[StateT, OptionsT]):
    """Passes that run together, some of them several times, until the best results are known.

    run
        gives the state after each of ``results``, and tells the trace how long passes ran.
    """

    results: tuple[PassResult[StateT, OptionsT], ...]
    run: Callable[[StateT, OptionsT, Trace], Iterable[StateT]]


AnyPass = Pass[StateT, OptionsT] | Search[StateT, OptionsT]


def run_passes(
    passes: Iterable[AnyPass[StateT, OptionsT]], state: StateT, options: OptionsT, trace: Trace
) -> StateT:
    """The state after ``passes``, in their order. Those that are not needed do not run.

    ``trace`` times them and gets their results. Raises what passes raise, ``PassError`` and
    ``StoppedError``.
    """
    last = state
    for result, last in states(passes, state, options, trace):
        if result.is_reported(last, options):
            check = None if result.check is None else partial(result.check, last, options)
            trace.after(result.name, partial(result.texts, last, options), check)
    return last


def states(
    passes: Iterable[AnyPass[StateT, OptionsT]], state: StateT, options: OptionsT, trace: Trace
) -> Iterator[tuple[PassResult[StateT, OptionsT], StateT]]:
    """Each pass with the state that it leaves, as it runs; ``trace`` times it."""
    for each in passes:
        if isinstance(each, Search):
            later = each.run(state, options, trace)
            for result, state in zip(each.results, later, strict=True):
                yield result, state
        elif each.is_needed(state, options):
            with trace.timed(each.name), taken_by(f"pass {each.name}"):
                state = each.run(state, options)
            yield each, state


def results(
    passes: Iterable[AnyPass[StateT, OptionsT]],
) -> tuple[PassResult[StateT, OptionsT], ...]:
    """All passes by name, those of searches among them, to be listed."""
    return tuple(
        result
        for each in passes
        for result in (each.results if isinstance(each, Search) else (each,))
    )


def named(
    passes: Collection[AnyPass[StateT, OptionsT]], names: Iterable[str]
) -> tuple[Pass[StateT, OptionsT], ...]:
    """The passes of these names in this order; one may come several times.

    Raises ``WorkloadError`` for a name that no pass has that runs alone.
    """
    known = {each.name: each for each in passes if isinstance(each, Pass)}
    for name in (names := list(names)):
        if name not in known:
            raise WorkloadError(f"pass {name}: must be one of {', '.join(known)}")
    return tuple(known[name] for name in names)


def without(
    passes: Collection[AnyPass[StateT, OptionsT]], names: Collection[str]
) -> tuple[AnyPass[StateT, OptionsT], ...]:
    """All passes but those of these names. Raises ``WorkloadError`` for what is not optional."""
    optional = [each.name for each in passes if isinstance(each, Pass) and each.optional]
    for name in names:
        if name not in optional:
            allowed = f"only {', '.join(optional)} may be" if optional else "no pass may be"
            raise WorkloadError(f"pass {name}: must not be left out: {allowed}")
    return tuple(each for each in passes if isinstance(each, Search) or each.name not in names)


def made(value: ValueT | None) -> ValueT:
    """``value`` of a state, which an earlier pass has made.

    Raises ``NotMadeError`` if none has, see ``taken_by``.
    """
    if value is None:
        raise NotMadeError("no pass before makes what is taken")
    return value


@contextmanager
def taken_by(user: str) -> Iterator[None]:
    """Around what takes results of passes.

    Raises ``WorkloadError`` where a list of passes lacks the one that makes them, or has it later.
    """
    try:
        yield
    except NotMadeError as error:
        raise WorkloadError(f"{user}: no pass before makes what it takes") from error


def text_of(lines: Iterable[str]) -> str:
    """The lines of a dump, each with its end."""
    return "".join(f"{line}\n" for line in lines)


class NotMadeError(GnarlError):
    """A result of a pass that has not run."""


class PassError(GnarlError):
    """A result of a pass that its checker refuses: an error of the compiler, not of the input."""


class StoppedError(Exception):
    """The compilation ended after the pass that it was to stop after."""


class PassTime(NamedTuple):
    """How long a pass ran, all its runs together."""

    seconds: float = 0.0
    runs: int = 0


class Trace:
    """What compilers report to. By default nothing is kept.

    progress
        called with the share done, 0 to 1.
    write
        called with a pass's name and its result as texts by file ending (``txt``, ``dot``, …), of
        every pass in ``only`` (``None``: all).
    stop_after
        the pass to end at, by ``StoppedError``.

    ``times``: how long each pass ran, by name, in the order in which they ended first.
    """

    def __init__(
        self,
        *,
        progress: Callable[[float], None] = lambda share: None,
        write: Callable[[str, Mapping[str, str]], None] | None = None,
        only: Collection[str] | None = None,
        stop_after: str = "",
    ) -> None:
        self.progress = progress
        self._write = write
        self._only = only
        self._stop_after = stop_after
        self._lock = Lock()
        self.times: dict[str, PassTime] = {}

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Around a run of pass ``name``, in any thread."""
        start = perf_counter()
        try:
            yield
        finally:
            taken = perf_counter() - start
            with self._lock:
                seconds, runs = self.times.get(name, PassTime())
                self.times[name] = PassTime(seconds + taken, runs + 1)

    def wants(self, name: str) -> bool:
        """Whether anyone looks at what pass ``name`` makes, for passes that run for that alone."""
        is_kept = self._write is not None and (self._only is None or name in self._only)
        return is_kept or name == self._stop_after

    def after(
        self,
        name: str,
        texts: Callable[[], Mapping[str, str]],
        check: Callable[[], None] | None = None,
    ) -> None:
        """Is called by the compiler when pass ``name`` has its result.

        ``check`` raises ``GnarlError`` if the result is wrong; it runs where results are kept.
        Raises ``PassError``, ``StoppedError``.
        """
        if self._write is not None:
            if check is not None:
                try:
                    check()
                except GnarlError as error:
                    raise PassError(f"pass {name}: {error}") from error
            if self._only is None or name in self._only:
                self._write(name, texts())
        if name == self._stop_after:
            raise StoppedError(name)

"""Compilations as named passes: how far they are, what each has made, and where to stop."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from gnarl.hw.lib.errors import GnarlError


class Pass(NamedTuple):
    """A pass of a compiler: its name, and what it does, in a line."""

    name: str
    does: str


def text_of(lines: Iterable[str]) -> str:
    """The lines of a dump, each with its end."""
    return "".join(f"{line}\n" for line in lines)


class PassError(GnarlError):
    """A result of a pass that its checker refuses: an error of the compiler, not of the input."""


class StoppedError(Exception):
    """The compilation ended after the pass that it was to stop after."""


class Trace:
    """What compilers report to. By default nothing is kept.

    progress
        called with the share done, 0 to 1.
    write
        called with a pass's name and its result as texts by file ending (``txt``, ``dot``, …), of
        every pass in ``only`` (``None``: all).
    stop_after
        the pass to end at, by ``StoppedError``.
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

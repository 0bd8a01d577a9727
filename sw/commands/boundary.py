"""Ends commands: errors become a line on stderr and an exit status, interrupts an end."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from typing import Any, Never, TextIO

import click

from gnarl.hw.lib.errors import GnarlError, one_line
from gnarl.sw import interrupted
from gnarl.sw.commands.held_lines import held_lines
from gnarl.sw.program.atomic import WRITING, remove_temporaries
from gnarl.sw.program.command_files import command_files
from gnarl.sw.workloads.refusals import InputWarning

DIFFERENT = 1
BAD_INPUT = 2
INTERNAL_ERROR = 3

_GRACE_S = 1.0
"""After an interrupt, until the process ends whatever it does: machine code hears none."""

_SHOWN = 2000
"""Characters of an error's line."""


class _Hidden(Exception):
    """An interrupt or a broken pipe, its cause, which click would end in its own way."""


class BoundedGroup(click.Group):
    """Commands whose every end is an exit status, and for all but success a line on stderr."""

    def main(self, *args: Any, **extra: Any) -> Never:
        extra["standalone_mode"] = False
        with ExitStack() as stack:
            stack.enter_context(command_files())
            of_inputs = stack.enter_context(_warnings_as_lines())
            print_held = stack.enter_context(held_lines())
            for stream in (sys.stdout, sys.stderr):
                if isinstance(stream, TextIOWrapper):  # its encoding may lack characters
                    stream.reconfigure(errors="replace")
            try:  # outside of what makes interrupts exceptions: one may come in its first line
                with _prompt_interrupts():
                    status = super().main(*args, **extra)
                    for warning in dict.fromkeys(of_inputs):
                        _print_line(warning)
                    print_held()
                    if sys.stdout is not None:  # closed before the start
                        sys.stdout.flush()
            except BaseException as error:
                status = _end(error)
        sys.exit(status)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        began = time.perf_counter()
        with _hidden():
            return super().make_context(*args, obj=began, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _hidden():
            return super().invoke(ctx)


def begun() -> float | None:
    """When the command that runs began its work, by ``time.perf_counter``; ``None`` if no
    ``BoundedGroup`` has begun it."""
    return click.get_current_context().find_root().obj


def refuse(text: str) -> int:
    """Prints one line on stderr; returns the exit status of bad input."""
    _print_line(text)
    return BAD_INPUT


def drop_output() -> None:
    """Drops output whose reader has closed it, or that cannot be written."""
    _drop(sys.stdout)


def _drop(stream: TextIO) -> None:
    """What is left in the stream's buffer goes nowhere, so that Python's last flush succeeds."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _end(error: BaseException) -> int:
    """Says what the error is; returns the exit status."""
    if _is_interrupt(error):
        _print_line(interrupted.LINE)
        return interrupted.STATUS
    match error:
        case click.UsageError():
            command = error.ctx.command_path if error.ctx else "gnarl"
            return refuse(f"{command}: {error.format_message()} See {command} --help")
        case click.ClickException():
            return refuse(f"gnarl: {error.format_message()}")
        case _Hidden():  # the reader of the output has closed it
            drop_output()
            return 0
        case OSError() if error.errno in WRITING and not error.filename:  # files name themselves
            drop_output()
            return refuse(f"gnarl: standard output: {error.strerror}")
        case OSError() if error.errno is not None:
            place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
            return refuse(f"gnarl: {place}{error.strerror}")
        case MemoryError():
            return refuse(f"gnarl: out of memory: {one_line(error)}")
        case GnarlError():
            return refuse(f"gnarl: {error}")
    _print_line(f"gnarl: internal error: {type(error).__name__}: {one_line(error)} {_kept(error)}")
    return INTERNAL_ERROR


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether it is one or comes from one: interrupts within imports become errors of these, and
    those within its own code numba makes ``SystemError``."""
    return isinstance(error, KeyboardInterrupt | click.Abort) or (
        error is not None and (_is_interrupt(error.__cause__) or _is_interrupt(error.__context__))
    )


def _kept(error: BaseException) -> str:
    """Writes the traceback to a file; says to which."""
    try:
        descriptor, path = tempfile.mkstemp(prefix="gnarl_", suffix=".log")
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.writelines(traceback.format_exception(error))
    except OSError as failure:
        return f"(no file for the traceback: {failure.strerror})"
    return f"(traceback: {path}; please report it)"


def _print_line(text: str) -> None:
    line = "".join(
        each if each.isprintable() else _escaped(each) for each in " ".join(text.split())
    )
    try:
        click.echo(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…", err=True)
    except OSError:  # there is nobody to read it
        _drop(sys.stderr)


def _escaped(character: str) -> str:
    """Escapes a character as Python does: a terminal would not show it, but do as it says."""
    return character.encode("unicode_escape").decode()


@contextmanager
def _hidden() -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, BrokenPipeError) as error:
        raise _Hidden from error


@contextmanager
def _warnings_as_lines() -> Iterator[list[str]]:
    """Prints warnings, but for those of inputs, which it collects: where an input is refused in the
    end, that is all there is to say."""
    of_inputs: list[str] = []

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        line = f"gnarl: warning: {message}"
        if issubclass(category, InputWarning):
            of_inputs.append(line)
        else:
            _print_line(line)

    before = warnings.showwarning
    warnings.showwarning = show
    try:
        yield of_inputs
    finally:
        warnings.showwarning = before


@contextmanager
def _prompt_interrupts() -> Iterator[None]:
    """SIGTERM interrupts, as Ctrl-C does. Machine code that goes on all the same is ended, and so
    is what goes on because Python drops exceptions there (finalizers, callbacks of weak
    references)."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    ended = threading.Event()

    def watch() -> None:
        while (number := os.read(reader, 1)) != b"\0":
            heard = number[0] == signal.SIGTERM or (
                number[0] == signal.SIGINT and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
            )
            if heard and not ended.wait(_GRACE_S):
                remove_temporaries()
                if sys.stderr.isatty():
                    click.echo("\x1b[?25h", err=True)  # progress bars hide the cursor
                _print_line(interrupted.LINE)
                os._exit(interrupted.STATUS)

    thread = threading.Thread(target=watch, daemon=True)

    def show_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            unraisable_before(unraisable)

    heard = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        heard.append(signal.SIGINT)
    before = {number: signal.getsignal(number) for number in heard}
    unraisable_before, sys.unraisablehook = sys.unraisablehook, show_unraisable
    pipe_before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    thread.start()
    try:
        for number in heard:
            signal.signal(number, signal.default_int_handler)
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(pipe_before)
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = unraisable_before
        os.write(writer, b"\0")
        thread.join()
        os.close(reader)
        os.close(writer)

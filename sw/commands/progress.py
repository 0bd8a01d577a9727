"""Progress on a console."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from gnarl.sw.commands.held_lines import print_or_hold

PATIENCE_S = 2.0
"""Seconds after which a stage shows itself."""


class _TimeLeftColumn(TimeRemainingColumn):
    """Time left, of stages that report their share."""

    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text()
        return Text.assemble(super().render(task), " left")


class ConsoleStages:
    """``Stages`` that show a bar for what takes longer than ``PATIENCE_S``, then a line; see
    ``gnarl.sw.commands.held_lines``.

    A stage inside another shows its name on that one's bar.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Progress | None = None

    @contextmanager
    def __call__(self, name: str) -> Iterator[Callable[[float], None]]:
        if self._bar is not None:
            (shown,) = self._bar.tasks
            outer = shown.description
            self._bar.update(shown.id, description=name)
            try:
                yield lambda share: None
            finally:
                self._bar.update(shown.id, description=outer)
            return
        bar = self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            _TimeLeftColumn(),
            console=self._console,
            transient=True,
        )
        task = bar.add_task(name, total=None)
        timer = threading.Timer(PATIENCE_S, bar.start)
        timer.daemon = True
        begin = time.perf_counter()
        if self._console.is_interactive:
            timer.start()
        try:
            yield lambda share: bar.update(task, total=1.0, completed=share)
        finally:
            self._bar = None
            timer.cancel()
            if timer.ident is not None:
                timer.join()
            if bar.live.is_started:
                bar.stop()
        elapsed = time.perf_counter() - begin
        if elapsed > PATIENCE_S:
            with self._console.capture() as line:
                self._console.print(f"{name}: {elapsed:.1f} s", style="dim")
            is_terminal = self._console.is_terminal
            print_or_hold(self._console.file, line.get(), is_terminal=is_terminal)

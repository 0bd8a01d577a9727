"""What several ``gnarl`` commands do alike: their hardware, and what they print."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

import click
from rich.console import Console
from rich.table import Table

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.commands.boundary import drop_output
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration

_WIDE = 10_000
"""Columns of a page that nobody sees whole."""


def hardware(config: str, overrides: tuple[str, ...], given: str | None) -> NamedConfiguration:
    """The configuration of the hardware, for a workload if one is named on the command line."""
    from gnarl.sw.runtime.run.device import Device

    configuration = load_configuration(config, overrides)
    target = configuration.target
    if target.executor.generator is None:
        raise click.UsageError(f"{config}: target {target.name} has no Verilog.")
    if given is None:
        return configuration
    if not target.compiler.filled_in:
        raise click.UsageError(
            f"Unexpected argument {given!r}: target {target.name} has one hardware for all "
            "workloads."
        )
    device = Device(configuration, backend="model")
    program = device.compile(target.reader.source(given, {}))
    try:
        return device.one_hardware(program)
    except WorkloadError as error:
        raise WorkloadError(f"{given}: {error}") from error


def workload_of(configuration: NamedConfiguration, given: str | None) -> str:
    """The workload on the command line, or else the one that the configuration names."""
    field = configuration.target.own_workload
    own = getattr(configuration.config, field) if field else ""
    if given is None and not own:
        raise click.UsageError(f"Missing argument 'WORKLOAD': {configuration.name} names none.")
    return own if given is None else given


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints names and texts in columns, whole: what is cut cannot be pasted."""
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    width = _WIDE if _is_piped() else None
    lines = text_lines(page(lambda console: console.print(table), width))
    click.echo("\n".join(line.rstrip() for line in lines))


def _is_piped() -> bool:
    """Whether another program reads the output, which has no width then."""
    return sys.stdout is None or not sys.stdout.isatty()


def page(write: Callable[[Console], None], width: int | None = None) -> str:
    """What ``write`` prints, on a page as wide as the terminal. rich itself would end the process
    where the output's reader has."""
    console = Console(markup=False, width=width)
    with console.capture() as page:
        write(console)
    return page.get()


def print_result(text: str) -> None:
    """Prints it if there is a reader: without, too, the exit status says whether results match."""
    try:
        click.echo(text, nl=False)
    except BrokenPipeError:
        drop_output()


def stderr() -> Console:
    """The console for progress."""
    return Console(stderr=True, markup=False)

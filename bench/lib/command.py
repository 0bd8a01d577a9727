"""The command line that every benchmark has."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from bench.lib.inputs import FOLDER
from bench.lib.pages import README, Page
from bench.lib.records import Record, ResultsError, load, save
from bench.lib.request import Request
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.program.atomic import write_text

WRONG = 1
BAD_INPUT = 2

FULL = "full"
"""The folder of results of ``--full`` below that of others: pages have those where there are
any."""

WORKLOADS_OPTION = click.option(
    "--workloads",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="GNARL_WORKLOADS",
    default=FOLDER,
    show_default="../shared/workloads",
    help="Folder of the real inputs. Also set by GNARL_WORKLOADS.",
)


class _WithOthers(click.Command):
    """A command, or another where the first argument is its name."""

    def __init__(self, first: click.Command, others: Mapping[str, click.Command]) -> None:
        super().__init__(first.name, callback=first.callback, params=first.params, help=first.help)
        self._others = others

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> click.Context:
        if args and (other := self._others.get(args[0])) is not None:
            name = f"{info_name} {args[0]}"
            return other.make_context(name, args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        return super().invoke(ctx) if ctx.command is self else ctx.command.invoke(ctx)


def with_others(first: click.Command, *others: click.Command) -> click.Command:
    """A command, which is another one where the first argument is its name."""
    return _WithOthers(first, {other.name or "": other for other in others})


@dataclass(frozen=True)
class Benchmark:
    """The parts of a target's benchmark.

    target
        names its results files, ``TARGET_PART.json``, and its page, ``docs/results/TARGET.md``.
    parts
        modules by name, each with ``run(request)``, which returns records and whether all went
        well; ``tables``, ``verdict`` and ``draw`` of records.
    page
        what the page says besides tables.
    backends
        those that a user chooses from, the first by default; of one or none, there is no option.
    options
        decorators of ``click`` for options of this benchmark alone; see ``Request.options``.
    full
        what ``--full`` measures besides; without it there is no such option.
    """

    target: str
    parts: Mapping[str, Any]
    page: Page
    backends: Sequence[str] = ("rtl", "model")
    options: Sequence[Callable[[Any], Any]] = ()
    full: str = ""

    def command(self, help: str) -> click.Command:
        """The command; ``help`` says what the parts are."""

        @click.command(help=help)
        @click.argument("parts", nargs=-1, type=click.Choice([*self.parts, "page"]))
        @self._backend_option
        @WORKLOADS_OPTION
        @click.option(
            "-o",
            "--output",
            type=click.Path(path_type=Path, file_okay=False),
            help="Folder for results and pictures; by default build/bench.",
        )
        @click.option(
            "--json",
            "json_file",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Write the records of all parts of this run to this file, too.",
        )
        @click.option("--seed", default=0, show_default=True, help="For inputs and the compiler.")
        @click.option(
            "--quick",
            is_flag=True,
            help="A few small cases of each part, to build/bench/quick by default.",
        )
        @self._full_option
        def main(
            parts: tuple[str, ...],
            workloads: Path,
            output: Path | None,
            json_file: Path | None,
            seed: int,
            quick: bool,
            backend: str = self.backends[0] if self.backends else "",
            full: bool = False,
            **options: Any,
        ) -> None:
            if json_file is not None and not json_file.parent.is_dir():
                raise click.BadParameter(f"{json_file.parent}: no such folder", param_hint="--json")
            if quick and full:
                raise click.UsageError("--quick and --full: must be one of them")
            output = output or Path("build/bench", "quick" if quick else FULL if full else "")
            try:
                console = Console(stderr=True, markup=False)
                request = Request(workloads, output, backend, seed, quick, console, options, full)
                well = self._run(parts or tuple(self.parts), request, json_file)
            except GnarlError as error:
                click.echo(f"bench.{self.target}: {error}", err=True)
                sys.exit(BAD_INPUT)
            sys.exit(0 if well else WRONG)

        for option in self.options:
            option(main)
        return main

    def _backend_option(self, function: Callable[..., None]) -> Callable[..., None]:
        if len(self.backends) < 2:
            return function
        return click.option(
            "--backend",
            type=click.Choice(self.backends),
            default=self.backends[0],
            show_default=True,
            help="Simulated RTL, compared with the model besides; or the model only.",
        )(function)

    def _full_option(self, function: Callable[..., None]) -> Callable[..., None]:
        if not self.full:
            return function
        return click.option(
            "--full",
            is_flag=True,
            help=f"All there is, with {self.full}, to build/bench/{FULL} by default.",
        )(function)

    def _run(self, parts: tuple[str, ...], request: Request, json_file: Path | None) -> bool:
        request.output.mkdir(parents=True, exist_ok=True)
        all_records: list[Record] = []
        well = True
        for part in parts:
            if part == "page":
                continue
            results = self._results(request.output, part)
            records, good = self.parts[part].run(replace(request, results=results))
            well = well and good
            all_records += records
            if records:
                save(results, records)
                self._show(part, records, request.output)
        if json_file is not None:
            save(json_file, all_records)
        if "page" in parts:
            self._write_page(request.output)
        return well

    def _write_page(self, output: Path) -> None:
        by_part = {
            part: load(file)
            for part in self.parts
            for file in (self._results(output, part), self._results(output / FULL, part))
            if file.is_file()
        }
        if not by_part:
            raise ResultsError(f"{output}: no results: bench.{self.target} makes some")
        path = Path(f"docs/results/{self.target}.md")
        old = path.read_text(encoding="utf-8") if path.is_file() else ""
        readme = self.page.with_summary(README, path, by_part, self.parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, self.page.text(old, by_part, self.parts))
        write_text(README, readme)

    def _results(self, output: Path, part: str) -> Path:
        return output / f"{self.target}_{part}.json"

    def _show(self, part: str, records: list[Record], output: Path) -> None:
        console = Console(markup=False)
        if not console.is_terminal:
            console.width = 140
        for title, cells in self.parts[part].tables(records).items():
            console.print(cells.for_console(f"{title} ({part})"))
            console.print()
        console.print(self.parts[part].verdict(records), highlight=False)
        picture = output / f"{self.target}_{part}.png"
        self.parts[part].draw(records, picture)
        results = self._results(output, part)
        console.print(f"{results}, {picture}\n", highlight=False, soft_wrap=True)

"""What the DPU and its compiler do, in figures: ``python -m bench.dpu``."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # started as a file, not as a module: what it imports lies above its folder
    sys.path[0] = str(Path(__file__).parents[1])

import click
from rich.console import Console

from bench.dpu_parts import points, readme, scaling, table
from bench.lib.inputs import FOLDER
from bench.lib.records import Record, ResultsError, load, save
from bench.lib.request import Request
from bench.lib.tables import replace_section
from hw.lib.errors import GnarlError

PARTS = {"table": table, "scaling": scaling, "points": points}
WRONG = 1
BAD_INPUT = 2


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice([*PARTS, "readme"]))
@click.option(
    "--backend",
    type=click.Choice(["rtl", "model"]),
    default="rtl",
    show_default=True,
    help="Simulated RTL, compared with the model besides; or the model only.",
)
@click.option(
    "--workloads",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="GNARL_WORKLOADS",
    default=FOLDER,
    show_default="../shared/workloads",
    help="Folder of the real inputs. Also set by GNARL_WORKLOADS.",
)
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
    "--quick", is_flag=True, help="A few small cases of each part, to build/bench/quick by default."
)
def main(
    parts: tuple[str, ...],
    backend: str,
    folder: Path,
    output: Path | None,
    json_file: Path | None,
    seed: int,
    quick: bool,
) -> None:
    """Measure the DPU; all three PARTS by default.

    \b
    table    cycles on real workloads, against the paper's compiler
    scaling  compile time and memory, from 10**3 to 10**6 operations
    points   cycles at the paper's 48 points of D, B and R
    readme   measures nothing: puts the results in build/bench into README.md

    Compile times are of a compiler that has compiled something small before, for numba translates
    its passes to machine code the first time.

    Exit status: 0 when all results are bit-exact, 1 when one is not or is missing, 2 for bad input.

    Example: python -m bench.dpu table --backend model --json table.json
    """
    if json_file is not None and not json_file.parent.is_dir():
        raise click.BadParameter(f"{json_file.parent}: no such folder", param_hint="--json")
    output = output or Path("build/bench/quick" if quick else "build/bench")
    try:
        request = Request(folder, output, backend, seed, quick, Console(stderr=True))
        well = _run(parts or tuple(PARTS), request, json_file)
    except GnarlError as error:
        click.echo(f"bench.dpu: {error}", err=True)
        sys.exit(BAD_INPUT)
    sys.exit(0 if well else WRONG)


def _run(parts: tuple[str, ...], request: Request, json_file: Path | None) -> bool:
    request.output.mkdir(parents=True, exist_ok=True)
    found: list[Record] = []
    well = True
    for part in parts:
        if part == "readme":
            continue
        records, good = PARTS[part].run(request)
        well = well and good
        found += records
        if records:
            save(_results(request.output, part), records)
            _show(part, records, request.output)
    if json_file is not None:
        save(json_file, found)
    if "readme" in parts:
        files = {part: _results(request.output, part) for part in PARTS}
        saved = {part: load(file) for part, file in files.items() if file.is_file()}
        if not saved:
            raise ResultsError(f"{request.output}: no results: bench.dpu makes some")
        replace_section(Path("README.md"), readme.SECTION, readme.section(saved))
    return well


def _results(output: Path, part: str) -> Path:
    return output / f"dpu_{part}.json"


def _show(part: str, records: list[Record], output: Path) -> None:
    console = Console()
    if not console.is_terminal:
        console.width = 140
    for title, cells in PARTS[part].tables(records).items():
        console.print(cells.for_console(f"{title} ({part})"))
        console.print()
    console.print(PARTS[part].verdict(records), highlight=False)
    picture = output / f"dpu_{part}.png"
    PARTS[part].draw(records, picture)
    console.print(f"{_results(output, part)}, {picture}\n", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()

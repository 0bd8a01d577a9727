"""The command ``gnarl cache``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

import click

from gnarl.sw.commands.options import GnarlCommand, json_option
from gnarl.sw.commands.output import print_result, print_table, stderr
from gnarl.sw.commands.progress import ConsoleStages
from gnarl.sw.program.cache_contents import (
    Content,
    cache_folder,
    contents,
    max_cache_bytes,
    prune,
)


@click.command(cls=GnarlCommand)
@click.option(
    "--prune",
    "pruned",
    is_flag=True,
    help="Remove what was not used for longest, and what failed builds have left.",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(0, 10**18),
    metavar="N",
    help="With --prune, what may stay; by default $GNARL_CACHE_MAX_BYTES, or 2000000000.",
)
@json_option
def cache(pruned: bool, max_bytes: int | None, as_json: bool) -> None:
    """List what is kept between runs, and how much room it takes.

    Simulators, Verilog, machine code and whatever else takes long to make, in the folder
    $GNARL_CACHE. All of it is made again when it is needed. Without this command, too, the folder
    is pruned once an hour.

    Example: gnarl cache --prune --max-bytes 500000000
    """
    if max_bytes is not None and not pruned:
        raise click.UsageError("--max-bytes needs --prune.")
    folder = cache_folder()
    limit = max_cache_bytes() if max_bytes is None else max_bytes
    removed: list[Content] = []
    if pruned:
        with ConsoleStages(stderr())("prune the cache"):
            removed = prune(folder, limit)
    left = contents(folder)
    if as_json:
        value = {
            "folder": str(folder),
            "max_bytes": limit,
            "bytes": _bytes(left),
            "kinds": [asdict(each) for each in _kinds(left)],
            "removed": {"entries": len(removed), "bytes": _bytes(removed)} if pruned else None,
        }
        print_result(json.dumps(value) + "\n")
        return
    rows = [
        (each.kind, f"{each.entries:,}", _megabytes(each.bytes), each.used) for each in _kinds(left)
    ]
    print_table(("kind", "entries", "MB", "last used"), rows)
    if pruned:
        click.echo(f"Removed: {_megabytes(_bytes(removed))} MB, entries: {len(removed):,}.")
    taken, most = _megabytes(_bytes(left)), _megabytes(limit)
    click.echo(f"{folder}: {taken} MB; is kept to {most} MB.")


@dataclass(frozen=True)
class _Kind:
    """What there is of one kind; ``used`` is the local time of the last use, in ISO 8601."""

    kind: str
    entries: int
    bytes: int
    used: str


def _kinds(listed: Sequence[Content]) -> list[_Kind]:
    """The largest kind first."""
    by_kind: dict[str, list[Content]] = {}
    for each in listed:
        by_kind.setdefault(each.kind, []).append(each)
    kinds = [
        _Kind(
            kind,
            len(alike),
            _bytes(alike),
            datetime.fromtimestamp(alike[-1].used).isoformat(" ", "seconds"),
        )
        for kind, alike in by_kind.items()
    ]
    return sorted(kinds, key=lambda each: -each.bytes)


def _bytes(listed: Sequence[Content]) -> int:
    return sum(each.bytes for each in listed)


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f}"

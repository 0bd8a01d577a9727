"""Runs cases by their numbers, and keeps what fails.

``python -m tests.fuzz --seed SEED --case NUMBER`` or ``--cases FIRST:END``.
"""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import click

from tests.fuzz.runner import Runner

KEPT = Path("build/fuzz")


@click.command()
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--case", type=int, help="One case, which is shown and kept, whatever it does.")
@click.option("--cases", default="0:1000", show_default=True, help="FIRST:END.")
def run(seed: int, case: int | None, cases: str) -> None:
    """Runs cases; those that fail are shown, and their folders kept in build/fuzz."""
    first, end = map(int, cases.split(":")) if case is None else (case, case + 1)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name, Runner(Path(name)) as runner:
        for number in range(first, end):
            outcome = runner.run(seed, number)
            counts["failed" if outcome["failure"] else f"status {outcome['status']}"] += 1
            if not outcome["failure"] and case is None:
                continue
            kept = KEPT / f"{seed}_{number}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(Path(name) / "case", kept, symlinks=True)
            click.echo(f"{kept}: {outcome['format']}: {outcome['damage']}")
            click.echo(f"  gnarl {shlex.join(outcome['command'])}"[:1000])
            click.echo(
                f"  status {outcome['status']}, {outcome['seconds']} s: {outcome['failure']}"
            )
            click.echo(f"  {outcome['stderr'][-3000:]}")
    click.echo(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    raise SystemExit(bool(counts["failed"]))


if __name__ == "__main__":
    run()

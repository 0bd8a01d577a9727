"""The command ``python -m tests.mutants``, and ``make mutants``."""

from __future__ import annotations

import json
import random
import signal
import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import click
from rich.console import Console
from rich.progress import Progress

from gnarl.sw.program.atomic import write_text
from tests.mutants.report import GOAL, KILLED, Outcome, page, share, summary, survivors
from tests.mutants.sites import Mutant, keyed, mutants
from tests.mutants.targets import GROUPS, Group, Neighbours, chosen
from tests.mutants.workspace import ROOT, BaselineError, Workspace

TARGETS = tuple(dict.fromkeys(group.target for group in GROUPS))
KINDS = tuple(dict.fromkeys(group.kind for group in GROUPS))
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
BUDGET_S = 120.0
"""Of the processor that tests next to a source may take together, beyond the first."""

SLACK = 4.0
SLACK_S = 30.0
"""How much longer than without a mutant tests may take."""


def equivalents() -> set[Mutant]:
    """Mutants that do what the source does; ``KeyError`` for an entry without any."""
    found: set[Mutant] = set()
    for each in tomllib.loads(EQUIVALENT.read_text())["mutant"]:
        file, function = each["file"], each["function"]
        of_file = mutants(file, (ROOT / file).read_bytes())
        if "before" in each:
            key = (file, function, each["before"], each["after"], each.get("number", 0))
            found.add(keyed(of_file)[key])
        else:
            inside = {mutant for mutant in of_file if mutant.function == function}
            if not inside:
                raise KeyError(file, function)
            found |= inside
    return found


def sample(group: Group, file: str | None, count: int, seed: int) -> list[Mutant]:
    """As many of the group's mutants, or of one file's, in the order of files."""
    names = [name for name in group.files(ROOT) if file in (None, name)]
    found = [each for name in names for each in mutants(name, (ROOT / name).read_bytes())]
    picked = random.Random(f"{seed} {group.name}").sample(range(len(found)), min(count, len(found)))
    return [found[place] for place in sorted(picked)]


def outcomes(
    group: Group,
    sampled: Sequence[Mutant],
    workspace: Workspace,
    seed: int,
    earlier: Collection[dict[str, Any]] = (),
    kept: Mapping[Mutant, Sequence[str]] | None = None,
) -> Iterator[Outcome]:
    """Yields the verdict on each mutant; those of ``earlier`` outcomes stand.

    ``kept``: tests of mutants, instead of those that are near to the file. Raises
    ``BaselineError``.
    """
    known = dict.fromkeys(equivalents(), "equivalent")
    decided = [{**entry, "tests": []} for entry in earlier]
    for verdict in (*KILLED, "broken"):
        for mutant in sampled:
            if Outcome(group, mutant, verdict).to_dict() in decided:
                known.setdefault(mutant, verdict)
    unknown = [mutant for mutant in sampled if mutant not in known]
    neighbours = Neighbours(workspace.root)
    kept = kept or {}
    near = {
        name: neighbours.of(name)
        for name in dict.fromkeys(mutant.file for mutant in unknown if not kept.get(mutant))
    }
    candidates = {test for tests in near.values() for test in (*tests, *group.whole)}
    candidates |= {test for mutant in unknown for test in kept.get(mutant, ())}
    seconds = workspace.seconds(sorted(candidates), seed, group.plain) if unknown else {}
    for mutant in sampled:
        if mutant in known:
            yield Outcome(group, mutant, known[mutant])
            continue
        tests = list(kept.get(mutant, ()))
        tests = tests or chosen(near[mutant.file], group.whole, seconds, BUDGET_S)
        limit_s = SLACK * sum(seconds[test] for test in tests) + SLACK_S
        verdict = workspace.verdict(mutant, tests, limit_s, seed, group.plain)
        yield Outcome(group, mutant, verdict, tuple(tests))


def kept_tests(group: Group, earlier: Sequence[dict[str, Any]]) -> dict[Mutant, list[str]]:
    """Mutants of ``earlier`` outcomes whose text is still there, each with its tests that are.

    Those without tests, whose verdict was known, are left out.
    """
    tests: dict[Mutant, list[str]] = {}
    of_file: dict[str, list[Mutant]] = {}
    for entry in earlier:
        file = entry["file"]
        if entry["group"] != group.name or not entry.get("tests") or not (ROOT / file).exists():
            continue
        if file not in of_file:
            of_file[file] = mutants(file, (ROOT / file).read_bytes())
        same = [
            mutant
            for mutant in of_file[file]
            if all(entry[name] == getattr(mutant, name) for name in _SAME)
        ]
        if same:
            nearest = min(same, key=lambda mutant: abs(mutant.line - entry["line"]))
            tests[nearest] = [test for test in entry["tests"] if (ROOT / test).exists()]
    return tests


_SAME = ("function", "operator", "before", "after")
"""Fields of a mutant that stay when its file changes elsewhere."""


@click.command()
@click.option("--target", type=click.Choice(TARGETS), help="Sources of one target only.")
@click.option("--kind", type=click.Choice(KINDS), help="Of one kind only.")
@click.option("--file", help="Of one file only, such as hw/sam/fabric/fabric.py.")
@click.option("--count", default=60, show_default=True, help="Mutants of each kind and target.")
@click.option("--seed", default=0, show_default=True, help="Which ones.")
@click.option(
    "--again",
    type=click.File(),
    help="What --json wrote: only those that survived there, or are new, are run.",
)
@click.option(
    "--same",
    type=click.File(),
    help="What --json wrote: its mutants, each with the tests of then.",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all outcomes.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write the page docs/mutants.md: of what was not run, the old one's sections stay.",
)
def main(
    target: str | None,
    kind: str | None,
    file: str | None,
    count: int,
    seed: int,
    again: TextIO | None,
    same: TextIO | None,
    json_file: Path | None,
    output: Path | None,
) -> None:
    """Change RTL generators, readers, compilers and models at random, one place at a time, and see
    whether the tests next to them fail.

    It works in a copy; the sources stay as they are. Exit status: 0 when at least
    90 % of the mutants of every kind and target were killed, 1 when fewer were, 2 for bad input or
    tests that fail without a mutant.

    Example: python -m tests.mutants --target sam --kind RTL --count 20
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    groups = [g for g in GROUPS if target in (None, g.target) and kind in (None, g.kind)]
    earlier = _load(again, "--again") if again else []
    first = _load(same, "--same") if same else []
    kept = {group: kept_tests(group, first) for group in groups} if same else None
    if kept is None:
        plan = {group: sample(group, file, count, seed) for group in groups}
    else:
        plan = {group: [m for m in kept[group] if file in (None, m.file)] for group in groups}
    plan = {group: sampled for group, sampled in plan.items() if sampled}
    if not plan and same:
        raise click.UsageError(f"--same {same.name}: none of its mutants is there any more")
    if not plan:
        raise click.UsageError(f"--file {file}: must be a source of {', '.join(TARGETS)}")
    found: list[Outcome] = []
    console = Console(stderr=True, markup=False)
    try:
        with Workspace() as workspace, Progress(console=console) as progress:
            for group, sampled in plan.items():
                bar = progress.add_task(group.name, total=len(sampled))
                tests = kept[group] if kept else None
                for outcome in outcomes(group, sampled, workspace, seed, earlier, tests):
                    found.append(outcome)
                    progress.advance(bar)
                    _tell(progress, outcome)
    except BaselineError as error:
        console.print(f"Error: {error}", highlight=False, soft_wrap=True)
        sys.exit(2)
    finally:
        if json_file:
            texts = [outcome.to_dict() for outcome in found]
            write_text(json_file, json.dumps(texts, indent=1) + "\n")
    wide = Console(width=max(120, Console().width), markup=False)
    wide.print(survivors(found).for_console("Survivors"), summary(found).for_console("Mutants"))
    if output:
        old = output.read_text() if output.exists() else ""
        write_text(output, page(old, found, f"--count {count} --seed {seed}"))
    by_group = [[o for o in found if o.group is group] for group in plan]
    sys.exit(any(share(outcomes) < GOAL for outcomes in by_group))


def _load(file: TextIO, option: str) -> list[dict[str, Any]]:
    """Outcomes that ``--json`` wrote. Raises ``click.UsageError`` for what is none."""
    try:
        return list(json.load(file))
    except (ValueError, TypeError) as error:
        raise click.UsageError(f"{option} {file.name}: not what --json writes: {error}") from error


def _tell(progress: Any, outcome: Outcome) -> None:
    """Names a survivor at once."""
    if outcome.verdict == "survived":
        mutant = outcome.mutant
        place = f"{mutant.file}:{mutant.line}"
        progress.console.print(
            f"{place} {mutant.function}: {mutant.before} -> {mutant.after}",
            highlight=False,
            soft_wrap=True,
        )


if __name__ == "__main__":
    main()

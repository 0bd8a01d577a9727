"""What became of mutants, as tables and as the page ``docs/mutants.md``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.lib.tables import Cells
from manual.markers import find_section, marked
from tests.mutants.sites import Mutant
from tests.mutants.targets import GROUPS, Group

GOAL = 0.9
KILLED = ("killed", "timeout")


@dataclass(frozen=True)
class Outcome:
    """A mutant of a group and its verdict.

    ``killed``; ``timeout``, as good; ``survived``; ``equivalent``: survived, and does what the
    source does; ``broken``: not even imported. ``tests`` are the files that decided, in their
    order; none where the verdict was known.
    """

    group: Group
    mutant: Mutant
    verdict: str
    tests: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        fields = asdict(self.mutant)
        del fields["start"], fields["end"]
        return {
            "group": self.group.name,
            **fields,
            "verdict": self.verdict,
            "tests": list(self.tests),
        }


def share(outcomes: Sequence[Outcome]) -> float:
    """The share of changes of behaviour that were killed; 1 if there are none."""
    killed = sum(outcome.verdict in KILLED for outcome in outcomes)
    lived = sum(outcome.verdict == "survived" for outcome in outcomes)
    return killed / (killed + lived) if killed + lived else 1.0


def summary(outcomes: Sequence[Outcome]) -> Cells:
    """A row for each group: how many there were of each verdict."""
    rows = []
    for name in dict.fromkeys(outcome.group.name for outcome in outcomes):
        found = [outcome for outcome in outcomes if outcome.group.name == name]
        verdicts = [outcome.verdict for outcome in found]
        killed = sum(verdicts.count(verdict) for verdict in KILLED)
        others = [verdicts.count(verdict) for verdict in ("survived", "equivalent", "broken")]
        rows.append((name, *map(str, (killed, *others)), f"{share(found):.0%}"))
    return Cells(("", "killed", "survived", "equivalent", "not imported", "share killed"), rows)


def survivors(outcomes: Sequence[Outcome]) -> Cells:
    lived = [outcome.mutant for outcome in outcomes if outcome.verdict == "survived"]
    rows = [
        (f"{each.file}:{each.line}", each.function, _shown(each.before), _shown(each.after))
        for each in lived
    ]
    return Cells(("place", "in", "before", "after"), rows, names=4)


def page(old: str, outcomes: Sequence[Outcome], sampled: str) -> str:
    """The page, as Markdown; groups without outcomes stay as they are on the ``old`` one.

    ``sampled``: the command's options that say which mutants there are.
    """
    blocks = [_ABOUT]
    for group in GROUPS:
        found = [outcome for outcome in outcomes if outcome.group == group]
        name = group.name.replace(" ", "_")
        body = (
            _section(group, found, sampled) if found else find_section(old, name) or "Not run yet."
        )
        blocks += [f"## {group.name}", marked(name, body)]
    return "\n\n".join(blocks) + "\n"


def _section(group: Group, outcomes: Sequence[Outcome], sampled: str) -> str:
    """Tables and the command, as Markdown."""
    command = f"python -m tests.mutants --target {group.target} --kind {group.kind} {sampled}"
    blocks = [summary(outcomes).to_markdown(), f"`{command}`"]
    lived = survivors(outcomes)
    if lived.body:
        rows = [[f"`{cell}`".replace("|", "\\|") for cell in row] for row in lived.body]
        blocks.append(Cells(lived.header, rows, names=4).to_markdown())
    return "\n\n".join(blocks)


def _shown(text: str) -> str:
    """On one line."""
    text = " ".join(text.split())
    return f"{text[:77]}..." if len(text) > 80 else text


_ABOUT = """# Mutants

Small changes to hardware generators, compilers and models, made at random places, each of which \
some test next to the source has to notice ([how](development.md#mutants)). Not counted: changes \
that leave the behaviour as it is, whose reasons are in `tests/mutants/equivalent.toml`, and those \
that cannot even be imported. Below each table the survivors.

Survivors become tests: what share of all mutants lives, another seed says better than this one."""

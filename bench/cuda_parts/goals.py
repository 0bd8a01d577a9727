"""Figures beside what the paper has, and what is to be reached."""

from __future__ import annotations

from bench.lib.summary import mark


def goal_line(
    what: str,
    value: float | None,
    *,
    goal: float | None = None,
    paper: float | None = None,
    percent: bool = False,
) -> str:
    """A line of a verdict: a value, the paper's, and whether it is at least the ``goal``.

    ``None``: it was not measured.
    """
    if value is None:
        return f"{what}: not measured"

    def text(number: float) -> str:
        return f"{100 * number:.3g} %" if percent else f"{number:.3g}"

    parts = [f"{what}: {text(value)}"]
    if paper is not None:
        parts.append(f"paper {text(paper)}")
    if goal is not None:
        parts.append(f"goal {text(goal)} {mark(value >= goal)}")
    return ", ".join(parts)


def most_line(what: str, value: float | None, goal: float, unit: str) -> str:
    """A line like ``goal_line``, of a value that must be at most the ``goal``."""
    if value is None:
        return f"{what}: not measured"
    return f"{what}: {value:.3g} {unit}, goal {goal:g} {unit} {mark(value <= goal)}"

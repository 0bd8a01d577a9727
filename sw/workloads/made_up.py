"""Inputs whose values nobody gave, so that they are made up."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

MadeUp = Mapping[str, str]
"""Kinds of values by the input's name: ``random, seed 0``, ``zeros``, or those of a size."""

ZEROS = "zeros"

_SHOWN = 4


def random_values(names: Iterable[str], seed: int) -> dict[str, str]:
    """Inputs with values that follow from ``seed``."""
    return dict.fromkeys(names, f"random, seed {seed}")


def without(made_up: MadeUp, given: Container[str]) -> dict[str, str]:
    """All but those that are ``given`` after all."""
    return {name: values for name, values in made_up.items() if name not in given}


def made_up_text(made_up: MadeUp) -> str:
    """The made-up values as people read them: the first names of each kind of values, and how many
    more there are."""
    kinds: dict[str, list[str]] = {}
    for name, values in made_up.items():
        kinds.setdefault(values, []).append(name)
    parts = []
    for values, names in kinds.items():
        shown = ", ".join(names[:_SHOWN])
        more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
        parts.append(f"{shown}{more} ({values})")
    return "; ".join(parts)

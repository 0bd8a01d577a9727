"""Damage to the tree of a JSON text."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from tests.fuzz.damage_text import ODD

_VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 2**31, 2**32, 2**63, -(2**63) - 1, 10**400),
    *(0.5, 1e39, 1e-320, float("nan"), float("inf"), float("-inf")),
    *("", "x", "float32", "ünï", [], {}, [[]], [0], {"": 0}, [None], "\ud800"),
)
_REPEATED = "repeated key"


def change_tree(text: str, random: Random) -> str:
    """One to three changes of values and keys; a text that is no JSON, or that other damage has
    nested too deeply to be read, stays as it is."""
    try:
        tree = [json.loads(text)]
    except (ValueError, RecursionError):
        return text
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        change = random.choice(
            (_set, _set, _nudge, _nudge, _remove, _rename, _repeat, _move, _nest)
        )
        change(*random.choice(_places(tree)), random)
    # A dictionary has no key twice, its text may.
    return json.dumps(tree[0]).replace(_REPEATED, "")


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Every container below with each of its keys or indices."""
    keys = tree if isinstance(tree, dict) else range(len(tree))
    found = [(tree, key) for key in keys]
    for _, value in [(key, tree[key]) for key in keys]:
        if isinstance(value, dict | list):
            found += _places(value)
    return found


def _set(container: Any, key: Any, random: Random) -> None:
    container[key] = random.choice(_VALUES)


def _nudge(container: Any, key: Any, random: Random) -> None:
    """To a value of the same kind, which may well be right."""
    match container[key]:
        case bool(value):
            container[key] = not value
        case int(value) | float(value):
            container[key] = value + random.choice((-1, 1))
        case list(value):
            random.shuffle(value)
        case dict(value):
            container[key] = dict(random.sample(list(value.items()), len(value)))


def _remove(container: Any, key: Any, random: Random) -> None:
    if isinstance(container, dict):
        del container[key]
    else:
        container[key] = random.choice(([], None))


def _rename(container: Any, key: Any, random: Random) -> None:
    if isinstance(container, dict):
        container[random.choice((*ODD, *container))] = container.pop(key)


def _repeat(container: Any, key: Any, random: Random) -> None:
    if isinstance(container, dict):
        container[f"{key}{_REPEATED}"] = random.choice((container[key], *_VALUES))
    elif len(container) > 1:
        container.append(container[key])


def _move(container: Any, key: Any, random: Random) -> None:
    other = random.choice(list(container) if isinstance(container, dict) else range(len(container)))
    container[key], container[other] = container[other], container[key]


def _nest(container: Any, key: Any, random: Random) -> None:
    for _ in range(random.choice((1, 2, 200))):
        container[key] = [container[key]]


TREE = (change_tree,)

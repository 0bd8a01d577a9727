"""Nested lists as SAM streams, and random ones with empty fibers everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from gnarl.hw.sam.token import DONE, EMPTY, Kind, stop
from tests.support.sam.tokens import kind_of

MAX_DEPTH = 4

LANES_THAT_DISAGREE = [
    ("1 S0 S1 D", "1 S0 S1 D", "1 S1 D", "1 S1 D"),
    ("1 S0 D", "1 S0 D", "1 D", "1 D"),
    ("D", "D", "S0 D", "S0 D"),
    ("1 S0 D", "S0 D", "1 S0 D", "1 S0 D"),
    ("1 S0 D", "1 S0 D", "1 S0 D", "S0 D"),
    ("N S0 D", "1 S0 D", "1 S0 D", "1 S0 D"),
    ("1 S0 D", "S0 S0 D", "S0 D", "S0 D"),
    ("S0 D", "S0 D", "1 S0 D", "S0 S0 D"),
    ("1 S0 D", "S0 S0 D", "1 S0 D", "1 S0 D"),
    ("1 2 S0 D", "S0 2 S0 D", "2 S0 D", "1 S0 D"),
]
"""Coordinates and references of two lanes, as no two lookups give them: faults of every joiner."""

LEVELS_THAT_DISAGREE = [
    ("S0 D", "1 D"),
    ("0 1 S0 D", "1 S1 D"),
    ("0 S0 D", "1 S2 D"),
    ("S0 D", "S0 D"),
    ("0 S0 D", "D"),
    ("D", "S1 D"),
]
"""An outer and an inner stream that are not nested in each other."""


def stream(tree: Any, depth: int) -> list[int]:
    """The stream of lists nested ``depth`` deep, whose leaves are tokens; depth 0: one token.

    Every list ends in one stop, that of the lists which end along with it; a list without lists in
    it shows as its own stop only. Source: SAM.
    """
    return [*_fibers(tree, depth), DONE]


def _fibers(tree: Any, depth: int) -> list[int]:
    if depth == 0:
        return [tree]
    if depth == 1:
        return [*tree, stop(0)]
    tokens = [token for child in tree for token in _fibers(child, depth - 1)]
    return [*tokens[:-1], tokens[-1] + 1] if tokens else [stop(depth - 1)]


def mapped(function: Callable[[Any], Any], tree: Any, depth: int) -> Any:
    """The same nesting with ``function`` of what lies ``depth`` deep."""
    if depth == 0:
        return function(tree)
    return [mapped(function, child, depth - 1) for child in tree]


def depths(least: int = 1, most: int = MAX_DEPTH) -> st.SearchStrategy[int]:
    return st.integers(least, most)


def trees(depth: int, leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Lists nested ``depth`` deep, any of them empty."""
    tree = leaf
    for _ in range(depth):
        tree = st.lists(tree, max_size=3)
    return tree


def words(width: int, *, empty: bool = True) -> st.SearchStrategy[int]:
    """Data tokens of ``width`` bits, and empty ones unless asked not to."""
    data = st.integers(0, (1 << width) - 1)
    return st.one_of(data, st.just(EMPTY)) if empty else data


def lanes(crd_width: int, ref_width: int) -> st.SearchStrategy[dict[int, int]]:
    """A fiber as references by their coordinates, in order."""
    found = st.dictionaries(words(crd_width, empty=False), words(ref_width), max_size=8)
    return found.map(lambda fiber: dict(sorted(fiber.items())))


def lane_streams(tree: Any, depth: int) -> list[list[int]]:
    """Coordinates and references of the first lane, then of the second one.

    ``tree``: nested ``depth`` - 1 deep, with pairs of ``lanes`` in it.
    """

    def of(lane: int, take: Callable[[dict[int, int]], Any]) -> list[int]:
        return stream(mapped(lambda pair: list(take(pair[lane])), tree, depth - 1), depth)

    return [of(lane, take) for lane in (0, 1) for take in (dict.keys, dict.values)]


def stalls() -> st.SearchStrategy[dict[str, Any]]:
    """Arguments of ``run_block``: how often streams pause, and an end to blocks that hang."""
    return st.fixed_dictionaries(
        {
            "stalls": st.sampled_from([0.0, 0.3, 0.7]),
            "seed": st.integers(0, 1 << 16),
            "cycles": st.just(5000),
        }
    )


def fibers(tokens: Sequence[int]) -> list[list[int]]:
    """A stream's fibers, each up to and with its stop; what follows the last stop is left out."""
    found: list[list[int]] = [[]]
    for token in tokens:
        found[-1].append(token)
        if kind_of(token) == Kind.STOP:
            found.append([])
    return found[:-1]

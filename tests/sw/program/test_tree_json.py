"""Trees of dataclasses as JSON, and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.sw.program.tree_json import Word, decoded, encoded


@dataclass(frozen=True)
class Colour:
    name: str


@dataclass(frozen=True)
class Leaf:
    value: int | float | str | None
    colour: Colour


@dataclass(frozen=True)
class Branch:
    name: str
    pair: tuple[int, bool]
    below: tuple[Tree, ...]


Tree = Leaf | Branch

WORDS = {Colour: Word(lambda colour: colour.name, {"red": Colour("red")}.__getitem__)}

LEAVES = st.builds(
    Leaf,
    st.none() | st.integers() | st.floats(allow_nan=False) | st.text(),
    st.just(Colour("red")),
)
TREES = st.recursive(
    LEAVES,
    lambda trees: st.builds(
        Branch,
        st.text(),
        st.tuples(st.integers(), st.booleans()),
        st.lists(trees, max_size=3).map(tuple),
    ),
    max_leaves=8,
)


@given(TREES)
def test_what_was_written_is_read(tree: Tree):
    found = decoded(Tree, json.loads(json.dumps(encoded(tree, WORDS))), WORDS)
    assert found == tree
    assert repr(found) == repr(tree)  # 1, 1.0 and True differ


def test_dataclasses_are_lists():
    tree = Branch("top", (3, True), (Leaf(0.5, Colour("red")),))
    assert encoded(tree, WORDS) == ["Branch", "top", [3, True], [["Leaf", 0.5, "red"]]]


@pytest.mark.parametrize(
    "value, text",
    [
        (["Twig", 1], "['Twig', 1]: must be one of Leaf, Branch"),
        ({"Leaf": 1}, "{'Leaf': 1}: must be one of Leaf, Branch"),
        (["Leaf", 1], "['Leaf', 1]: must be a Leaf of 2 fields"),
        (["Leaf", [], "red"], "[]: must be one of int, float, str, NoneType"),
        (["Leaf", True, "red"], "True: must be one of int, float, str, NoneType"),
        (["Leaf", 1, "blue"], "'blue': must be a Colour"),
        (["Leaf", 1, 3], "3: must be a str"),
        (["Branch", 1, [1, True], []], "1: must be a str"),
        (["Branch", "x", [1], []], "[1]: must have 2 elements"),
        (["Branch", "x", [1, 1], []], "1: must be a bool"),
        (["Branch", "x", [1, True], {}], "{}: must be a list"),
    ],
)
def test_what_is_no_tree_is_refused(value: Any, text: str):
    with pytest.raises(ValueError) as caught:
        decoded(Tree, value, WORDS)
    assert str(caught.value) == text


def test_other_values_are_not_written():
    with pytest.raises(TypeError, match=r"^\[1\]: not supported$"):
        encoded(Leaf([1], Colour("red")), WORDS)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Renamed:
    NAME_IN_FILES: ClassVar[str] = "Before"

    value: int


def test_a_class_may_have_another_name_in_files():
    assert encoded(Renamed(1)) == ["Before", 1]
    assert decoded(Renamed, ["Before", 1]) == Renamed(1)
    with pytest.raises(ValueError, match=r"must be a Before of 1 fields$"):
        decoded(Renamed, ["Renamed", 1])

"""Places of tensors in the memory that a machine's arrays share."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.errors import ProgramError
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.graph import Graph
from gnarl.hw.sam.memory.placement import MemoryRows
from gnarl.hw.sam.memory_map import array_windows
from gnarl.sw.compiler.sam.placement import (
    PlacedLaunch,
    own_places,
    places,
    require_places,
)
from gnarl.sw.compiler.sam.sections import graph_of, kernel_of
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import parse_program
from tests.support.sam.models import compiled

FABRIC = load_configuration("sam_fabric_ml", ()).config
CHAIN = (
    "t(i,j)=relu(A(i,j)); u(i,j)=t(i,j)*2; v(i,j)=u(i,j)+t(i,j); w(i,j)=relu(v(i,j))"
    " -f=A:ds -f=t:ds -f=u:ds -f=v:ds -f=w:ds"
)
SHAPE = (6, 5)


def chain(config: SamConfig) -> Program:
    return compiled(parse_program(CHAIN), {"A": np.ones(SHAPE)}, [], "factored", config=config)


def by_tensor(config: SamConfig) -> list[dict[tuple[str, str], tuple[int, int]]]:
    """For each launch, the places of tensors' arrays that its blocks use."""
    program, found = chain(config), []
    numbers = [window.name for window in array_windows(config)]
    for launch in program.launches:
        own: dict[tuple[str, str], tuple[int, int]] = {}
        for block in graph_of(launch.sections).blocks:
            for array in block.arrays:
                number = numbers.index(f"{block.name}_{array.name}")
                base, rows = launch.sections["places"][number].tolist()
                key = block["tensor"], array.name
                assert own.setdefault(key, (base, rows)) == (base, rows)
        found.append(own)
    return found


def apart(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] + one[1] <= other[0] or other[0] + other[1] <= one[0]


def test_a_tensor_stays_where_it_was_written():
    launches = by_tensor(FABRIC)
    everywhere = {key: place for own in launches for key, place in own.items()}
    assert all(everywhere[key] == place for own in launches for key, place in own.items())
    assert {("A", "vals"), ("t", "seg"), ("u", "crd"), ("w", "vals")} <= everywhere.keys()
    assert all(apart(*pair) for pair in combinations(everywhere.values(), 2))


def test_places_are_free_again_where_memory_is_small():
    """Ten arrays of 16 words: A, t, u, v and w have ten of 30 rows, which do not fit at once."""
    config = replace(FABRIC, array_words=30)
    memory = MemoryRows.of(array_windows(config))
    launches = by_tensor(config)
    used = {key: place for own in launches for key, place in own.items()}
    assert sum(rows for (_, array), (_, rows) in used.items() if array != "seg") > memory.words - 30
    for own in launches:
        assert all(apart(*pair) for pair in combinations(own.values(), 2))
    # t is read two launches later.
    (t,) = {own["t", "vals"] for own in launches if ("t", "vals") in own}
    assert apart(t, launches[1]["u", "vals"])


def test_machines_of_their_own_have_arrays_of_their_own():
    config = SamConfig(memory="shared", array_words=64)
    for launch in chain(config).launches:
        own = SamConfig.from_dict(launch.config)
        assert np.array_equal(launch.sections["places"], own_places(own))
    assert all(not len(each.sections["places"]) for each in chain(SamConfig()).launches)


@given(st.integers(16, 200), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_what_a_launch_uses_lies_apart_in_the_memory(array_words, shapes):
    """Programs of any length and size: what lives at the same time is apart, and within memory."""
    config = replace(FABRIC, array_words=array_words)
    texts = [
        f"t{n}(i{n},j{n})=relu(A{n}(i{n},j{n})) -f=A{n}:ss -f=t{n}:ss" for n in range(len(shapes))
    ]
    launches = []
    for number, (text, shape) in enumerate(zip(texts, shapes, strict=True)):
        # Every other launch reads what the one before wrote.
        name = f"t{number - 1}" if number % 2 else f"A{number}"
        size = shapes[number - 1] if number % 2 else shape
        program = parse_program(text.replace(f"A{number}", name))
        tensors = {name: np.zeros(size)}
        (launch,) = compiled(program, tensors, [], "factored", config=config).launches
        found = program_shapes(program, {name: size}).tensors
        launches.append(PlacedLaunch(graph_of(launch.sections), kernel_of(launch.sections), found))
    numbers = [window.name for window in array_windows(config)]
    for launch, placed in zip(launches, places(config, launches), strict=True):
        require_places(config, placed)
        used = [tuple(placed[numbers.index(name)].tolist()) for name in _names(launch.graph)]
        assert all(apart(*pair) for pair in combinations(used, 2))
        assert all(rows >= 1 for _, rows in used)


def _names(graph: Graph) -> list[str]:
    return [f"{block.name}_{array.name}" for block in graph.blocks for array in block.arrays]


def test_places_outside_of_the_memory():
    placed = own_places(FABRIC)
    require_places(FABRIC, placed)
    for number in range(len(placed)):
        wrong = placed.copy()
        wrong[number, 1] += 1 << 20
        with pytest.raises(ProgramError, match="^places: array .*: rows .* must be within"):
            require_places(FABRIC, wrong)
    with pytest.raises(ProgramError, match=r"^places are \[3, 2\]: must be \[16, 2\]$"):
        require_places(FABRIC, placed[:3])


def test_a_program_whose_places_are_not_in_the_memory():
    program = chain(FABRIC)
    launch = program.launches[0]
    wrong = launch.sections["places"].copy()
    wrong[:, 0] += 1 << 20
    broken = replace(launch, sections={**launch.sections, "places": wrong})
    with pytest.raises(ProgramError, match="places: array "):
        replace(program, launches=(broken, *program.launches[1:])).check()

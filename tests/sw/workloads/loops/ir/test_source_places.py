"""Places of nests, which outlast their text."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.loops.c import source as c_source
from gnarl.sw.workloads.loops.ir.printer import print_nest
from gnarl.sw.workloads.loops.ir.source_places import places_of, with_places
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.python.text import PythonText

EXAMPLES = Path(__file__).parents[5] / "examples"

NAMES = sorted(path.name for path in EXAMPLES.glob("*.c"))


def test_what_has_no_place_is_where_the_file_begins():
    text = PythonText("x = 1\ny = 2\n", "file.py")
    assert str(text.place(text.tree)) == "file.py:1:1"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param("x = 1\ny = (]\n", "2:6", id="known"),
        pytest.param("x = \0\n", "1:1", id="neither line nor column"),
        pytest.param("@x\n", "1:1", id="no column"),
    ],
)
def test_what_is_not_python_has_a_place_always(text: str, place: str):
    with pytest.raises(WorkloadError, match=f"^file.py:{place}: not Python: "):
        PythonText(text, "file.py")


@pytest.mark.parametrize("name", NAMES)
def test_a_printed_nest_gets_its_places_back(name: str):
    nest = c_source.read_file(EXAMPLES / name)
    places = list(places_of(nest))
    assert {place.file for place in places} == {str(EXAMPLES / name)}
    printed = read_source(print_nest(nest), "printed")
    found = with_places(printed, places)
    assert found == printed
    assert list(places_of(found)) == places
    assert repr(found) == repr(nest)


@pytest.mark.parametrize("change, text", [(slice(None, -1), "too few"), (None, "too many")])
def test_other_numbers_of_places_are_refused(change: slice | None, text: str):
    nest = c_source.read_file(EXAMPLES / "vec_add.c")
    places = list(places_of(nest))
    given = places[change] if change else [*places, nest.place]
    with pytest.raises(ValueError, match=f"^places: are {text}$"):
        with_places(nest, given)

"""Values for what a nest is not given."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.python.source import read_file, read_source
from gnarl.sw.workloads.loops.synthesise import made_up, synthesised
from tests.support.errors import refused

EXAMPLES = Path(__file__).parents[4] / "examples"


def nest() -> Nest:
    return read_source(
        "n = sizes('n')\n\n\n@nest\ndef f(\n"
        "    x: float32[n], i: int32[n], s: float32, t: int32, sum: float32[n], y: float32[n]\n"
        "):\n"
        "    for k in range(n):\n"
        "        sum[k] = sum[k] + x[k] * s\n"
        "        y[k] = float32(i[k] + t)\n",
        "f.py",
    )


def test_values_are_of_their_types() -> None:
    """Normal floats, small counts, and zeros where sums begin; nothing for what is written."""
    found, sizes = synthesised(nest(), {}, 3, {"n": 1000})
    assert sizes == {"n": 1000}
    assert {name: (each.dtype, each.shape) for name, each in found.items()} == {
        "x": (np.float32, (1000,)),
        "i": (np.int32, (1000,)),
        "s": (np.float32, ()),
        "t": (np.int32, ()),
        "sum": (np.float32, (1000,)),
    }
    x = found["x"]
    assert len(np.unique(x)) > 990 and abs(x.mean()) < 0.1 and abs(x.std() - 1) < 0.1
    assert found["s"] % 1
    assert {*found["i"].tolist()} == {1, 2, 3} and found["t"] in (1, 2, 3)
    assert not found["sum"].any()


def test_a_seed_gives_the_same_values() -> None:
    first, again, other = (synthesised(nest(), {}, seed)[0] for seed in (3, 3, 4))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["x"], other["x"])


def test_only_what_is_not_given_is_made_up() -> None:
    given = {"x": np.float32([4, 5]), "sum": np.float32([6, 7])}
    found, sizes = synthesised(nest(), given, 0, results=["y"])
    assert sizes == {"n": 2}
    assert all(found[name] is array for name, array in given.items())
    assert [*found] == ["x", "sum", "i", "s", "t", "y"] and found["y"].all()
    assert {*made_up(nest(), given, 0)} == {"i", "s", "t"}
    assert made_up(nest(), {}, 0)["n"] == "16"


def test_sizes_may_be_given() -> None:
    nest = read_file(EXAMPLES / "mm.py")
    values, sizes = synthesised(nest, {}, 0, {"rows": 3, "inner": 5})
    assert values["a"].shape == (3, 5) and values["b"].shape == (5, 16)
    assert sizes == {"rows": 3, "inner": 5, "columns": 16}
    with refused(
        "a: is [3, 5]: must be [rows, inner] = [4, 5], with rows = 4 (given), inner = 5 (as a has "
        "it)"
    ):
        synthesised(nest, {"a": values["a"]}, 0, {"rows": 4})

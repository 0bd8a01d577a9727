"""Loop nests run as the source says: against an interpreter apart, and corners by name."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.golden import loops
from gnarl.sw.golden.loop_code import MemoryLayout
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.program import jit
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.ir.lane_sums import sum_by_lanes
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.operations.embedding_bag import (
    embedding_bag_mean,
    embedding_bag_sum,
    embedding_bag_weighted,
)
from gnarl.sw.workloads.loops.python.source import read_source
from tests.support.nests.loop_interpreter import Stopped, interpret
from tests.support.nests.loop_nests import RandomNest, random_values

randoms = st.randoms(use_true_random=False)


def check(nest: Nest, values: dict[str, np.ndarray]) -> None:
    """Golden and interpreter give the same bits, or stop at the same place."""
    binding = bind(nest, values)
    before = {name: array.copy() for name, array in binding.arrays.items()}
    try:
        wanted = interpret(nest, binding)
    except Stopped as stopped:
        place = ":".join(str(stopped).split(":")[:3])
        with pytest.raises(WorkloadError, match=f"^{place}: "):
            GoldenLoops(nest).run(binding)
    else:
        found = GoldenLoops(nest).run(binding)
        assert found.keys() == wanted.keys()
        for name in wanted:
            assert found[name].dtype == wanted[name].dtype
            assert found[name].tobytes() == wanted[name].tobytes(), name
    for name, array in before.items():
        assert binding.arrays[name].tobytes() == array.tobytes()


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(randoms)
def test_random_nests_uncompiled(random: Random) -> None:
    check(RandomNest(random).nest(), random_values(random))


@pytest.mark.usefixtures("compiled_golden")
@pytest.mark.parametrize("seed", range(6))
def test_random_nests(seed: int) -> None:
    random = Random(seed)
    check(RandomNest(random).nest(3, 2), random_values(random))


@pytest.mark.usefixtures("compiled_golden")
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 500))
def test_many_random_nests(seed: int) -> None:
    random = Random(seed)
    check(RandomNest(random).nest(6), random_values(random))


def bags_of_rows(rows: int) -> dict[str, np.ndarray]:
    table = np.random.default_rng(1).standard_normal((8, 24)).astype(np.float32)
    indices = np.arange(rows, dtype=np.int32) % 8
    return {"table": table, "indices": indices, "offsets": np.array([0, rows], np.int32)}


def test_python_runs_what_is_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "compiled_text", None)
    golden, binding = GoldenLoops(embedding_bag_sum), bind(embedding_bag_sum, bags_of_rows(9))
    golden.run(binding)
    golden.reference(binding)
    golden.work(binding, MemoryLayout(dict.fromkeys(binding.arrays, 0), 16))


def test_much_is_begun_in_python_and_done_by_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []

    def compiled_text(*arguments: str) -> Callable[..., int]:
        compiled.append(arguments)
        return jit.compiled_text(*arguments)

    monkeypatch.setattr(loops, "compiled_text", compiled_text)
    monkeypatch.setattr(loops, "INTERPRETED_LINES", 20_000)
    golden, little, much = (
        GoldenLoops(embedding_bag_sum),
        *(bind(embedding_bag_sum, bags_of_rows(rows)) for rows in (9, 200)),
    )
    golden.run(little)
    assert not compiled
    wanted = interpret(embedding_bag_sum, much)["out"]
    for _ in range(2):
        assert golden.run(much)["out"].tobytes() == wanted.tobytes()
    assert len(compiled) == 1
    assert (
        golden.counted(little).iterations
        == GoldenLoops(embedding_bag_sum).counted(little).iterations
    )


SUM = read_source(
    "n, m = sizes('n', 'm')\n\n\n@nest\n"
    "def f(x: float32[n, m], y: float32[n]):\n"
    "    for i in range(n):\n"
    "        total = 1.0\n"
    "        for j in range(m):\n"
    "            total += x[i, j] * x[i, j]\n"
    "        y[i] = total\n",
    "file.py",
)


@pytest.mark.usefixtures("compiled_golden")
@pytest.mark.parametrize("lanes", (8, pytest.param(32, marks=pytest.mark.slow)))
def test_sums_by_lanes(lanes: int):
    """There are as many blocks as programs' nests have: 32 need numba's deep recursion."""
    x = np.random.default_rng(0).standard_normal((2, 5 * lanes + 3)).astype(np.float32)
    sizes = {"n": 2, "m": x.shape[1]}
    nest = sum_by_lanes(SUM, sizes, [2], lanes)
    binding = bind(nest, {"x": x}, sizes)
    found, wanted = GoldenLoops(nest).run(binding), interpret(nest, binding)
    assert found["y"].tobytes() == wanted["y"].tobytes()


@pytest.mark.usefixtures("compiled_golden")
def test_the_reference_rounds_to_float64():
    nest = embedding_bag_mean
    rng = np.random.default_rng(0)
    table = rng.standard_normal((8, 3)).astype(np.float32)
    values = {
        "table": table,
        "indices": np.array([1, 2, 7, 7, 0], np.int32),
        "offsets": np.array([0, 3, 3, 5], np.int32),
    }
    golden, binding = GoldenLoops(nest), bind(nest, values)
    wide = table.astype(np.float64)
    expected = [wide[[1, 2, 7]].mean(0), np.zeros(3), wide[[7, 0]].mean(0)]
    found = golden.reference(binding)["out"]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert (found.astype(np.float32) != golden.run(binding)["out"]).any()


@pytest.mark.usefixtures("compiled_golden")
def test_the_work_of_a_nest():
    """Per look-up: the lines of its index and of its row, where they are others than the last."""
    values = {
        "table": np.zeros((8, 24), np.float32),
        "indices": np.array([1, 2, 2, 7, 0], np.int32),
        "offsets": np.array([0, 3, 3, 5], np.int32),
    }
    bases = {"table": 32, "indices": 16, "offsets": 0, "out": 512}
    work = GoldenLoops(embedding_bag_sum).work(
        bind(embedding_bag_sum, values), MemoryLayout(bases, 16)
    )
    assert (work.operations, work.products) == (5 * 24, 0)
    # Rows 1, 2, 2 again, 7, 0.
    assert work.lines.tolist() == [0, 1, 3, 4, 5, 6, 5, 6, 12, 13, 2, 3]


def test_products_are_counted_among_operations():
    values = {
        "table": np.zeros((8, 3), np.float32),
        "indices": np.zeros(5, np.int32),
        "offsets": np.array([0, 3, 5], np.int32),
        "weights": np.zeros(5, np.float32),
    }
    bases = {"table": 64, "indices": 16, "offsets": 0, "weights": 32, "out": 512}
    binding = bind(embedding_bag_weighted, values)
    work = GoldenLoops(embedding_bag_weighted).work(binding, MemoryLayout(bases, 16))
    assert (work.operations, work.products) == (2 * 5 * 3, 5 * 3)


_MERGE = """\
n, m = sizes('n', 'm')


@nest
def f(a: int32[n], b: int32[m], x: float32[n], y: float32[m], out: float32[1]):
    for k, (p, q) in intersect(a[0:n], b[0:m]):
        out[0] += x[p] * y[q]
"""


@pytest.mark.usefixtures("compiled_golden")
def test_the_work_of_a_merge():
    """Lines of both coordinates in each step, and of the values where they are equal."""
    values = {
        "a": np.array([1, 4, 9], np.int32),
        "b": np.array([4, 5], np.int32),
        "x": np.ones(3, np.float32),
        "y": np.ones(2, np.float32),
    }
    nest = read_source(_MERGE, "file.py")
    bases = {"a": 0, "b": 10, "x": 20, "y": 30, "out": 512}
    work = GoldenLoops(nest).work(bind(nest, values), MemoryLayout(bases, 1))
    assert work.lines.tolist() == [0, 10, 1, 21, 30, 2, 11]
    assert (work.operations, work.products) == (2, 1)


_COUNTED = """\
n = sizes('n')


@nest
def f(a: int16[n], x: int32[n], b: int16[n], c: float32[n]):
    for i in range(n - 1 + 1):
        t = a[x[i] + 2 - 2] * 3
        if t + 1 > 4:
            b[(i + 1) * 1 - 1] = t - a[i + 0]
        b[i] += t
        c[i] = c[i] + 1.0
"""


@pytest.mark.usefixtures("compiled_golden")
def test_integers_are_counted_but_for_indices_and_bounds():
    values = {
        "a": np.array([1, 2, 3], np.int16),
        "x": np.array([2, 1, 0], np.int32),
        "b": np.zeros(3, np.int16),
        "c": np.zeros(3, np.float32),
    }
    nest = read_source(_COUNTED, "file.py")
    work = GoldenLoops(nest).work(bind(nest, values), MemoryLayout(dict.fromkeys(values, 0), 16))
    assert work.operations == 3
    # Product, sum and comparison, and the sum in place; where that holds, twice, the difference.
    assert work.integers == 3 * 4 + 2


_BAGS = """\
bags, lookups = sizes('bags', 'lookups')


@nest
def f(offsets: int32[bags + 1], lengths: int32[bags], x: float32[lookups], out: float32[bags]):
{body}
"""


def bags_of(body: str) -> Nest:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return read_source(_BAGS.format(body=lines), "file.py")


def values_of(offsets: list[int], lengths: list[int]) -> dict[str, np.ndarray]:
    return {
        "offsets": np.array(offsets, np.int32),
        "lengths": np.array(lengths, np.int32),
        "x": np.ones(9, np.float32),
    }


BETWEEN = "for b in range(bags):\n    for p in range(offsets[b], offsets[b + 1]):"
FROM_LOCALS = (
    "for b in range(bags):\n    begin = offsets[b]\n    end = offsets[b + 1]\n"
    "    for p in range(begin, end):"
)
COUNTED = "for b in range(bags):\n    for p in range(lengths[b]):"
BEHIND = (
    "begin = 0\nfor b in range(bags):\n    end = begin + lengths[b]\n"
    "    for p in range(begin, end):"
)


@pytest.mark.parametrize(
    "source, text",
    [
        (BETWEEN, "7:36: offsets[2] = 2: must be at least 4, where the loop begins"),
        (FROM_LOCALS, "8:15: offsets[2] = 2: must be at least 4, where the loop begins"),
        (COUNTED, "7:24: lengths[1] = -2: must be at least 0, where the loop begins"),
        (BEHIND, "8:23: lengths[1] = -2: must be at least 0, as a loop's length"),
    ],
)
def test_offsets_that_decrease_and_lengths_below_0(source: str, text: str):
    inner = "        out[b] += x[p]" + ("\n    begin = end" if source == BEHIND else "")
    nest = bags_of(f"{source}\n{inner}")
    for offsets, lengths in (([0, 4, 4], [4, 0]), ([0, 4, 7], [4, 3])):
        GoldenLoops(nest).run(bind(nest, values_of(offsets, lengths)))
    with pytest.raises(WorkloadError) as caught:
        GoldenLoops(nest).run(bind(nest, values_of([0, 4, 2], [4, -2])))
    assert str(caught.value) == f"file.py:{text}"


def test_an_offset_is_named_by_all_its_indices():
    row = "0, 0, 0, 0, 0, 0"
    nest = read_source(
        "(n,) = sizes('n')\n\n\n@nest\ndef f(o: int32[1, 1, 1, 1, 1, 1, n + 1], y: float32[n]):\n"
        "    for i in range(n):\n"
        f"        for p in range(o[{row}, i], o[{row}, i + 1]):\n            y[i] += 1.0\n",
        "file.py",
    )
    offsets = np.array([0, 4, 2], np.int32).reshape(1, 1, 1, 1, 1, 1, 3)
    with pytest.raises(WorkloadError) as caught:
        GoldenLoops(nest).run(bind(nest, {"o": offsets}))
    text = f"o[{row}, 2] = 2: must be at least 4, where the loop begins"
    assert str(caught.value) == f"file.py:7:48: {text}"


@pytest.mark.parametrize(
    "bounds",
    [
        "offsets[b] + 1, offsets[b + 1]",
        "3, lengths[b]",
        "offsets[b], bags",
        "b + 1, bags - 1",
        "begin, lengths[b]",
    ],
)
def test_other_bounds_that_decrease_are_those_of_an_empty_loop(bounds: str):
    nest = bags_of(
        "begin = 0\nfor b in range(bags):\n"
        f"    for p in range({bounds}):\n        out[b] += x[p]\n"
        "    begin = begin + 1"
    )
    values = values_of([5, 5, 5], [0, 0])
    assert (GoldenLoops(nest).run(bind(nest, values))["out"] == 0).all()


MERGED = """\
n, m = sizes('n', 'm')


@nest
def f(ends: int32[2], l: int32[n], r: int32[m], y: float32[4]):
    for k, (p, q), (has_p, has_q) in union(l[ends[0]:ends[1]], r):
        y[k] = 1.0
"""


@pytest.mark.parametrize("ends", ([0, 2], [1, 2], [2, 2], [5, 5], [-1, -1]))
def test_fibers_that_lie_within_their_arrays_or_are_empty(ends: list[int]):
    values = {"ends": np.array(ends, np.int32), "l": np.array([0, 2], np.int32)}
    nest = read_source(MERGED, "file.py")
    found = GoldenLoops(nest).run(bind(nest, values | {"r": np.array([3], np.int32)}))["y"]
    taken = {0, 1} & set(range(*ends))
    assert found.tolist() == [float(0 in taken), 0, float(1 in taken), 1]


@pytest.mark.parametrize(
    "ends, left, text",
    [
        ([-1, 1], [0, 2], "6:44: l[-1:1]: must lie within its 2 elements"),
        ([0, 3], [0, 2], "6:44: l[0:3]: must lie within its 2 elements"),
        ([0, 2], [2, 2], "6:44: l[1] = 2: must be more than 2, the coordinate before it"),
    ],
)
def test_fibers_that_are_none(ends: list[int], left: list[int], text: str):
    values = {"ends": ends, "l": left, "r": [3]}
    arrays = {name: np.array(each, np.int32) for name, each in values.items()}
    nest = read_source(MERGED, "file.py")
    with pytest.raises(WorkloadError) as caught:
        GoldenLoops(nest).run(bind(nest, arrays))
    assert str(caught.value) == f"file.py:{text}"


POSITIONS = """\
n, m, size = sizes('n', 'm', 'size')


@nest
def f(l: int32[n], r: int32[m], y: int32[size, 2]):
    for k, (p, q){present} in {kind}(l, r):
        y[k, 0] = {left}
        y[k, 1] = {right}
"""
BOTH = POSITIONS.format(kind="intersect", present="", left="p", right="q")
EITHER = POSITIONS.format(
    kind="union", present=", (hp, hq)", left="p if hp else -1", right="q if hq else -1"
)


@pytest.mark.parametrize("text", (BOTH, EITHER), ids=("intersect", "union"))
@pytest.mark.parametrize(
    "left, right",
    [([], []), ([1], []), ([0, 3, 4], [3, 5]), ([2, 5], [0, 1, 2, 3, 5]), ([0, 1], [4, 5])],
)
def test_what_fibers_have(text: str, left: list[int], right: list[int]):
    """Positions by coordinate, from sets; -1 where a fiber lacks it, -2 where none is merged."""
    values = {"l": left, "r": right, "y": np.full((6, 2), -2)}
    nest = read_source(text, "file.py")
    arrays = {name: np.array(each, np.int32) for name, each in values.items()}
    found = GoldenLoops(nest).run(bind(nest, arrays))["y"]
    merged = {*left} & {*right} if text is BOTH else {*left} | {*right}
    for k, positions in enumerate(found.tolist()):
        wanted = [one.index(k) if k in one else -1 for one in (left, right)]
        assert positions == (wanted if k in merged else [-2, -2])


RANGES = {
    "int8": (-128, 127, [-128.9, 127.9, -0.9], [-129.0, 128.0]),
    "uint8": (0, 255, [-0.9, 255.5], [-1.0, 256.0]),
    "int16": (-32768, 32767, [-32768.9, 32767.9], [-32769.0, 32768.0]),
    "int32": (-(1 << 31), (1 << 31) - 1, [-(2.0**31), 2.0**31 - 128], [-(2.0**31) - 256, 2.0**31]),
    "uint32": (0, (1 << 32) - 1, [2.0**32 - 256], [-1.0, 2.0**32]),
}
"""Of a type: its least and its most, and floats that become some number of it, and that do not."""


@pytest.mark.parametrize("type", RANGES)
def test_floats_that_are_no_whole_number_of_a_type(type: str):
    least, most, right, wrong = RANGES[type]
    text = "(n,) = sizes('n')\n\n\n@nest\n"
    text += f"def f(x: float32[n], y: {type}[n]):\n    for i in range(n):\n"
    nest = read_source(f"{text}        y[i] = {type}(x[i])\n", "file.py")
    found = GoldenLoops(nest).run(bind(nest, {"x": np.array(right, np.float32)}))["y"]
    assert found.tolist() == [int(each) for each in right]
    for each in (*wrong, np.nan, np.inf, -np.inf):
        with pytest.raises(WorkloadError) as caught:
            GoldenLoops(nest).run(bind(nest, {"x": np.array([0, each], np.float32)}))
        message = f"float32 to {type}: must be a number from {least} to {most}"
        assert str(caught.value) == f"file.py:7:16: {message}"

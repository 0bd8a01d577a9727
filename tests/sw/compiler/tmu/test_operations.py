"""Operations of table I on the TMU's model, at all levels, against the golden model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hw.tmu.config import TmuConfig
from sw.compiler.tmu.compile import LEVELS
from sw.workloads.loops.nest import Nest
from sw.workloads.loops.operations.block_gather import block_gather, token_gather
from sw.workloads.loops.operations.spmm import spmm_coo, spmm_csr
from sw.workloads.loops.python_source import read_source
from tests.support.tmu_programs import check

CONFIG = TmuConfig(lanes=4)
LENGTHS = (3, 0, 5, 1)
EDGES = sum(LENGTHS)


def inputs(nest: Nest, dim: int, seed: int = 0) -> Mapping[str, np.ndarray]:
    """Random arrays of the names that the operations' parameters have."""
    rng = np.random.default_rng(seed)

    def floats(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    def below(end: int, *shape: int) -> np.ndarray:
        return rng.integers(0, end, shape).astype(np.int32)

    known = {
        "offsets": np.cumsum([0, *LENGTHS]).astype(np.int32),
        "row": np.repeat(np.arange(len(LENGTHS)), LENGTHS).astype(np.int32),
        "indices": below(10, EDGES),
        "column": below(10, EDGES),
        "values": floats(EDGES),
        "dense": floats(10, dim),
        "key": floats(6, 2, dim),
        "blocks": below(6, 3, 2),
    }
    known = {name: value for name, value in known.items() if name in nest.arrays}
    if nest is spmm_coo:
        known["out"] = np.zeros((len(LENGTHS), dim), np.float32)
    return known


NESTS = {nest.name: nest for nest in (spmm_csr, spmm_coo, block_gather, token_gather)}


@pytest.mark.parametrize("opt", LEVELS)
@pytest.mark.parametrize("name", NESTS)
def test_operations(name: str, opt: int):
    for dim in (1, 8, 10):
        check(NESTS[name], inputs(NESTS[name], dim), CONFIG, opt)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.lists(st.integers(0, 2), min_size=3, max_size=3),
    st.integers(1, 9),
    st.sampled_from(LEVELS),
)
def test_loops_that_run_again(sizes: list[int], lowers: list[int], dim: int, opt: int):
    """Counted variables begin anew in each run of their loop, at any bound."""
    names = "ijk"[: len(sizes)]
    ends = [lower + size for lower, size in zip(lowers, sizes, strict=False)]
    lines = ["d = sizes('d')", "", "", "@nest"]
    shape = ", ".join([*map(str, ends), "d"])
    lines += [f"def f(x: float32[{shape}], y: float32[{shape}]):"]
    for depth, name in enumerate(names):
        lines.append(f"{'    ' * (depth + 1)}for {name} in range({lowers[depth]}, {ends[depth]}):")
    inner = "    " * (len(names) + 1)
    place = ", ".join([*names, "e"])
    lines += [f"{inner}for e in range(d):", f"{inner}    y[{place}] += x[{place}]"]
    x = np.random.default_rng(0).standard_normal((*ends, dim)).astype(np.float32)
    check(read_source("\n".join(lines) + "\n", "file.py"), {"x": x}, CONFIG, opt)

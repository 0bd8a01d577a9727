"""Streams that addresses need, and the layers that they are placed in."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from hw.lib.errors import CapacityError
from hw.tmu.config import TmuConfig
from sw.compiler.tmu.lower_access import lower_access
from sw.workloads.loops.python_source import read_source
from tests.support.tmu_messages import Messages
from tests.support.tmu_programs import check

CONFIG = TmuConfig(lanes=4)


@pytest.mark.parametrize("opt", range(5))
@pytest.mark.parametrize("between", [False, True])
def test_two_words_of_an_outer_loop_are_one_address(opt: int, between: bool) -> None:
    """Their sum lies in a loop that has neither of them, where there is one between."""
    loops = ["for i in range(n):", "for j in range(m):", "for k in range(w):"]
    loops = loops if between else [loops[0], loops[2]]
    indented = "".join(f"{4 * depth * ' '}{loop}\n" for depth, loop in enumerate(loops, start=1))
    result = "out[i, j, k]" if between else "out[i, k]"
    nest = read_source(
        "n, m, w, a, b = sizes('n', 'm', 'w', 'a', 'b')\n\n\n@nest\n"
        "def f(row: int32[n], column: int32[n], x: float32[a, b, w], "
        f"out: float32[n, {'m, ' * between}w]):\n"
        f"{indented}{4 * (len(loops) + 1) * ' '}{result} = x[row[i], column[i], k]\n",
        "file.py",
    )
    values = {
        "row": np.array([4, 0, 3], np.int32),
        "column": np.array([1, 0, 2], np.int32),
        "x": np.arange(5 * 3 * 6, dtype=np.float32).reshape(5, 3, 6),
    }
    check(nest, values, CONFIG, opt, {"m": 2} if between else {})


def test_as_many_streams_as_there_are_suffice() -> None:
    module = Messages().after("prefetch_rows", CONFIG)
    with pytest.raises(CapacityError) as caught:
        lower_access(module, replace(CONFIG, streams=2))
    found = re.search(r": streams = 2: must be at least (\d+)$", str(caught.value))
    assert found, caught.value
    needed = int(found[1])
    for streams in range(2, needed):
        with pytest.raises(CapacityError, match=f"must be at least {needed}$"):
            lower_access(module, replace(CONFIG, streams=streams))
    lower_access(module, replace(CONFIG, streams=needed))

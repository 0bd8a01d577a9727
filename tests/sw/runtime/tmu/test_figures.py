"""The lower bounds in reports."""

from __future__ import annotations

import numpy as np

from gnarl.hw.lib.lines.line_size import LINE_BYTES, WORD_BYTES
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import Trace
from gnarl.sw.compiler.tmu.compile import compile
from gnarl.sw.runtime.tmu.figures import bound
from gnarl.sw.runtime.tmu.image import Operands
from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload

SOURCE = """\
n, m = sizes("n", "m")


@nest
def f(x: float32[n], at: int32[n], y: float32[m]):
    for i in range(n):
        y[at[i]] = x[i]
"""


def test_words_of_results_that_stay_need_not_be_written() -> None:
    config, n = TmuConfig(lanes=4, bandwidth=4), LINE_BYTES // WORD_BYTES
    x = np.where(np.arange(n) % 2, 1, 0).astype(np.float32)
    values = {"x": x, "at": np.arange(n, dtype=np.int32)}
    workload = LoopWorkload("f", read_source(SOURCE, "f.py"), values, {"m": 1000})
    (launch,) = compile(workload, config, trace=Trace()).launches
    operations, cycles = bound(launch, Operands(launch, values), {"words_queued": 0})
    assert operations == 0
    assert cycles["memory"] == (2 * LINE_BYTES + n // 2 * WORD_BYTES) // config.bandwidth

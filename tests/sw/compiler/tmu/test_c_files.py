"""C as files have it on the TMU: local arrays go from one launch to the next."""

from __future__ import annotations

import pytest

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.nests import c_kernels
from tests.support.nests.c_texts import KERNELS
from tests.support.nests.dependent_runs import run_tmu
from tests.support.tmu.manners import MANNERS

CASES = [
    ("called", "level 2"),
    ("called", "coupled"),
    ("words", "level 4"),
    ("in_order", "level 1"),
]


@pytest.mark.filterwarnings("ignore::gnarl.sw.workloads.refusals.InputWarning")
@pytest.mark.parametrize("name, manner", CASES)
def test_kernels(name: str, manner: str):
    nest = read_source(KERNELS[name], "k.c", name)
    sizes = {each.name: 9 for each in nest.sizes}
    workload = LoopWorkload(name, nest, c_kernels.values(nest, sizes, 1, "small"), sizes)
    found = run_tmu(workload, TmuConfig(lanes=4), reassociate=False, **MANNERS[manner])
    wanted = GoldenLoops(nest).run(workload.binding)
    for array in nest.outputs:
        assert found[array].tobytes() == wanted[array].tobytes(), array

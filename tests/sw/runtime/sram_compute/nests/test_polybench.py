"""Two kernels of PolyBench that call ``expf`` and ``powf``, and have bytes: gcc's bits."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from gnarl.sw.runtime.run.device import Device
from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.ir.binding import bind
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.nests import c_kernels, polybench

FOLDER = Path(polybench.__file__).parent

pytest.importorskip("egglog")
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc to compare with")

SEQUENCE = np.random.default_rng(0).integers(0, 4, 13).astype(np.int8)
IMAGE = np.random.default_rng(1).uniform(0, 1, (9, 11)).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["core", "auto"])
@pytest.mark.parametrize(
    "name, given",
    [("nussinov", {"seq": SEQUENCE}), ("deriche", {"alpha": np.float32(0.25), "imgIn": IMAGE})],
)
def test_kernels(name: str, given: dict[str, np.ndarray], place: str, tmp_path: Path):
    text = (FOLDER / f"{name}.c").read_text()
    nest = read_source(text, f"{name}.c", f"kernel_{name}")
    library = c_kernels.compiled(tmp_path, text)
    wanted = c_kernels.results(library, text, nest, bind(nest, given))
    with Device("sram_b4", "model") as device:
        workload = LoopWorkload(nest.name, nest, given, {})
        program = device.compile(workload, place=place, reassociate=False)
        found = device.run(program, given)
    for array in nest.outputs:
        assert c_kernels.one_nan(found.outputs[array]) == c_kernels.one_nan(wanted[array])

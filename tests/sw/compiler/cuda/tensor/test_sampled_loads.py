"""Rows of a sampled product that are on their way before one is used, in machine code."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.compiler.cuda.compile import compile
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.sections import decode
from gnarl.sw.compiler.cuda.templates.template import INCLUDE
from gnarl.sw.compiler.cuda.tensor.sampled_product import KERNEL, SampledProductProgram
from gnarl.sw.workloads.tensor.operands import operand
from gnarl.sw.workloads.tensor.workload import read_expression

pytest.importorskip("cuda.bindings.nvrtc", reason="needs gnarl[cuda]")

from bench.cuda_static_parts.row_loads import load_bursts  # noqa: E402
from bench.cuda_static_parts.sass import disassemble, nvdisasm  # noqa: E402
from gnarl.sw.compiler.cuda.nvrtc import compile_kernel  # noqa: E402

pytestmark = pytest.mark.skipif(nvdisasm() is None, reason="needs nvidia-cuda-nvdisasm")

TEXT = "X(i,j)=B(i,j)*C(i,k)*D(j,k) -f=X:ds -f=B:ds"
ROWS = 8
"""Of a round: one of either matrix for each of four entries."""


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize("format", ["float32", "float16"])
@pytest.mark.parametrize("inner", [7, 24, 64, 256, 300])
def test_all_rows_of_a_round_are_in_flight(arch: str, format: str, inner: int) -> None:
    workload = read_expression(TEXT, {"C": operand(np.ones((1, inner)))})
    program = compile(workload, CudaConfig(arch=arch, format=format))
    compiled = decode(program.launches[0])
    assert isinstance(compiled, SampledProductProgram)
    built = compile_kernel(compiled.source, arch, include=[INCLUDE], kernel=KERNEL)
    code = disassemble(built.cubin, KERNEL)
    loads = {at for at, each in enumerate(code) if each.name == "LDG"}
    assert load_bursts(code, range(len(code)), loads)[-1] >= ROWS

"""Machine code of templates whose workers are warps, on the CPU: the golden model's bits."""

from __future__ import annotations

import numpy as np
import pytest

from bench.cuda_static_parts import sass
from bench.cuda_static_parts.machine.kernels import MachineCode
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.golden.embedding import embedding_bags
from gnarl.sw.runtime.cuda.emulation.embedding import EmulatedEmbedding
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from gnarl.sw.workloads.embedding.model import Feature, PoolingFactors
from tests.support.cuda.embedding_kernels import Case, program_of

pytest.importorskip("cuda.bindings.nvrtc", reason="needs gnarl[cuda]")
pytestmark = pytest.mark.skipif(sass.nvdisasm() is None, reason="needs nvidia-cuda-nvdisasm")

from gnarl.sw.runtime.cuda.gpu.embedding import compile_program  # noqa: E402

CASES = (
    Case(Feature("f", 50, 8), Schedule.of("short_bags", vector=4)),
    Case(
        Feature("f", 50, 32, factors=PoolingFactors(20, 20)),
        Schedule.of("pooled_bags", vector=4, rows=2),
    ),
    Case(
        Feature("f", 50, 20, "mean", factors=PoolingFactors(200, 100, 300)),
        Schedule.of("pooled_bags", vector=1, rows=1),
    ),
)


def test_machine_code_has_the_golden_models_bits() -> None:
    program = program_of(CASES)
    machine = MachineCode(compile_program(program).cubin, program.kernel.name, multiprocessors=2)
    tables = synthesise_tables(program.model)
    embedding = EmulatedEmbedding(program, tables, kernels=machine, grid=(4, 1))
    for size, is_cut in ((2, True), (300, False)):
        batch = synthesise_batch(program.model, size)
        plan = program.plan(size, 4)
        assert (plan.counters > 0) == is_cut
        found = program.split(embedding.run(batch, plan).outputs)
        golden = embedding_bags(program.model, tables, batch)
        for one, other in zip(found.values(), golden, strict=True):
            np.testing.assert_array_equal(one, other)

"""Every template compiles, without a GPU, for old architectures and new, and spills nothing."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import pytest

from gnarl.sw.compiler.cuda.architectures import ARCHITECTURES
from gnarl.sw.compiler.cuda.templates import template, templates
from gnarl.sw.workloads.embedding.model import TABLE_TYPES
from gnarl.sw.workloads.embedding.rowwise import ROWWISE_FORMATS
from tests.support.cuda.embedding_kernels import covering_cases, program_of
from tests.support.parameters import slow_but

pytest.importorskip("cuda.bindings.nvrtc", reason="needs gnarl[cuda]")

from gnarl.sw.runtime.cuda.gpu.embedding import compile_program  # noqa: E402

ARCHS = ("sm_75", "sm_80", "sm_90", "sm_100")
TYPES: Mapping[str, Mapping[str, object]] = {
    "plain": TABLE_TYPES,
    "quantised": ROWWISE_FORMATS,
}


@pytest.mark.parametrize(
    ("arch", "types"),
    slow_but([("sm_75", "plain"), ("sm_90", "quantised")], product(ARCHS, TYPES)),
)
@pytest.mark.parametrize("name", templates())
def test_compiles(name: str, arch: str, types: str) -> None:
    chosen = template(name)
    most = ARCHITECTURES[arch].shared_per_block
    covering = covering_cases(name, 128, triples=False, table_types=tuple(TYPES[types]))
    cases = [
        one
        for one in covering[ARCHS.index(arch) :: 4 * len(ARCHS)]
        if chosen.shared_bytes(one.schedule, one.feature, 128) <= most
    ]
    program = program_of(cases, arch=arch)
    compiled = compile_program(program)
    assert compiled.spill_bytes == 0

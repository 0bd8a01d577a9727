"""Every template compiles, without a GPU, for old architectures and new, and spills nothing."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sw.compiler.cuda.architectures import ARCHITECTURES
from sw.compiler.cuda.templates import template, templates
from sw.workloads.embedding.model import TABLE_TYPES
from sw.workloads.embedding.rowwise import ROWWISE_FORMATS
from tests.support.embedding_kernels import covering_cases, program_of

pytest.importorskip("cuda.bindings.nvrtc", reason="needs gnarl[cuda]")

from sw.compiler.cuda.nvrtc import compile_kernel  # noqa: E402

ARCHS = ("sm_75", "sm_80", "sm_90", "sm_100")


@pytest.mark.parametrize("types", [TABLE_TYPES, ROWWISE_FORMATS], ids=["plain", "quantised"])
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", templates())
def test_compiles(name: str, arch: str, types: Mapping[str, object]) -> None:
    chosen = template(name)
    most = ARCHITECTURES[arch].shared_per_block
    covering = covering_cases(name, 128, triples=False, table_types=tuple(types))
    cases = [
        one
        for one in covering[ARCHS.index(arch) :: 4 * len(ARCHS)]
        if chosen.shared_bytes(one.schedule, one.feature, 128) <= most
    ]
    program = program_of(cases, arch=arch)
    compiled = compile_kernel(program.kernel.source, arch, include=program.include)
    assert compiled.spill_bytes == 0

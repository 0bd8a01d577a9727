"""The rows of a round are all on their way before the first is used, in machine code."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gnarl.sw.compiler.cuda.templates import templates
from gnarl.sw.compiler.cuda.templates.warp_template import ROUND_LOADS
from gnarl.sw.workloads.embedding.model import TABLE_TYPES
from gnarl.sw.workloads.embedding.rowwise import ROWWISE_FORMATS
from tests.support.cuda.embedding_kernels import Case, covering_cases, program_of

pytest.importorskip("cuda.bindings.nvrtc", reason="needs gnarl[cuda]")

from bench.cuda_static_parts.row_loads import compile_with_lines, row_loads  # noqa: E402
from bench.cuda_static_parts.sass import nvdisasm  # noqa: E402

pytestmark = pytest.mark.skipif(nvdisasm() is None, reason="needs nvidia-cuda-nvdisasm")

IN_SHARED_MEMORY = "table_in_shared"
ROUNDS = {"pooled_bags": ROUND_LOADS, "short_bags": 4}
"""Rows of a round, of templates that always have as many."""

STEP = 64
"""Of the cases that cover all pairs of choices one is taken out of so many."""


def rows_of_a_round(one: Case) -> int:
    """Rows that a thread loads in a round."""
    if one.schedule.template in ROUNDS:
        return ROUNDS[one.schedule.template]
    parameters = dict(one.schedule.parameters)
    return parameters.get("unroll") or parameters["samples_per_thread"]


@pytest.mark.parametrize("types", [TABLE_TYPES, ROWWISE_FORMATS], ids=["plain", "quantised"])
@pytest.mark.parametrize("name", sorted(templates().keys() - {IN_SHARED_MEMORY}))
def test_all_rows_of_a_round_are_in_flight(name: str, types: Mapping[str, object]) -> None:
    """All rows are in flight, but one row's at most where quantised rows have another load for
    scale and bias: ptxas may put the last behind the first row's conversion."""
    cases = covering_cases(name, 128, triples=False, table_types=tuple(types))
    cases = [one for one in cases if rows_of_a_round(one) > 1][::STEP]
    for one in cases:
        program = program_of([one])
        (loads,) = row_loads(compile_with_lines(program), program.kernel).values()
        if name == "pooled_bags":  # other rounds than full ones have a way for each number of loads
            full = max(bursts[0] for bursts in loads.rounds if len(bursts) == 1)
            assert full >= rows_of_a_round(one) * (1 + (types is ROWWISE_FORMATS)), loads.rounds
            continue
        late = sum(sum(bursts) - bursts[0] for bursts in loads.rounds)
        assert late <= 2 * (types is ROWWISE_FORMATS), f"{one}: {loads.rounds}"
        assert loads.loads - late >= rows_of_a_round(one), one

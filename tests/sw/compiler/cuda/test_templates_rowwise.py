"""Every template on tables of quantised rows."""

from __future__ import annotations

import numpy as np
import pytest

from sw.compiler.cuda.templates import templates
from sw.workloads.embedding.rowwise import ROWWISE_FORMATS
from tests.support.embedding_kernels import Case, check_cases, covering_cases, every_case

TYPES = tuple(ROWWISE_FORMATS)


@pytest.mark.parametrize("name", templates())
def test_pairs_of_choices(name: str) -> None:
    check_cases(covering_cases(name, 128, triples=False, table_types=TYPES))


@pytest.mark.parametrize("name", templates())
def test_sums_of_any_numbers(name: str) -> None:
    """Within the bound; maxima, and bags of one index, to the bit."""
    check_cases(kinds(name), exact=False)


def kinds(name: str) -> list[Case]:
    """One for each table type, pooling, output type and whether it is weighted."""
    cases = list(every_case(name, 128, TYPES))
    found: dict[tuple[object, ...], Case] = {}
    for at in np.random.default_rng(1).permutation(len(cases)):
        kind = cases[at].feature.kind
        found.setdefault((kind.table_type, kind.pooling, kind.output_type, kind.weighted), cases[at])
    return list(found.values())

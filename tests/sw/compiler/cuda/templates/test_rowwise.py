"""Every template on tables of quantised rows."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.compiler.cuda.templates import templates
from gnarl.sw.workloads.embedding.model import Batch, Feature
from gnarl.sw.workloads.embedding.rowwise import ROWWISE_FORMATS, quantise
from tests.support.cuda.embedding_kernels import (
    PARTS,
    Bench,
    Case,
    case,
    check_cases,
    covering_cases,
    each_part,
    every_case,
    program_of,
)

TYPES = tuple(ROWWISE_FORMATS)


def few_cases(name: str) -> list[Case]:
    """Every pooling and vector of each table type, with weights and without."""
    cases = list(every_case(name, 128, TYPES))
    seen: set[tuple[object, ...]] = set()
    chosen = []
    for at in np.random.default_rng(1).permutation(len(cases)):
        feature, schedule = cases[at].feature, cases[at].schedule
        new = {
            (feature.table_type, feature.pooling, feature.weighted),
            (feature.table_type, schedule["vector"]),
        } - seen
        if new:
            seen |= new
            chosen.append(cases[at])
    return chosen


@each_part
@pytest.mark.parametrize("name", templates())
def test_outputs_are_the_golden_models(name: str, part: int) -> None:
    check_cases(few_cases(name)[part::PARTS])


@pytest.mark.slow
@pytest.mark.parametrize("name", templates())
def test_pairs_of_choices(name: str) -> None:
    check_cases(covering_cases(name, 128, triples=False, table_types=TYPES))


def lookups(schedule: Case, tables: dict[str, np.ndarray], lengths: list[int]) -> None:
    """Checks bags of so many indices of each type's table."""
    fields = vars(schedule.feature)
    cases = [Case(Feature(**fields | {"table_type": type}), schedule.schedule) for type in tables]
    bench = Bench(program_of(cases), exact=False)
    for given, table in zip(bench.tables, tables.values(), strict=True):
        given[:] = table
    inputs = [bench.inputs(feature, lengths) for feature in bench.program.model.features]
    bench.check(Batch(len(lengths), inputs))


@pytest.mark.parametrize("vector", [2, 4, 8])
def test_every_code_is_decoded_to_the_bit(vector: int) -> None:
    """Sums of one index are the elements: scale times value plus bias, rounded once."""
    rng, rows = np.random.default_rng(0), 40
    tables = {}
    for type, format in ROWWISE_FORMATS.items():
        codes = (np.arange(256) % (1 << format.bits)).astype(np.uint8)
        codes[np.isnan(format.values[codes])] = 0
        scale, bias = rng.normal(0, 1, (2, rows)) * 2.0 ** rng.integers(-20, 20, (2, rows))
        tables[type] = format.rows(np.tile(codes, (rows, 1)), scale, bias)
    feature = Feature("f", rows, 256)
    lookups(case("one_hot", feature, vector=vector, samples_per_thread=1), tables, [1] * 200)


@pytest.mark.parametrize(
    "schedule",
    [
        case("block_samples", vector=4, samples=2, unroll=2, stage=1),
        case("reduce_by_key", vector=4, values_per_block=512, unroll=4),
        case("sub_warp_per_sample", vector=4, threads=16, unroll=2),
    ],
)
def test_maxima_of_negative_numbers(schedule: Case) -> None:
    """Nothing that is not in the bag is taken for greater, no zeroes."""
    shape = (20, 32)
    numbers = -np.abs(np.random.default_rng(0).normal(0, 3, shape)) - 1
    feature = Feature("f", *shape, pooling="max")
    tables = {type: quantise(numbers, type) for type in TYPES}
    lookups(Case(feature, schedule.schedule), tables, [2003, 150, 0, 1, 300, 7])

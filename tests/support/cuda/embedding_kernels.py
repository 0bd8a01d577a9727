"""Kernels of embedding layers, run on the emulated GPU and compared with the golden model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from gnarl.sw.compiler.cuda.program import EmbeddingProgram, build_program
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.templates import template
from gnarl.sw.golden.embedding import bound, pool
from gnarl.sw.runtime.cuda.emulation.embedding import EmulatedEmbedding
from gnarl.sw.runtime.cuda.task_map import TaskMap, map_tasks
from gnarl.sw.workloads.embedding.data import synthesise_tables
from gnarl.sw.workloads.embedding.model import (
    INDEX_TYPES,
    POOLINGS,
    TABLE_TYPES,
    Batch,
    EmbeddingModel,
    Feature,
    FeatureInputs,
)
from gnarl.sw.workloads.embedding.rowwise import quantise

DIMS = (1, 3, 4, 7, 8, 16, 32, 100, 128, 256, 1024)

PARTS = 8
each_part = pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS))]
)
"""Of the covering cases, which are many: those of a test are every ``PARTS``-th from ``part``."""

Lengths = Callable[[np.random.Generator, int], np.ndarray]

LENGTHS: dict[str, Lengths] = {
    "none": lambda rng, batch: np.zeros(batch, int),
    "one": lambda rng, batch: np.ones(batch, int),
    "few": lambda rng, batch: rng.integers(0, 4, batch),
    "ragged": lambda rng, batch: rng.geometric(1 / 12, batch) * (rng.random(batch) < 0.8),
    "rare": lambda rng, batch: 40 * (rng.random(batch) < 0.1),
    "thousands": lambda rng, batch: np.where(np.arange(batch) == batch // 2, 2003, 1),
}
"""How many indices each sample of a batch has, by name."""


@dataclass(frozen=True)
class Case:
    """A feature, and the schedule that computes it."""

    feature: Feature
    schedule: Schedule


def case(name: str, feature: Feature | None = None, /, **parameters: int) -> Case:
    """A schedule of template ``name`` for a feature of 20 rows of 32, unless another is given.

    Parameters that are left out have their first value.
    """
    defaults = {parameter.name: parameter.values[0] for parameter in template(name).parameters}
    return Case(feature or Feature("f", 20, 32), Schedule.of(name, **(defaults | parameters)))


def every_case(
    name: str, block_threads: int, table_types: Iterable[str] = TABLE_TYPES
) -> Iterator[Case]:
    """All that template ``name`` takes: poolings × types × weights × ``DIMS`` × parameters.

    Types of indices take turns: kernels are given the same whatever they are.
    """
    for pooling, table, output, weighted, dim in itertools.product(
        POOLINGS, table_types, TABLE_TYPES, (False, True), DIMS
    ):
        halved = table == "int4_rowwise" and dim % 2
        if not (weighted and pooling == "max") and not halved:
            rows, index = 1 + 7 * dim % 50, ("int32", "int64")[dim % 2]
            feature = Feature("f", rows, dim, pooling, table, output, index, weighted)
            for schedule in template(name).candidates(feature, block_threads):
                yield Case(feature, schedule)


@cache
def covering_cases(
    name: str,
    block_threads: int,
    *,
    triples: bool = True,
    table_types: Iterable[str] = tuple(TABLE_TYPES),
) -> tuple[Case, ...]:
    """Few cases of template ``name`` with all pairs of choices.

    A choice is a value of a parameter or of a field of ``FeatureKind``: any two that the template
    takes together are together in some case. With ``triples`` so is every pooling with every table
    type and dimension that it takes.
    """
    rng = np.random.default_rng(0)
    cases = list(every_case(name, block_threads, table_types))
    shuffled = [cases[i] for i in rng.permutation(len(cases))]
    of_triple: dict[tuple[str, str, int], list[Case]] = {}
    for one in shuffled:
        kind = one.feature.kind
        of_triple.setdefault((kind.pooling, kind.table_type, kind.dim), []).append(one)
    having: dict[tuple[str, str], list[Case]] = {}
    for one in shuffled[:10_000]:  # among so many at random hardly a pair is absent
        for pair in _pairs(one):
            having.setdefault(pair, []).append(one)
    missing = set(having)
    chosen: list[Case] = []

    def choose(candidates: Sequence[Case]) -> None:
        best = max(candidates, key=lambda one: len(_pairs(one) & missing))
        missing.difference_update(_pairs(best))
        chosen.append(best)

    if triples:
        for triple in sorted(of_triple):
            choose(of_triple[triple][:20])
    while missing:
        choose(having[min(missing)][:20])
    return tuple(chosen)


def _choices(one: Case) -> set[str]:
    choices = [*vars(one.feature.kind).items(), *one.schedule.parameters]
    return {f"{name}={value}" for name, value in choices}


def _pairs(one: Case) -> set[tuple[str, str]]:
    return set(itertools.combinations(sorted(_choices(one)), 2))


def program_of(
    cases: Sequence[Case], block_threads: int = 128, arch: str = "sm_90"
) -> EmbeddingProgram:
    """One fused kernel for all of them. Its features are called ``0 one_hot``, ``1 …``."""
    features = []
    for number, one in enumerate(cases):
        refusal = template(one.schedule.template).refusal(one.schedule, one.feature, block_threads)
        assert not refusal, f"{one}: {refusal}"
        fields = vars(one.feature) | {"name": f"{number} {one.schedule.template}"}
        features.append(Feature(**fields))
    model = EmbeddingModel("cases", tuple(features))
    schedules = tuple(dict.fromkeys(one.schedule for one in cases))
    of_feature = tuple(schedules.index(one.schedule) for one in cases)
    chosen = ScheduleSet(model.digest, arch, block_threads, 1, schedules, of_feature, "a test")
    return build_program(model, chosen)


class Bench:
    """A program with tables on the emulated GPU, and the golden model to compare with.

    exact
        whether tables and weights are small dyadic numbers, of which sums in any order are exact;
        else they are any numbers, and results may be off by ``golden.embedding.bound``.
    """

    def __init__(self, program: EmbeddingProgram, seed: int = 0, exact: bool = True) -> None:
        self.program = program
        self.exact = exact
        self.rng = np.random.default_rng(seed)
        self.tables = [self._table(feature) for feature in program.model.features]
        self.embedding = EmulatedEmbedding(program, self.tables)

    def _table(self, feature: Feature) -> np.ndarray:
        shape = (feature.rows, feature.dim)
        if feature.rowwise and self.exact:
            (table,) = synthesise_tables(EmbeddingModel("", (feature,)), int(self.rng.integers(99)))
            return table
        if feature.rowwise:
            return quantise(self.rng.normal(0, 3, shape), feature.table_type)
        if self.exact:
            numbers = self.rng.integers(-32, 33, shape) / 32
        else:
            numbers = self.rng.normal(0, 3, shape)
        return numbers.astype(TABLE_TYPES[feature.table_type])

    def inputs(self, feature: Feature, lengths: Sequence[int] | np.ndarray) -> FeatureInputs:
        """Indices at random, ``lengths[s]`` of them for sample ``s``."""
        dtype = INDEX_TYPES[feature.index_type]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(dtype)
        count = int(offsets[-1])
        indices = self.rng.integers(0, feature.rows, count).astype(dtype)
        if not feature.weighted:
            return FeatureInputs(indices, offsets)
        if self.exact:
            weights = self.rng.integers(1, 9, count) / 4
        else:
            weights = self.rng.normal(0, 1, count)
        return FeatureInputs(indices, offsets, weights.astype(np.float32))

    def batch(self, size: int, patterns: Sequence[str]) -> Batch:
        """Bags of the named ``LENGTHS``, by turns over the features."""
        turns = itertools.cycle(patterns)
        inputs = [
            self.inputs(feature, LENGTHS[next(turns)](self.rng, size))
            for feature in self.program.model.features
        ]
        return Batch(size, inputs)

    def mapping(self, batch: Batch, factor: float) -> TaskMap:
        """A thread mapping with ``factor`` times the blocks that the schedules want, or one."""
        counts = self.program.block_counts.copy()
        values = batch.counts
        units = np.where(counts["per_value"] != 0, values, batch.size)
        wanted = np.maximum(1, -(-units * counts["numerator"] // counts["denominator"]))
        counts["per_value"] = 0
        counts["numerator"] = np.maximum(1, np.ceil(wanted * factor))
        counts["denominator"] = 1
        return map_tasks(counts, 1, values)

    def check(self, batch: Batch, mapping: TaskMap | None = None) -> None:
        """Runs the batch; the assertion that fails names the first feature that is wrong."""
        run = self.embedding.run(batch, mapping)
        layout = self.program.outputs
        for number, feature in enumerate(self.program.model.features):
            column = layout.columns[number]
            buffer = run.outputs[feature.output_type]
            got = buffer[:, column : column + feature.dim]
            inputs = batch.features[number]
            arguments = (feature.elements(self.tables[number]), inputs)
            want = pool(*arguments, feature.pooling, feature.output_type)
            if self.exact:
                wrong = got.view(np.uint8) != want.view(np.uint8)
                wrong = wrong.reshape(*got.shape, got.itemsize).any(axis=2)
            else:
                allowed = bound(*arguments, feature.pooling, feature.output_type)
                wrong = ~(np.abs(got.astype(float) - want.astype(float)) <= allowed)
            assert not wrong.any(), (
                f"{feature}, {self.program.schedules.schedule(number)}: "
                f"{_first_wrong(got, want, wrong, inputs)}"
            )


def _first_wrong(
    got: np.ndarray, want: np.ndarray, wrong: np.ndarray, inputs: FeatureInputs
) -> str:
    sample, column = (int(at) for at in np.argwhere(wrong)[0])
    length = int(inputs.offsets[sample + 1] - inputs.offsets[sample])
    return (
        f"{int(wrong.sum())} of {wrong.size} numbers are wrong; the first is "
        f"output[{sample}][{column}] = {got[sample, column]}, not {want[sample, column]}, "
        f"of {length} indices in a batch of {len(wrong)}"
    )


def check_cases(cases: Sequence[Case], block_threads: int = 128, *, exact: bool = True) -> None:
    """Every case with bags of every kind of length, in batches small and large.

    Blocks are as many as the schedules want; one; more than there is work for.
    """
    bench = Bench(program_of(cases, block_threads), exact=exact)
    names = list(LENGTHS)
    for turn in range(0, len(names), 2):
        batch = bench.batch(61, names[turn:] + names[:turn])
        for factor in (1, 0, 3):
            bench.check(batch, bench.mapping(batch, factor))
    for pattern in ("none", "one", "thousands"):
        bench.check(bench.batch(1, [pattern]))
    bench.check(bench.batch(0, ["none"]))
    bench.check(bench.batch(2560, ["few", "one", "rare"]))


def check_negative_maxima(cases: Sequence[Case]) -> None:
    """Checks the cases that take maxima: nothing that is not in the bag is taken for greater, no
    idle thread's start, no zeroes."""
    bench = Bench(program_of([one for one in cases if one.feature.pooling == "max"]))
    for table in bench.tables:
        table[:] = -abs(table) - 1
    lengths = [2003, 150, 0, 1, 300, 7]
    inputs = [bench.inputs(feature, lengths) for feature in bench.program.model.features]
    bench.check(Batch(len(lengths), inputs))

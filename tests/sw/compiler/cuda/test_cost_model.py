"""Tests the schedules that the cost model prefers, and how it trades them against each other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.cuda_parts.uniform import choose_uniform, uniform_schedules
from gnarl.sw.compiler.cuda.architectures import ARCHITECTURES
from gnarl.sw.compiler.cuda.block_estimates import cold_share, estimate, longest_bag
from gnarl.sw.compiler.cuda.code_sharing import MAXIMUM_CODES, share_codes
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_for_sizes, choose_schedules, rank_group
from gnarl.sw.compiler.cuda.device_rates import RATES
from gnarl.sw.compiler.cuda.feature_groups import (
    BlockSize,
    FeatureGroup,
    feature_candidates,
    group_features,
)
from gnarl.sw.compiler.cuda.occupancy import maximum_blocks, shared_limit
from gnarl.sw.compiler.cuda.program import build_program
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.templates import template, templates
from gnarl.sw.compiler.cuda.templates.template import BlockCount, Parameter, Template, Work
from gnarl.sw.workloads.embedding.model import (
    POOLINGS,
    TABLE_TYPES,
    EmbeddingModel,
    Feature,
    PoolingFactors,
)
from gnarl.sw.workloads.embedding.recflex import load_model
from gnarl.sw.workloads.embedding.statistics import FeatureStatistics, from_factors
from tests.support.errors import refused
from tests.support.workloads import workload_file

CONFIG = CudaConfig(arch="sm_90", workers="blocks")
ONE_HOT = PoolingFactors()
LONG = PoolingFactors(100.0, 50.0, 200, 0.8)


def model(*features: Feature) -> EmbeddingModel:
    return EmbeddingModel("m", features)


def chosen(feature: Feature, batch: int = 256, beside: int = 0) -> Schedule:
    """The schedule chosen for a feature, one of so many more that are alike."""
    alike = [replace(feature, name=f"f{number}") for number in range(1 + beside)]
    given = model(*alike)
    groups = group_features(given, CONFIG.block_threads, batch=batch)
    return choose_for_sizes(given, [BlockSize(CONFIG, groups)]).schedule(0)


def rank(
    feature: Feature,
    candidates: Sequence[Schedule],
    statistics: FeatureStatistics,
    arch: str,
    block_threads: int,
    blocks_per_sm: int,
    batch: int = 256,
) -> list[tuple[float, Schedule]]:
    """The candidates of one feature with their costs."""
    estimates = estimate(feature, candidates, statistics, block_threads, batch)
    cold = cold_share(feature, statistics, batch)
    group = FeatureGroup((0,), feature, statistics, estimates, cold)
    return rank_group(group, arch, block_threads, blocks_per_sm)


def recflex(name: str) -> EmbeddingModel:
    return load_model(workload_file(f"recflex/{name}/table_config.txt").parent)


def codes(model: EmbeddingModel, schedules: ScheduleSet) -> int:
    return len({(f.kind, schedules.schedule(n)) for n, f in enumerate(model.features)})


@pytest.mark.parametrize("dim", [4, 8, 16])
def test_features_with_an_index_a_sample_get_a_thread_for_each_vector(dim):
    assert chosen(Feature("f", 50_000, dim), beside=500).template == "one_hot"


@pytest.mark.parametrize("dim", [4, 8])
def test_narrow_rows_of_long_bags_do_not_get_a_warp_for_each_row(dim):
    schedule = chosen(Feature("f", 50_000, dim, factors=LONG), beside=500)
    values = dict(schedule.parameters)
    lanes_of_row = dim // values["vector"]
    assert lanes_of_row <= 4
    assert schedule.template != "one_hot"
    if schedule.template == "warp_per_sample":
        assert values["rows"] > 1


def test_a_few_bags_of_thousands_are_split_over_blocks():
    feature = Feature("f", 1_000_000, 64, factors=PoolingFactors(5000.0))
    schedule = chosen(feature, batch=4)
    kind = template(schedule.template)
    blocks = kind.block_count(schedule, feature, CONFIG.block_threads).blocks(4, 20_000)
    assert schedule.template in ("split_sample", "reduce_by_key", "block_samples")
    assert blocks >= 16


@pytest.mark.parametrize("dim", [4, 32, 128])
def test_every_candidate_costs_more_where_bags_are_longer(dim):
    feature = Feature("f", 10**9, dim)  # so many rows that none is in the cache
    candidates = feature_candidates(feature, 128)
    costs = []
    for mean in (1.0, 10.0, 100.0, 1000.0):
        statistics = from_factors(PoolingFactors(mean))
        ranked = rank(feature, candidates, statistics, "sm_90", 128, 4)
        costs.append({schedule: cost for cost, schedule in ranked})
    for shorter, longer in zip(costs, costs[1:], strict=False):
        for schedule, cost in shorter.items():
            assert cost < longer[schedule], schedule


@pytest.mark.parametrize("dim", [4, 32, 128])
def test_every_candidate_costs_more_with_more_samples(dim):
    feature = Feature("f", 4096, dim)
    candidates = feature_candidates(feature, 128)
    statistics = from_factors(LONG)
    small, large = (
        {s: c for c, s in rank(feature, candidates, statistics, "sm_90", 128, 4, batch)}
        for batch in (64, 1024)
    )
    assert all(small[schedule] < large[schedule] for schedule in small)


def test_costs_are_ranked_and_complete():
    feature = Feature("f", 4096, 16)
    candidates = feature_candidates(feature, 128)
    ranked = rank(feature, candidates, from_factors(LONG), "sm_90", 128, 4)
    assert [cost for cost, _ in ranked] == sorted(cost for cost, _ in ranked)
    assert {schedule for _, schedule in ranked} == set(candidates)


def test_candidates_whose_shared_memory_does_not_fit_are_left_out():
    feature = Feature("f", 4096, 16)
    candidates = feature_candidates(feature, 128)
    ranked = rank(feature, candidates, from_factors(LONG), "sm_75", 128, 8)
    room = shared_limit("sm_75", 8)
    fitting = {
        schedule
        for schedule in candidates
        if template(schedule.template).shared_bytes(schedule, feature, 128) <= room
    }
    assert {schedule for _, schedule in ranked} == fitting < set(candidates)


@pytest.mark.parametrize("arch", sorted(ARCHITECTURES))
@pytest.mark.parametrize("block_threads", [32, 128, 1024])
def test_every_feature_gets_a_schedule_that_can_compute_it(arch, block_threads):
    features = [
        Feature(f"{dim} {pooling} {table} {factors.mean}", 3000, dim, pooling, table)
        for dim in (1, 3, 7, 32, 100, 1024)
        for pooling in POOLINGS[:2]
        for table in list(TABLE_TYPES)[:2]
        for factors in (ONE_HOT, LONG)
    ]
    config = CudaConfig(arch=arch, block_threads=block_threads)
    found = choose_schedules(model(*features), config)
    assert 1 <= found.blocks_per_sm <= maximum_blocks(arch, block_threads)
    for number, feature in enumerate(features):
        schedule = found.schedule(number)
        kind = template(schedule.template)
        assert kind.refusal(schedule, feature, block_threads) == ""
        shared = kind.shared_bytes(schedule, feature, block_threads)
        assert shared <= shared_limit(arch, found.blocks_per_sm)


def test_the_set_is_for_the_model_and_says_how_it_was_made():
    found = choose_schedules(model(Feature("f", 10, 4)), CONFIG)
    assert found.model == model(Feature("f", 10, 4)).digest
    assert (found.arch, found.block_threads, found.origin) == ("sm_90", 128, "cost model")
    assert len(found.schedules) == 1


def test_every_architecture_has_rates():
    assert set(RATES) == set(ARCHITECTURES)


def test_an_occupancy_of_the_configuration_is_kept():
    config = CudaConfig(arch="sm_90", blocks_per_sm=3)
    assert choose_schedules(model(Feature("f", 10, 4)), config).blocks_per_sm == 3


@given(st.permutations(range(8)), st.integers(0, 3))
@settings(max_examples=10, deadline=None)
def test_a_feature_s_schedule_does_not_depend_on_the_order_of_features(order, kinds):
    features = [
        Feature(f"f{n}", 1000 * (n + 1), 4 << n % (kinds + 1), factors=LONG if n % 2 else ONE_HOT)
        for n in range(8)
    ]
    straight = choose_schedules(model(*features), CONFIG)
    mixed = choose_schedules(model(*(features[n] for n in order)), CONFIG)
    assert [mixed.schedule(place) for place in range(8)] == [straight.schedule(n) for n in order]


def test_equal_features_share_a_schedule_even_where_statistics_were_sampled():
    features = [Feature(f"f{n}", 1000, 16) for n in range(4)]
    sampled = [FeatureStatistics(10.0 + n / 100, 3.0, 20.0, 0.5 + n / 1000) for n in range(4)]
    groups = group_features(model(*features), CONFIG.block_threads, sampled)
    assert len(groups) == 1
    found = choose_for_sizes(model(*features), [BlockSize(CONFIG, groups)])
    assert found.of_feature == (0, 0, 0, 0)


def test_statistics_of_batches_count_more_than_what_the_model_says():
    features = [Feature(f"f{n}", 50_000, 8) for n in range(300)]
    statistics = [from_factors(LONG)] * 300
    assert choose_schedules(model(*features), CONFIG).schedule(0).template == "one_hot"
    groups = group_features(model(*features), CONFIG.block_threads, statistics)
    found = choose_for_sizes(model(*features), [BlockSize(CONFIG, groups)])
    assert found.schedule(0).template != "one_hot"


@pytest.mark.parametrize("name", "ABCDE")
def test_models_of_the_paper_share_code(name):
    given = recflex(name)
    found = choose_schedules(given, CONFIG)
    assert codes(given, found) <= MAXIMUM_CODES
    begin = time.process_time()
    assert choose_schedules(given, CONFIG) == found
    assert time.process_time() - begin < 3  # 0.5 s on an idle core


def test_more_kinds_of_features_than_codes_are_wanted_have_a_code_each():
    features = [Feature(f"f{n}", 1000, 1 + n) for n in range(MAXIMUM_CODES + 4)]
    given = model(*features)
    assert codes(given, choose_schedules(given, CONFIG)) == len(features)


class Magic(Template):
    """A template from elsewhere, which claims to do nothing."""

    name = "magic"
    header = "magic.cuh"
    struct = "Magic"
    parameters = (Parameter("spell", (1,), "which"),)

    def refusal(self, schedule, feature, block_threads):
        return "spell: must be for dim 4" if feature.dim != 4 else ""

    def block_count(self, schedule, feature, block_threads):
        return BlockCount("samples", 1, 1024)

    def work(self, schedule, feature, block_threads, batch, values, longest):
        return Work(0, 0, 0, 0)


def test_a_template_from_elsewhere_is_chosen_where_it_claims_to_do_least(monkeypatch):
    known = {**templates(), "magic": Magic()}
    registry = import_module("gnarl.sw.compiler.cuda.templates.template")
    monkeypatch.setattr(registry, "_TEMPLATES", known)
    found = choose_schedules(model(Feature("a", 10, 4), Feature("b", 10, 8)), CONFIG)
    assert found.schedule(0).template == "magic"
    assert found.schedule(1).template != "magic"


# Features that nothing takes.


def test_a_feature_that_no_template_takes_is_named_with_each_template_s_reason(monkeypatch):
    one_hot = template("one_hot")
    monkeypatch.setattr(
        "gnarl.sw.compiler.cuda.feature_groups.templates", lambda: {"one_hot": one_hot}
    )
    with refused(
        "feature wide: no template takes dim 4095 of float32 with 128 threads a block "
        "(one_hot: vector = 1: dim 4095 needs more than 128 threads)"
    ):
        choose_schedules(model(Feature("wide", 10, 4095)), CONFIG)


def test_schedules_that_need_more_shared_memory_than_the_occupancy_leaves(monkeypatch):
    monkeypatch.setattr(type(template("one_hot")), "shared_bytes", lambda *_: 40_000)
    one_hot = template("one_hot")
    monkeypatch.setattr(
        "gnarl.sw.compiler.cuda.feature_groups.templates", lambda: {"one_hot": one_hot}
    )
    config = CudaConfig(arch="sm_75", blocks_per_sm=4, workers="blocks")
    with refused(
        "feature f: its schedules need at least 40,016 bytes of shared memory a block: "
        "must be at most 16,384 with blocks_per_sm = 4 on sm_75"
    ):
        choose_schedules(model(Feature("f", 10, 4)), config)


# The uniform schedule.


def test_the_uniform_schedule_is_a_warp_a_sample_with_the_widest_vectors():
    features = [
        Feature(f"f{dim} {table}", 1000, dim, table_type=table, factors=LONG)
        for dim, table in ((4, "float32"), (128, "float32"), (7, "float32"), (64, "float16"))
    ]
    found = uniform_schedules(model(*features), CONFIG)
    assert found.origin == "uniform: a warp for each sample"
    assert {schedule.template for schedule in found.schedules} == {"warp_per_sample"}
    assert [found.schedule(n)["vector"] for n in range(4)] == [4, 4, 1, 8]
    assert {schedule["rows"] for schedule in found.schedules} == {1}
    assert len({schedule["unroll"] for schedule in found.schedules}) == 1


def test_the_uniform_schedule_is_not_slowed_down_on_purpose():
    """It has the unrolling and occupancy that the cost model finds best for it."""
    given = model(*(Feature(f"f{n}", 4096, 32, factors=LONG) for n in range(200)))
    found = uniform_schedules(given, CONFIG)
    cost = {
        (unroll, blocks): rank(
            given.features[0],
            [Schedule.of("warp_per_sample", vector=4, rows=1, unroll=unroll, samples_per_warp=1)],
            from_factors(LONG),
            "sm_90",
            128,
            blocks,
        )[0][0]
        for unroll in (1, 2, 4, 8)
        for blocks in (4, 5, 6, 8, 16)
    }
    best = min(cost.values())
    assert cost[found.schedule(0)["unroll"], found.blocks_per_sm] <= 1.1 * best


def test_where_no_candidate_suits_all_features_there_is_no_uniform_schedule():
    """A table is copied to the least capacity that holds it."""
    small, large = Feature("a", 10, 4), Feature("b", 3000, 4)
    candidates = template("table_in_shared").candidates
    assert choose_uniform(model(small, large), CONFIG, candidates, "tables") is None
    found = choose_uniform(model(small, replace(small, name="b")), CONFIG, candidates, "tables")
    assert found is not None
    assert found.origin == "tables"
    assert found.schedule(0)["vector"] == 4


@pytest.mark.parametrize("name", "ABCDE")
def test_the_cost_model_prefers_its_choice_to_the_uniform_schedule(name):
    given = recflex(name)
    groups = group_features(given, 128)

    def load(found: ScheduleSet) -> float:
        return sum(
            rank(
                group.example,
                [found.schedule(group.features[0])],
                group.statistics,
                "sm_90",
                128,
                found.blocks_per_sm,
            )[0][0]
            * len(group.features)
            for group in groups
        )

    assert load(choose_schedules(given, CONFIG)) < load(uniform_schedules(given, CONFIG))


def test_both_sets_can_be_fused():
    given = model(Feature("a", 100, 4), Feature("b", 100, 32, factors=LONG))
    for found in (choose_schedules(given, CONFIG), uniform_schedules(given, CONFIG)):
        assert build_program(given, found).kernel.code_of_feature == (0, 1)


# Parts.


@pytest.mark.parametrize("samples", [1, 2, 10, 256])
def test_the_longest_of_equal_bags_is_each_of_them(samples):
    assert longest_bag(FeatureStatistics(7.0, 0.0, 7.0, 1.0), samples) == 7.0


def test_a_feature_that_nobody_has_has_no_longest_bag():
    assert longest_bag(FeatureStatistics(0.0, 0.0, 0.0, 0.0), 256) == 0.0


def test_one_sample_has_as_many_indices_as_the_mean():
    statistics = from_factors(LONG)
    assert longest_bag(statistics, 1) == pytest.approx(statistics.mean)


@given(
    st.floats(0, 1000),
    st.floats(1, 100),
    st.floats(0.01, 1),
    st.floats(1, 1000),
    st.floats(1, 100),
)
def test_more_samples_have_a_longer_longest_bag(mean, std, coverage, samples, more):
    statistics = from_factors(PoolingFactors(mean, std, None, coverage))
    few, many = (longest_bag(statistics, count) for count in (samples, samples * more))
    assert few <= many + 1e-9
    assert many <= max(statistics.longest, statistics.mean / max(statistics.coverage, 1e-9)) + 1e-9


def test_look_ups_of_few_rows_are_hardly_ever_first_ones():
    statistics = from_factors(PoolingFactors(10.0))
    assert cold_share(Feature("f", 10, 4), statistics, 256) < 0.01
    assert cold_share(Feature("f", 10**9, 4), statistics, 256) > 0.99


def test_groups_within_tolerance_share_the_schedule_that_suits_most():
    kind = Feature("f", 10, 4).kind
    a, b, c = (Schedule.of("one_hot", vector=n, samples_per_thread=1) for n in (1, 2, 4))
    options = [
        (kind, {a: 100.0, b: 101.0, c: 150.0}),
        (kind, {a: 150.0, b: 100.0, c: 101.0}),
        (kind, {a: 150.0, b: 101.0, c: 100.0}),
    ]
    assert share_codes(options) == [b, b, b]


def test_groups_beyond_tolerance_keep_their_best():
    kind = Feature("f", 10, 4).kind
    a, b = (Schedule.of("one_hot", vector=n, samples_per_thread=1) for n in (1, 2))
    assert share_codes([(kind, {a: 100.0, b: 103.0}), (kind, {a: 103.0, b: 100.0})]) == [a, b]


def test_tolerance_grows_where_there_are_too_many_codes():
    kind = Feature("f", 10, 4).kind
    common = Schedule.of("common")
    options = [
        (kind, {Schedule.of("own", number=n): 100.0, common: 109.0})
        for n in range(MAXIMUM_CODES + 1)
    ]
    assert set(share_codes(options)) == {common}
    assert common not in share_codes(options[:-1])

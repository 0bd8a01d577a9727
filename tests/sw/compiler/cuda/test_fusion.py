"""The fused kernel's source: what features share in it, and its limits."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.cuda.fusion import KERNEL, MAXIMUM_CODES, FusedKernel, fuse
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.templates import templates
from gnarl.sw.compiler.cuda.templates.one_hot import OneHot
from gnarl.sw.compiler.cuda.templates.template import INCLUDE
from gnarl.sw.compiler.cuda.warp_fusion import WARP_KERNEL
from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels, EmulationError
from gnarl.sw.workloads.embedding.model import (
    TABLE_TYPES,
    EmbeddingModel,
    Feature,
)
from tests.support.errors import refused


def one_hot(vector: int = 4, samples: int = 1) -> Schedule:
    return Schedule.of("one_hot", vector=vector, samples_per_thread=samples)


def fused(
    *pairs: tuple[Feature, Schedule], arch: str = "sm_80", name: str = "ads", blocks_per_sm: int = 4
) -> FusedKernel:
    features, chosen = zip(*pairs, strict=True)
    model = EmbeddingModel(name, features)
    schedules = tuple(dict.fromkeys(chosen))
    of_feature = {schedule: at for at, schedule in enumerate(schedules)}
    return fuse(
        model,
        ScheduleSet(
            "",
            arch,
            128,
            blocks_per_sm,
            schedules,
            tuple(of_feature[schedule] for schedule in chosen),
            "by hand",
        ),
    )


def features(number: int) -> list[tuple[Feature, Schedule]]:
    """Features of 36 kinds, with three schedules."""
    return [
        (
            Feature(f"f{at}", 100, 4 << at % 6, ("sum", "mean", "max")[at % 7 % 3]),
            one_hot(1 << at % 2, 1 + at % 2),
        )
        for at in range(number)
    ]


@pytest.fixture
def hungry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The template says that it needs much shared memory."""

    def shared_bytes(self: OneHot, schedule: Schedule, feature: Feature, threads: int) -> int:
        return 1000 * schedule["vector"] * feature.dim

    monkeypatch.setattr(OneHot, "shared_bytes", shared_bytes)


def test_equal_kinds_with_equal_schedules_share_code() -> None:
    found = fused(
        (Feature("a", 10, 8), one_hot()),
        (Feature("b", 99, 8), one_hot()),  # the number of rows is an argument
        (Feature("c", 10, 8), one_hot(2)),  # another schedule
        (Feature("d", 10, 8, "max"), one_hot()),  # another kind
        (Feature("e", 10, 8), one_hot(2)),
    )
    assert found.code_of_feature == (0, 0, 1, 2, 1)
    assert re.findall(r"using Code(\d+) = (.*);", found.source) == [
        (
            str(code),
            "gnarl::OneHot<gnarl::Kind<float, float, "
            f"gnarl::Pooling::{pooling}, false, 8>, 128, {vector}, 1>",
        )
        for code, (pooling, vector) in enumerate((("kSum", 4), ("kSum", 2), ("kMax", 4)))
    ]
    rows = [(10, 0), (99, 8), (10, 16), (10, 24), (10, 32)]
    constants = [
        f"{{{rows}, {4 * column}, 40, {code}, 0}},"
        for (rows, column), code in zip(rows, found.code_of_feature, strict=True)
    ]
    assert f"kConstants[kFeatures] = {{\n  {' '.join(constants[:4])}\n  {constants[4]}\n}};" in (
        found.source
    )


def test_only_what_differs_is_generated() -> None:
    """A feature more costs two rows of tables, a code more some lines; headers have the rest."""
    few, many = fused(*features(100)), fused(*features(1000))
    assert max(few.code_of_feature) == max(many.code_of_feature)
    assert 30 * 900 < len(many.source) - len(few.source) < 60 * 900
    assert many.source.count("#include") == 3


def test_every_code_is_a_case_of_one_switch_and_none_is_a_function_pointer() -> None:
    found = fused(*features(200))
    source, codes = found.source, max(found.code_of_feature) + 1
    assert re.findall(r"case (\d+):", source) == [str(code) for code in range(codes)]
    for code in range(codes):
        assert f"Code{code}::run(feature, block, blocks, shared.code{code});" in source
    assert "&Code" not in source


def test_launch_bounds_are_the_occupancy_wanted() -> None:
    source = fused(*features(2), blocks_per_sm=7).source
    assert "__launch_bounds__(kBlockThreads, 7)\ngnarl_fused_embedding_bags(" in source


def test_names_of_kinds() -> None:
    feature = Feature("a", 9, 6, "mean", "bfloat16", "float16", "int32", weighted=True)
    assert (
        "gnarl::Kind<gnarl::BFloat16, gnarl::Float16, gnarl::Pooling::kMean, true, 6>"
        in fused((feature, one_hot(2))).source
    )


def test_a_name_stays_in_the_comment() -> None:
    source = fused((Feature("a", 9, 4), one_hot()), name='x"; int y; \\').source
    assert source.splitlines()[0] == (
        r'// The embedding layer of "x\"; int y; \\": 1 features, 1 codes. Generated.'
    )


def test_equal_models_have_equal_sources_in_every_process() -> None:
    text = """
import sys
sys.path.insert(0, "")
from tests.sw.compiler.cuda.test_fusion import features, fused
sys.stdout.write(fused(*features(300)).source)
"""
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", text],
            cwd=Path(__file__).parents[4],
            env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == fused(*features(300)).source


@pytest.mark.parametrize("number", [1_000, 10_000])
def test_time(number: int) -> None:
    pairs = features(number)
    begin = time.perf_counter()
    fused(*pairs)
    assert time.perf_counter() - begin < 2


def test_shared_memory_is_never_empty_and_aligned() -> None:
    # Of one byte, and what says which task is next.
    assert fused((Feature("a", 9, 4), one_hot())).shared_bytes == 16 + 16


@pytest.mark.usefixtures("hungry")
def test_shared_memory_is_the_largest_of_all_codes() -> None:
    pairs = [(Feature(f"dim {dim}", 9, dim), one_hot(1)) for dim in (4, 9, 5)]
    assert fused(*pairs).shared_bytes == 9008 + 16


@pytest.mark.usefixtures("hungry")
def test_more_shared_memory_than_a_block_may_have_is_refused() -> None:
    pairs = [(Feature("small", 9, 8), one_hot(1)), (Feature("large", 9, 32), one_hot(4, 2))]
    text = (
        "feature large: one_hot(vector=4, samples_per_thread=2): needs 128,016 bytes of shared "
        "memory: must be at most 65,536, all that sm_75 gives a block"
    )
    with pytest.raises(CapacityError, match=f"^{re.escape(text)}$"):
        fused(*pairs, arch="sm_75")
    assert fused(*pairs, arch="sm_80").shared_bytes == 128_016


@pytest.mark.usefixtures("hungry")
def test_a_template_that_does_not_know_its_shared_memory_does_not_compile() -> None:
    source = fused((Feature("a", 9, 4), one_hot(1))).source
    reason = r"shared_bytes of one_hot\(vector=1, samples_per_thread=1\) is wrong"
    with pytest.raises(EmulationError, match=reason):
        EmulatedKernels(source, [INCLUDE])


@pytest.mark.slow
def test_as_many_codes_as_a_short_number_has_and_no_more() -> None:
    kinds = itertools.product(range(1, 2800), ("sum", "mean", "max"), TABLE_TYPES, TABLE_TYPES)
    pairs = [
        (Feature(f"f{at}", 9, dim, pooling, table, output), one_hot(1))
        for at, (dim, pooling, table, output) in enumerate(kinds)
    ]
    assert fused(*pairs[:MAXIMUM_CODES]).code_of_feature[-1] == MAXIMUM_CODES - 1
    text = "model ads: 65,536 pairs of kind and schedule: must be at most 65,535"
    with pytest.raises(CapacityError, match=f"^{re.escape(text)}$"):
        fused(*pairs[: MAXIMUM_CODES + 1])


def test_a_kernel_has_one_kind_of_workers() -> None:
    bags, short = Schedule.of("pooled_bags", vector=4, rows=1), one_hot()
    one, other = Feature("a", 10, 4), Feature("b", 10, 8)
    for pairs in (((one, bags), (other, short)), ((one, short), (other, bags))):
        with refused(
            f"{bags}, {short}: tasks of one are done by warps, of the other by blocks: a kernel "
            "has but one kind of workers"
        ):
            fused(*pairs)


def test_features_of_all_dimensions_share_a_code_of_warps() -> None:
    pairs = [
        (Feature(f"f{dim}", 10, dim), Schedule.of("pooled_bags", vector=4, rows=rows))
        for dim, rows in ((4, 32), (8, 2), (100, 1), (4096, 1))
    ]
    made = fused(*pairs)
    assert made.code_of_feature == (0, 0, 0, 0)
    assert made.name == WARP_KERNEL
    assert made.layout is not None
    assert sorted(made.layout.order) == [0, 1, 2, 3]
    plain = fused((Feature("f", 10, 4), one_hot()))
    assert (plain.name, plain.layout) == (KERNEL, None)


def test_an_unknown_template_is_refused_by_name() -> None:
    with refused(f"template 'none': there are {', '.join(templates())}"):
        fused((Feature("a", 9, 4), Schedule.of("none")))

"""Generates the fused kernel of a model: one block-level branch for each distinct schedule.

Source: RecFlex, section IV-B and figure 8.
"""

from __future__ import annotations

from dataclasses import dataclass

from sw.compiler.cuda.layouts import layout_checks
from sw.compiler.cuda.schedule import Schedule, ScheduleSet
from sw.compiler.cuda.templates import template
from sw.compiler.frontend.embedding_model import EmbeddingModel, Feature, FeatureKind

KERNEL = "gnarl_fused_embedding_bags"
"""Name of the kernel: (arguments, tasks, feature_blocks, block_times)."""

SHARED_MEMORY = "gnarl_shared_memory"
SHARED_ALIGNMENT = 16
"""Of a block's shared memory, and so of what a template's ``Shared`` may ask for; in bytes."""

_CXX_TYPES = {
    "float32": "float",
    "float16": "gnarl::Float16",
    "bfloat16": "gnarl::BFloat16",
    "int32": "int",
    "int64": "long long",
}
_CXX_POOLING = {name: f"gnarl::Pooling::k{name.capitalize()}" for name in ("sum", "mean", "max")}


@dataclass(frozen=True)
class FusedKernel:
    """CUDA C++ of a fused kernel, and what launching it needs.

    source
        the translation unit.
    code_of_feature
        for each feature the number of its branch.
    shared_bytes
        dynamic shared memory of every block.
    """

    source: str
    code_of_feature: tuple[int, ...]
    shared_bytes: int


def fuse(model: EmbeddingModel, schedules: ScheduleSet) -> FusedKernel:
    """Features with equal kind and schedule share code. Linear in features."""
    codes: dict[tuple[FeatureKind, Schedule], int] = {}
    examples: list[tuple[Feature, Schedule]] = []
    of_feature = []
    for number, feature in enumerate(model.features):
        schedule = schedules.schedule(number)
        code = codes.setdefault((feature.kind, schedule), len(codes))
        if code == len(examples):
            examples.append((feature, schedule))
        of_feature.append(code)
    threads = schedules.block_threads
    largest = max(
        template(schedule.template).shared_bytes(schedule, feature, threads)
        for feature, schedule in examples
    )
    shared = -(-largest // SHARED_ALIGNMENT) * SHARED_ALIGNMENT
    headers = dict.fromkeys(template(schedule.template).header for _, schedule in examples)
    lines = [
        f"// The embedding layer of {model.name}: {len(of_feature):,} features, "
        f"{len(examples):,} codes. Generated.",
        *(f'#include "{header}"' for header in headers),
        '#include "gnarl/task_map.cuh"',
        "",
        *layout_checks(),
        "",
        f"constexpr int kBlockThreads = {threads};",
        "",
        *(_using(code, *example, threads) for code, example in enumerate(examples)),
        "",
        f"union alignas({SHARED_ALIGNMENT}) Shared {{",
        *(f"  Code{code}::Shared code{code};" for code in range(len(examples))),
        "};",
        f'static_assert(sizeof(Shared) == {shared}, "shared memory is not what the host gives");',
        "",
        f"__device__ const unsigned short kCodeOfFeature[{len(of_feature)}] = {{",
        *_table(of_feature),
        "};",
        "",
        f"extern __shared__ __align__({SHARED_ALIGNMENT}) unsigned char {SHARED_MEMORY}[];",
        "",
        f'extern "C" __global__ void __launch_bounds__(kBlockThreads, {schedules.blocks_per_sm})',
        f"{KERNEL}(const gnarl::FeatureArguments* arguments, const gnarl::Task* tasks,",
        "    const int* feature_blocks, gnarl::BlockTime* block_times) {",
        "  const gnarl::BlockTimer timer(block_times);",
        "  const gnarl::Task task = tasks[blockIdx.x];",
        "  const gnarl::FeatureArguments feature = arguments[task.feature];",
        "  const int blocks = feature_blocks[task.feature];",
        f"  Shared& shared = *reinterpret_cast<Shared*>({SHARED_MEMORY});",
        "  switch (kCodeOfFeature[task.feature]) {",
        *(
            f"    case {code}: Code{code}::run(feature, task.block, blocks, shared.code{code}); "
            "break;"
            for code in range(len(examples))
        ),
        "  }",
        "  timer.stop(block_times);",
        "}",
        "",
    ]
    return FusedKernel("\n".join(lines), tuple(of_feature), shared)


def _using(code: int, feature: Feature, schedule: Schedule, threads: int) -> str:
    kind = feature.kind
    arguments = [
        _CXX_TYPES[kind.table_type],
        _CXX_TYPES[kind.index_type],
        _CXX_TYPES[kind.output_type],
        _CXX_POOLING[kind.pooling],
        "true" if kind.weighted else "false",
        str(kind.dim),
    ]
    parameters = "".join(f", {value}" for _, value in schedule.parameters)
    struct = template(schedule.template).struct
    return (
        f"using Code{code} = {struct}<gnarl::Kind<{', '.join(arguments)}>, {threads}{parameters}>;"
    )


def _table(values: list[int]) -> list[str]:
    return [
        "  " + "".join(f"{value}, " for value in values[at : at + 20]).rstrip()
        for at in range(0, len(values), 20)
    ]

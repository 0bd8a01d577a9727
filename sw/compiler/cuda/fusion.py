"""Generates the fused kernel of a model: one block-level branch for each distinct schedule.

Source: RecFlex, section IV-B and figure 8. The branches are the cases of a ``switch``, which NVRTC
compiles to a binary search: seven comparisons for 100 codes, whatever their order, and everything
inline. A chain of ``if`` (the paper's) becomes one comparison after the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hw.lib.errors import CapacityError
from sw.compiler.cuda.architectures import ARCHITECTURES
from sw.compiler.cuda.layouts import layout_checks
from sw.compiler.cuda.schedule import Schedule, ScheduleSet
from sw.compiler.cuda.templates import template
from sw.workloads.embedding.model import EmbeddingModel, Feature, FeatureKind

KERNEL = "gnarl_fused_embedding_bags"
"""Name of the kernel: (arguments, tasks, feature_blocks, block_times)."""

MAP_KERNEL = "gnarl_map_tasks"
"""Name of the kernel that makes the thread mapping on the device, in contiguous order: (counts,
arguments, tasks, feature_blocks), with a block for each ``block_threads`` features."""

SHARED_MEMORY = "gnarl_shared_memory"

MAXIMUM_CODES = 65_535

_SHARED_ALIGNMENT = 16

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


@dataclass(frozen=True)
class _Code:
    """What a branch computes: a schedule, for the first of the features that share it."""

    feature: Feature
    schedule: Schedule
    block_threads: int

    @property
    def shared_bytes(self) -> int:
        chosen = template(self.schedule.template)
        return chosen.shared_bytes(self.schedule, self.feature, self.block_threads)

    @property
    def instantiation(self) -> str:
        kind = self.feature.kind
        arguments = [
            _CXX_TYPES[kind.table_type],
            _CXX_TYPES[kind.index_type],
            _CXX_TYPES[kind.output_type],
            _CXX_POOLING[kind.pooling],
            "true" if kind.weighted else "false",
            str(kind.dim),
        ]
        parameters = "".join(f", {value}" for _, value in self.schedule.parameters)
        struct = template(self.schedule.template).struct
        return f"{struct}<gnarl::Kind<{', '.join(arguments)}>, {self.block_threads}{parameters}>"


def map_blocks(features: int, block_threads: int) -> int:
    """Blocks of a launch of ``MAP_KERNEL``."""
    return -(-features // block_threads)


def map_shared_bytes(block_threads: int) -> int:
    """Dynamic shared memory of a block of ``MAP_KERNEL``."""
    return 4 * block_threads + 4


def fuse(model: EmbeddingModel, schedules: ScheduleSet) -> FusedKernel:
    """Features with equal kind and schedule share code. Linear in features.

    Raises ``CapacityError`` for too many codes, and for a schedule that needs more shared memory
    than the architecture gives a block.
    """
    numbers: dict[tuple[FeatureKind, Schedule], int] = {}
    codes: list[_Code] = []
    of_feature = []
    for number, feature in enumerate(model.features):
        schedule = schedules.schedule(number)
        code = numbers.setdefault((feature.kind, schedule), len(numbers))
        if code == len(codes):
            codes.append(_Code(feature, schedule, schedules.block_threads))
        of_feature.append(code)
    if len(codes) > MAXIMUM_CODES:
        raise CapacityError(
            f"model {model.name}: {len(codes):,} pairs of kind and schedule: "
            f"must be at most {MAXIMUM_CODES:,}"
        )
    shared = _shared_bytes(codes, schedules.arch)
    return FusedKernel(_source(model, schedules, codes, of_feature), tuple(of_feature), shared)


def _shared_bytes(codes: Sequence[_Code], arch: str) -> int:
    """Of the union of all codes' shared memories."""
    most = ARCHITECTURES[arch].shared_per_block
    for code in codes:
        if code.shared_bytes > most:
            raise CapacityError(
                f"feature {code.feature.name}: {code.schedule}: needs {code.shared_bytes:,} bytes "
                f"of shared memory: must be at most {most:,}, all that {arch} gives a block"
            )
    largest = max(code.shared_bytes for code in codes)
    return -(-largest // _SHARED_ALIGNMENT) * _SHARED_ALIGNMENT


def _source(
    model: EmbeddingModel, schedules: ScheduleSet, codes: Sequence[_Code], of_feature: list[int]
) -> str:
    headers = dict.fromkeys(template(code.schedule.template).header for code in codes)
    lines = [
        f"// The embedding layer of {json.dumps(model.name)}: {len(of_feature):,} features, "
        f"{len(codes):,} codes. Generated.",
        *(f'#include "{header}"' for header in headers),
        '#include "gnarl/task_map.cuh"',
        "",
        *layout_checks(),
        "",
        f"constexpr int kFeatures = {len(of_feature)};",
        f"constexpr int kBlockThreads = {schedules.block_threads};",
        "",
        *(f"using Code{number} = {code.instantiation};" for number, code in enumerate(codes)),
        "",
        *_shared_memory(codes),
        "",
        "__device__ const unsigned short kCodeOfFeature[kFeatures] = {",
        *_table(of_feature),
        "};",
        "",
        *_fused_kernel(len(codes), schedules.blocks_per_sm),
        "",
        *_map_kernel(schedules.block_threads),
        "",
    ]
    return "\n".join(lines)


def _shared_memory(codes: Sequence[_Code]) -> Iterator[str]:
    """The union of all codes' shared memories; each must have the size that the host knows."""
    for number, code in enumerate(codes):
        yield (
            f"static_assert(sizeof(Code{number}::Shared) == {code.shared_bytes}, "
            f'"shared_bytes of {code.schedule} is wrong");'
        )
    yield f"union alignas({_SHARED_ALIGNMENT}) Shared {{"
    for number in range(len(codes)):
        yield f"  Code{number}::Shared code{number};"
    yield "};"
    yield (f"extern __shared__ __align__({_SHARED_ALIGNMENT}) unsigned char {SHARED_MEMORY}[];")


def _fused_kernel(codes: int, blocks_per_sm: int) -> Iterator[str]:
    yield f'extern "C" __global__ void __launch_bounds__(kBlockThreads, {blocks_per_sm})'
    yield f"{KERNEL}(const gnarl::FeatureArguments* arguments, const gnarl::Task* tasks,"
    yield "    const int* feature_blocks, gnarl::BlockTime* block_times) {"
    yield "  const gnarl::BlockTimer timer(block_times);"
    yield "  const gnarl::Task task = tasks[blockIdx.x];"
    yield "  const gnarl::FeatureArguments feature = arguments[task.feature];"
    yield "  const int blocks = feature_blocks[task.feature];"
    yield f"  Shared& shared = *reinterpret_cast<Shared*>({SHARED_MEMORY});"
    yield "  switch (kCodeOfFeature[task.feature]) {"
    for code in range(codes):
        yield f"    case {code}:"
        yield f"      Code{code}::run(feature, task.block, blocks, shared.code{code});"
        yield "      break;"
    yield "  }"
    yield "  timer.stop(block_times);"
    yield "}"


def _map_kernel(block_threads: int) -> Iterator[str]:
    yield "using MapShared = gnarl::TaskMapShared<kBlockThreads>;"
    yield (
        f"static_assert(sizeof(MapShared) == {map_shared_bytes(block_threads)}, "
        '"map_shared_bytes is wrong");'
    )
    yield 'extern "C" __global__ void __launch_bounds__(kBlockThreads)'
    yield f"{MAP_KERNEL}(const gnarl::BlockCount* counts, const gnarl::FeatureArguments* arguments,"
    yield "    gnarl::Task* tasks, int* feature_blocks) {"
    yield "  gnarl::map_tasks<kBlockThreads>(counts, arguments, kFeatures, tasks, feature_blocks,"
    yield f"      *reinterpret_cast<MapShared*>({SHARED_MEMORY}));"
    yield "}"


def _table(values: list[int]) -> Iterator[str]:
    for at in range(0, len(values), 20):
        yield "  " + "".join(f"{value}, " for value in values[at : at + 20]).rstrip()

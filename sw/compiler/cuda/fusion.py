"""Generates the fused kernel of a model: one block-level branch for each distinct schedule.

Source: RecFlex, section IV-B and figure 8. The branches are the cases of a ``switch``, which NVRTC
compiles to a binary search: seven comparisons for 100 codes, whatever their order, and everything
inline. A chain of ``if`` (the paper's) becomes one comparison after the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gnarl.hw.lib.errors import CapacityError, WorkloadError
from gnarl.sw.compiler.cuda.architectures import ARCHITECTURES
from gnarl.sw.compiler.cuda.demands import feature_demands
from gnarl.sw.compiler.cuda.layouts import (
    BLOCK_STRUCTS,
    SHARED_ALIGNMENT,
    block_shared_bytes,
    feature_constants,
    layout_checks,
)
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.source_parts import (
    BATCH_PARAMETERS,
    CONSTANT_BYTES,
    CXX_POOLING,
    CXX_TYPES,
    SHARED_MEMORY,
    FusedKernel,
    kernel_head,
    table_lines,
)
from gnarl.sw.compiler.cuda.templates import template
from gnarl.sw.compiler.cuda.warp_fusion import fuse_warps
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, FeatureKind

KERNEL = "gnarl_fused_embedding_bags"
PARAMETERS = {
    **BATCH_PARAMETERS,
    "tasks": "const gnarl::Task*",
    "shares": "const gnarl::Share*",
    "state": "gnarl::QueueState*",
    "times": "gnarl::BlockTime*",
    "queues": "int",
    "queues_reciprocal": "int",
    "batch": "int",
}
"""Parameters of the kernel: the fields of ``Launch`` in ``task_queue.cuh``, in their order."""

MAP_KERNEL = "gnarl_map_tasks"
MAP_PARAMETERS = {
    "offsets": "const gnarl::Index*",
    "tasks": "gnarl::Task*",
    "shares": "gnarl::Share*",
    "state": "gnarl::QueueState*",
    "blocks": "int",
    "queues": "int",
    "batch": "int",
}
"""Parameters of the kernel that makes the thread mapping on the device, in contiguous order, with a
block for each ``block_threads`` features: it fills ``tasks``, ``shares`` and the state's
``count``."""

MAXIMUM_CODES = 65_535


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
            CXX_TYPES[kind.table_type],
            CXX_TYPES[kind.output_type],
            CXX_POOLING[kind.pooling],
            "true" if kind.weighted else "false",
            str(kind.dim),
            *(["true"] if kind.pruned else []),
        ]
        parameters = "".join(f", {value}" for _, value in self.schedule.parameters)
        struct = template(self.schedule.template).struct
        return f"{struct}<gnarl::Kind<{', '.join(arguments)}>, {self.block_threads}{parameters}>"


def map_blocks(features: int, block_threads: int) -> int:
    """Blocks of a launch of ``MAP_KERNEL``."""
    return -(-features // block_threads)


def map_shared_bytes(block_threads: int) -> int:
    """Dynamic shared memory of a block of ``MAP_KERNEL``."""
    return 12 * block_threads + 16


def fuse(model: EmbeddingModel, schedules: ScheduleSet) -> FusedKernel:
    """Features with equal kind and schedule share code. Linear in features.

    Raises ``CapacityError`` for too many codes, and for a schedule that needs more shared memory
    than the architecture gives a block; ``WorkloadError`` where some templates' workers are warps,
    some blocks.
    """
    if schedules_workers(schedules) == "warps":
        return fuse_warps(model, schedules)
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
    source = _source(model, schedules, codes, of_feature)
    return FusedKernel(source, tuple(of_feature), shared, KERNEL)


def schedules_workers(schedules: ScheduleSet) -> str:
    """A name of ``WORKERS``. Raises ``WorkloadError`` as ``fuse`` does."""
    firsts = {template(each.template).workers: each for each in reversed(schedules.schedules)}
    if len(firsts) > 1:
        raise WorkloadError(
            f"{firsts['warps']}, {firsts['blocks']}: tasks of one are done by warps, of the other "
            "by blocks: a kernel has but one kind of workers"
        )
    return next(iter(firsts), "blocks")


def _shared_bytes(codes: Sequence[_Code], arch: str) -> int:
    """Bytes of the union of all codes' shared memories."""
    most = ARCHITECTURES[arch].shared_per_block
    for code in codes:
        needed = block_shared_bytes(code.shared_bytes)
        if needed > most:
            raise CapacityError(
                f"feature {code.feature.name}: {code.schedule}: needs {needed:,} bytes "
                f"of shared memory: must be at most {most:,}, all that {arch} gives a block"
            )
    return block_shared_bytes(max(code.shared_bytes for code in codes))


def _source(
    model: EmbeddingModel, schedules: ScheduleSet, codes: Sequence[_Code], of_feature: list[int]
) -> str:
    headers = dict.fromkeys(template(code.schedule.template).header for code in codes)
    lines = [
        f"// The embedding layer of {json.dumps(model.name)}: {len(of_feature):,} features, "
        f"{len(codes):,} codes. Generated.",
        *(f'#include "{header}"' for header in headers),
        '#include "gnarl/task_map.cuh"',
        '#include "gnarl/task_queue.cuh"',
        "",
        *layout_checks(BLOCK_STRUCTS),
        "",
        f"constexpr int kFeatures = {len(of_feature)};",
        f"constexpr int kBlockThreads = {schedules.block_threads};",
        "",
        *(f"using Code{number} = {code.instantiation};" for number, code in enumerate(codes)),
        "",
        *_shared_memory(codes),
        "",
        *_features(model, schedules, of_feature),
        "",
        *_codes(codes),
        "",
        *_fused_kernel(schedules.blocks_per_sm),
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
    yield f"union alignas({SHARED_ALIGNMENT}) Shared {{"
    for number in range(len(codes)):
        yield f"  Code{number}::Shared code{number};"
    yield "};"
    yield "struct BlockMemory {"
    yield "  Shared shared;"
    yield f"  alignas({SHARED_ALIGNMENT}) gnarl::TaskSlot slot;"
    yield "};"
    yield (f"extern __shared__ __align__({SHARED_ALIGNMENT}) unsigned char {SHARED_MEMORY}[];")


def _features(
    model: EmbeddingModel, schedules: ScheduleSet, of_feature: Sequence[int]
) -> Iterator[str]:
    """What is known of each feature before any batch."""
    constants = feature_constants(model, of_feature)
    space = "__constant__" if constants.nbytes <= CONSTANT_BYTES else "__device__"
    yield f"{space} const gnarl::FeatureConstants kConstants[kFeatures] = {{"
    yield from table_lines(constants)
    yield "};"
    yield "__device__ const gnarl::Demand kDemands[kFeatures] = {"
    yield from table_lines(feature_demands(model, schedules))
    yield "};"


def _codes(codes: Sequence[_Code]) -> Iterator[str]:
    yield "struct Codes {"
    yield "  static __device__ __forceinline__ void run("
    yield "      int code, const gnarl::FeatureArguments& feature, int block, int blocks,"
    yield "      Shared& shared) {"
    yield "    switch (code) {"
    for code in range(len(codes)):
        yield f"      case {code}:"
        yield f"        Code{code}::run(feature, block, blocks, shared.code{code});"
        yield "        break;"
    yield "    }"
    yield "  }"
    yield "};"


def _fused_kernel(blocks_per_sm: int) -> Iterator[str]:
    yield f'extern "C" __global__ void __launch_bounds__(kBlockThreads, {blocks_per_sm})'
    yield from kernel_head(KERNEL, PARAMETERS)
    yield f"  const gnarl::Launch launch{{{', '.join(PARAMETERS)}}};"
    yield f"  BlockMemory& memory = *reinterpret_cast<BlockMemory*>({SHARED_MEMORY});"
    yield "  gnarl::run_tasks<Codes>(launch, kConstants, memory.shared, memory.slot);"
    yield "}"


def _map_kernel(block_threads: int) -> Iterator[str]:
    yield "using MapShared = gnarl::TaskMapShared<kBlockThreads>;"
    yield (
        f"static_assert(sizeof(MapShared) == {map_shared_bytes(block_threads)}, "
        '"map_shared_bytes is wrong");'
    )
    yield 'extern "C" __global__ void __launch_bounds__(kBlockThreads)'
    yield from kernel_head(MAP_KERNEL, MAP_PARAMETERS)
    yield "  gnarl::map_tasks<kBlockThreads>(kDemands, offsets, batch, kFeatures, blocks, queues,"
    yield f"      tasks, shares, state, *reinterpret_cast<MapShared*>({SHARED_MEMORY}));"
    yield "}"

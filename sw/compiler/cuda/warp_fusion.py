"""Generates the fused kernel of a model whose templates' workers are warps.

As ``fusion``, but codes differ only in what templates say that they depend on: features of any
dimension share one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gnarl.sw.compiler.cuda.layouts import (
    WARP_FEATURE,
    WARP_STRUCTS,
    feature_constants,
    layout_checks,
)
from gnarl.sw.compiler.cuda.schedule import ScheduleSet
from gnarl.sw.compiler.cuda.source_parts import (
    BATCH_PARAMETERS,
    CONSTANT_BYTES,
    CXX_POOLING,
    CXX_TYPES,
    FusedKernel,
    kernel_head,
    table_lines,
)
from gnarl.sw.compiler.cuda.task_plan import TaskLayout, lay_out_tasks
from gnarl.sw.compiler.cuda.templates import template
from gnarl.sw.compiler.cuda.templates.warp_template import WarpTemplate
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature

OUTPUT_TYPES = {"float32": 1, "float16": 2, "bfloat16": 4}
"""Bits of a set of types of outputs: ``OutputTypes`` in ``warp_bags.cuh``."""

WARP_KERNEL = "gnarl_pool_bags"
WARP_PARAMETERS = {
    **BATCH_PARAMETERS,
    "state": "unsigned*",
    "times": "gnarl::BlockTime*",
    "batch": "int",
    "plan": "GNARL_BY_VALUE(Plan)",
}
"""Parameters of the kernel: the fields of ``WarpLaunch`` in ``warp_tasks.cuh``, in their order, and
the plan, by its value; the emulation gets its address."""


def fuse_warps(model: EmbeddingModel, schedules: ScheduleSet) -> FusedKernel:
    """Linear in features. Raises ``CapacityError`` as ``lay_out_tasks`` does."""
    shared = _Shared.of(model)
    numbers: dict[str, int] = {}
    headers: dict[str, None] = {}
    of_feature = []
    for number, feature in enumerate(model.features):
        schedule = schedules.schedule(number)
        chosen = template(schedule.template)
        assert isinstance(chosen, WarpTemplate)
        headers.setdefault(chosen.header)
        parameters = "".join(f", {value}" for value in chosen.code_parameters(schedule))
        code = f"{chosen.struct}<{_kind(feature, shared)}{parameters}>"
        of_feature.append(numbers.setdefault(code, len(numbers)))
    layout = lay_out_tasks(model, schedules, of_feature)
    lines = [
        f"// The embedding layer of {json.dumps(model.name)}: {len(of_feature):,} features, "
        f"{len(numbers):,} codes. Generated.",
        *(f'#include "{header}"' for header in headers),
        "",
        *layout_checks(WARP_STRUCTS),
        "",
        f"constexpr int kFeatures = {len(of_feature)};",
        f"constexpr int kBlockThreads = {schedules.block_threads};",
        f"using Plan = gnarl::TaskPlan<{len(layout.classes)}>;",
        "",
        *(f"using Code{number} = {code};" for code, number in numbers.items()),
        "",
        *_features(model, schedules, layout),
        "",
        *_codes(len(numbers)),
        "",
        *_kernel(schedules.blocks_per_sm),
        "",
    ]
    return FusedKernel("\n".join(lines), tuple(of_feature), 16, WARP_KERNEL, layout)


@dataclass(frozen=True)
class _Shared:
    """What codes share of a model: the set of its types of outputs, whether it has means."""

    outputs: int
    has_means: bool

    @classmethod
    def of(cls, model: EmbeddingModel) -> _Shared:
        types = {feature.output_type for feature in model.features}
        poolings = {feature.pooling for feature in model.features}
        return cls(sum(OUTPUT_TYPES[each] for each in types), "mean" in poolings)


def _kind(feature: Feature, shared: _Shared) -> str:
    kind = feature.kind
    is_max = kind.pooling == "max"
    arguments = [
        CXX_TYPES[kind.table_type],
        str(shared.outputs),
        CXX_POOLING["max" if is_max else "sum"],
        "true" if shared.has_means and not is_max else "false",
        "true" if kind.weighted else "false",
        *(["true"] if kind.pruned else []),
    ]
    return f"gnarl::BagKind<{', '.join(arguments)}>"


def warp_features(
    model: EmbeddingModel, schedules: ScheduleSet, order: Sequence[int]
) -> np.ndarray:
    """``WARP_FEATURE`` [features], in that order."""
    constants = feature_constants(model, [0] * len(model.features))
    rows = np.zeros(len(order), WARP_FEATURE)
    for row, number in zip(rows, order, strict=True):
        feature, schedule = model.features[number], schedules.schedule(number)
        chosen = template(schedule.template)
        assert isinstance(chosen, WarpTemplate)
        places = chosen.places(schedule, feature)
        row["feature"], row["rows"], row["dim"] = number, feature.rows, feature.dim
        row["row_bytes"] = feature.row_bytes
        for name in ("output", "output_stride", "buffer"):
            row[name] = constants[number][name]
        row["scale"] = feature.rowwise.scale_place(feature.dim) if feature.rowwise else 0
        row["lanes"] = places.lanes.bit_length() - 1
        row["output_type"] = OUTPUT_TYPES[feature.output_type]
        row["is_mean"] = feature.pooling == "mean"
        row["rows_aside"] = places.rows.bit_length() - 1
    return rows


def _features(model: EmbeddingModel, schedules: ScheduleSet, layout: TaskLayout) -> Iterator[str]:
    rows = warp_features(model, schedules, layout.order)
    space = "__constant__" if rows.nbytes <= CONSTANT_BYTES else "__device__"
    yield f"{space} const gnarl::WarpFeature kWarpFeatures[kFeatures] = {{"
    yield from table_lines(rows)
    yield "};"


def _codes(count: int) -> Iterator[str]:
    yield "struct Codes {"
    yield "  static __device__ __forceinline__ void run(int code, const gnarl::WarpTask& task) {"
    yield "    switch (code) {"
    for code in range(count):
        yield f"      case {code}: Code{code}::run(task); break;"
    yield "    }"
    yield "  }"
    yield "};"


def _kernel(blocks_per_sm: int) -> Iterator[str]:
    parameters: Mapping[str, str] = WARP_PARAMETERS
    fields = [name for name in parameters if name != "plan"]
    yield f'extern "C" __global__ void __launch_bounds__(kBlockThreads, {blocks_per_sm})'
    yield from kernel_head(WARP_KERNEL, parameters)
    yield f"  const gnarl::WarpLaunch launch{{{', '.join(fields)}}};"
    yield "  auto* taken = reinterpret_cast<unsigned*>(gnarl_shared_memory);"
    yield "  gnarl::run_warp_tasks<Codes>(launch, plan, kWarpFeatures, taken);"
    yield "}"

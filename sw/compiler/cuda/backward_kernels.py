"""Generates the backward kernels of a model; what they do is in ``include/gnarl``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise

from gnarl.sw.compiler.cuda.backward import SEGMENT, BackwardProgram
from gnarl.sw.compiler.cuda.optimizers import (
    SGD,
    Adagrad,
    Adam,
    Optimizer,
    PartialRowWiseAdam,
    RowWiseAdagrad,
)
from gnarl.sw.compiler.cuda.source_parts import CXX_POOLING, CXX_TYPES

FIND_KEYS = "gnarl_find_keys"
FIND_GRADIENTS = "gnarl_find_gradients"
FIND_FIRST_MAXIMA = "gnarl_find_first_maxima"
FIND_WEIGHT_GRADIENTS = "gnarl_find_weight_gradients"
FIND_EMBEDDINGS = "gnarl_find_embeddings"
SUM_LOOKUPS = "gnarl_sum_lookups"
SUM_SLOTS = "gnarl_sum_slots"

BLOCK_THREADS = 256
BAG_LANES = 8
ROW_LANES = 8
"""Lanes for each bag, and for each row that is copied."""

LOOKUP_GRADIENT_BYTES = 16

_OF_LOOKUPS = {
    "indices": "const Index*",
    "offsets": "const Index*",
    "weights": "const float*",
    "values": "int",
    "batch": "int",
}
_OF_SUMS = {
    "elements": "void* const*",
    "states": "float* const*",
    "learning_rate": "const float*",
    "keys": "const Key*",
    "count": "int",
    "slot_keys": "Key*",
    "slot_values": "float*",
}
PARAMETERS = {
    FIND_KEYS: {**_OF_LOOKUPS, "keys": "Key*", "bags": "int*"},
    FIND_GRADIENTS: {
        **_OF_LOOKUPS,
        "keys": "const Key*",
        "order": "const long long*",
        "bags": "const int*",
        "found": "gnarl::LookupGradient*",
    },
    FIND_FIRST_MAXIMA: {**_OF_LOOKUPS, "tables": "const void* const*", "places": "int*"},
    FIND_WEIGHT_GRADIENTS: {
        **_OF_LOOKUPS,
        "tables": "const void* const*",
        "gradients": "const float*",
        "found": "float*",
    },
    FIND_EMBEDDINGS: {**_OF_LOOKUPS, "tables": "const void* const*", "found": "float*"},
    SUM_LOOKUPS: {
        **_OF_SUMS,
        "lookups": "const gnarl::LookupGradient*",
        "gradients": "const float*",
        "maxima": "const int*",
    },
    SUM_SLOTS: {**_OF_SUMS, "sums": "const float*"},
}
"""Parameters of each kernel, by name: types. Blocks of the last two take turns among the classes of
tables."""

_INTEGERS = {"int32": "int", "int64": "long long"}
_TABLE_TYPES = {
    "float32": "gnarl::TableType::kFloat32",
    "float16": "gnarl::TableType::kFloat16",
    "bfloat16": "gnarl::TableType::kBFloat16",
}
_OPTIMIZERS = {
    type(None): "StoreGradient",
    SGD: "Sgd",
    Adagrad: "Adagrad<Eps>",
    RowWiseAdagrad: "RowWiseAdagrad<Eps>",
    Adam: "ElementWiseAdam<Adam>",
    PartialRowWiseAdam: "PartialRowWiseAdam<Adam>",
}


def backward_source(program: BackwardProgram) -> str:
    """CUDA C++ of all backward kernels; those of sums only if tables are trained. Of unpooled
    programs with that of the forward pass, in place of those that know bags."""
    of_lookups = _embeddings_kernel() if program.unpooled else _lookup_kernels()
    kernels = [*_constants(program), *of_lookups]
    if program.order:
        kernels += [*_trained_constants(program), *_sum_kernels(program)]
    return "\n".join([*kernels, ""])


def _constants(program: BackwardProgram) -> Iterator[str]:
    features = program.model.features
    yield (
        f"// Backward of the embedding layer of {json.dumps(program.model.name)}: "
        f"{len(features):,} features, {len(program.tables_of_class)} classes of tables. Generated."
    )
    yield '#include "gnarl/row_gradients.cuh"'
    if program.unpooled:
        yield '#include "gnarl/copy_rows.cuh"'
    if isinstance(program.optimizer, Adam | PartialRowWiseAdam):
        yield '#include "gnarl/adam.cuh"'
    if program.optimizer and program.optimizer.weight_decay:
        yield '#include "gnarl/weight_decay.cuh"'
    if program.optimizer and program.optimizer.stochastic_rounding:
        yield '#include "gnarl/stochastic_rounding.cuh"'
    yield ""
    yield f"static_assert(gnarl::kSegment == {SEGMENT} && gnarl::kBagLanes == {BAG_LANES} &&"
    yield f"              sizeof(gnarl::LookupGradient) == {LOOKUP_GRADIENT_BYTES},"
    yield '              "host and device disagree");'
    yield f"using Index = {_INTEGERS[program.index_type]};"
    yield f"using Key = {_INTEGERS[program.key_type]};"
    yield f"constexpr int kFeatures = {len(features)};"
    yield f"constexpr int kWidth = {program.width};"
    yield "__device__ const gnarl::GradientFeature<Key> kFeature[kFeatures] = {"
    first_keys = dict(zip(program.order, program.first_keys, strict=False))
    for feature, table, column in zip(
        features, program.table_of_feature, program.columns, strict=True
    ):
        fields = (
            first_keys.get(table, "gnarl::kNoKey<Key>"),
            *(feature.rows, table, feature.dim, column),
            _TABLE_TYPES.get(feature.table_type, "gnarl::TableType::kOther"),
            CXX_POOLING[feature.pooling],
            str(feature.weighted).lower(),
        )
        yield f"  {{{_listed(fields)}}},"
    yield "};"


def _lookup_kernels() -> Iterator[str]:
    for name, arguments in (
        (FIND_KEYS, "kFeatures, lookups, keys, bags"),
        (FIND_GRADIENTS, "kWidth, lookups, keys, order, bags, found"),
        (FIND_FIRST_MAXIMA, "kFeatures, kWidth, lookups, tables, places"),
        (FIND_WEIGHT_GRADIENTS, "kFeatures, kWidth, lookups, tables, gradients, found"),
    ):
        yield from _opening(name, blocks_per_sm=1)
        yield f"  const gnarl::Lookups<Index> lookups{{{_listed(_OF_LOOKUPS)}}};"
        yield f"  {name.replace('gnarl_', 'gnarl::')}(kFeature, {arguments});"
        yield "}"


def _embeddings_kernel() -> Iterator[str]:
    yield f'static_assert(gnarl::kRowLanes == {ROW_LANES}, "host and device disagree");'
    yield from _opening(FIND_EMBEDDINGS, blocks_per_sm=1)
    yield f"  const gnarl::Lookups<Index> lookups{{{_listed(_OF_LOOKUPS)}}};"
    yield "  gnarl::find_embeddings(kFeature, kFeatures, lookups, tables, found);"
    yield "}"


def _trained_constants(program: BackwardProgram) -> Iterator[str]:
    yield from _optimizer_constants(program.optimizer)
    yield from _rounding_constants(program)
    yield f"using Optimizer = gnarl::{_optimizer_type(program.optimizer)};"
    classes = program.tables_of_class
    ends = pairwise(accumulate(map(len, classes.values()), initial=0))
    for number, (own, (begin, end)) in enumerate(zip(classes, ends, strict=True)):
        arguments = (CXX_TYPES[own.table_type], own.vector, own.lanes, own.chunks, begin, end)
        yield f"using Class{number} = gnarl::TableClass<{_listed(arguments)}>;"
    dims = [program.feature_of_table[table].dim for table in program.order]
    yield f"__device__ const Key kFirstKeys[] = {{{_listed(program.first_keys)}}};"
    yield f"__device__ const int kDims[] = {{{_listed(dims)}}};"


def _optimizer_constants(optimizer: Optimizer | None) -> Iterator[str]:
    if isinstance(optimizer, Adagrad | RowWiseAdagrad):
        yield f"struct Eps {{ static constexpr float kValue = {float(optimizer.eps)!r}f; }};"
    elif isinstance(optimizer, Adam | PartialRowWiseAdam):
        yield "struct Adam {"
        for name, value in (
            ("Beta1", optimizer.beta1),
            ("Beta2", optimizer.beta2),
            ("Rest1", 1 - optimizer.beta1),
            ("Rest2", 1 - optimizer.beta2),
            ("Eps", optimizer.eps),
        ):
            yield f"  static constexpr float k{name} = {float(value)!r}f;"
        yield "};"
    if optimizer and optimizer.weight_decay:
        decay = float(optimizer.weight_decay)
        yield f"struct Decay {{ static constexpr float kValue = {decay!r}f; }};"


def _rounding_constants(program: BackwardProgram) -> Iterator[str]:
    """Numbers of the tables by the order of keys, on which it depends what else is trained."""
    if program.optimizer and program.optimizer.stochastic_rounding:
        yield f"__device__ const unsigned kTables[] = {{{_listed(program.order)}}};"
        yield "struct Tables {"
        yield "  static __device__ unsigned number(int table) { return kTables[table]; }"
        yield "};"


def _optimizer_type(optimizer: Optimizer | None) -> str:
    found = _OPTIMIZERS[type(optimizer)]
    if optimizer and optimizer.weight_decay:
        decay = "WithDecoupledDecay" if optimizer.decoupled else "WithL2"
        found = f"{decay}<gnarl::{found}, Decay>"
    if optimizer and optimizer.stochastic_rounding:
        found = f"WithStochasticRounding<gnarl::{found}, Tables>"
    return found


def _sum_kernels(program: BackwardProgram) -> Iterator[str]:
    classes, stride = len(program.tables_of_class), program.stride
    for name, entries in (
        (SUM_LOOKUPS, "gnarl::LookupEntries entries{lookups, gradients, maxima}"),
        (SUM_SLOTS, f"gnarl::SlotEntries entries{{sums, {stride}}}"),
    ):
        yield from _opening(name, blocks_per_sm=2)
        yield "  const gnarl::TrainedTables<Key> tables{kFirstKeys, kDims, elements, states,"
        yield "                                         learning_rate};"
        yield f"  const gnarl::Slots<Key> slots{{slot_keys, slot_values, {stride}}};"
        yield f"  const {entries};"
        yield f"  const int block = blockIdx.x / {classes}, blocks = gridDim.x / {classes};"
        yield f"  switch (blockIdx.x % {classes}) {{"
        for number in range(classes):
            yield f"    case {number}:"
            yield f"      gnarl::sum_runs<Class{number}, Optimizer>(tables, entries, keys, count,"
            yield "                                                slots, block, blocks);"
            yield "      break;"
        yield "  }"
        yield "}"


def _opening(kernel: str, blocks_per_sm: int) -> Iterator[str]:
    """Lines that open a function, up to its brace. ``blocks_per_sm``: with more, sums would spill
    registers."""
    parameters = [f"{type} {name}" for name, type in PARAMETERS[kernel].items()]
    yield ""
    yield f'extern "C" __global__ void __launch_bounds__({BLOCK_THREADS}, {blocks_per_sm})'
    yield f"{kernel}({parameters[0]},"
    yield from (f"    {parameter}," for parameter in parameters[1:-1])
    yield f"    {parameters[-1]}) {{"


def _listed(parts: Iterable[object]) -> str:
    return ", ".join(map(str, parts))

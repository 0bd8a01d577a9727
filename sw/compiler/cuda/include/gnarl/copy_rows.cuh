// Rows that are looked up without pooling: one of an output for each look-up.
#pragma once

#include "gnarl/lookup_gradients.cuh"

namespace gnarl {

// Lanes that copy a row together: vectors of 4 elements keep all of them busy from 32 elements on.
constexpr int kRowLanes = 8;

template <int kVector, class Table>
__device__ __forceinline__ void copy_elements(const LaneTeam<kRowLanes>& team, const void* table,
                                              long long first, int dim, float* target) {
  const Table* source = static_cast<const Table*>(table) + first;
  for (int column = team.lane * kVector; column < dim; column += kRowLanes * kVector) {
    const auto pack = load_pack<kVector>(source + column);
    float values[kVector];
#pragma unroll
    for (int k = 0; k < kVector; ++k) values[k] = to_float(pack.elements[k]);
    store_floats(target + column, values);
  }
}

template <int kVector>
__device__ __forceinline__ void copy_row(const LaneTeam<kRowLanes>& team, TableType type,
                                         const void* table, long long first, int dim,
                                         float* target) {
  switch (type) {
    case TableType::kFloat16:
      return copy_elements<kVector, Float16>(team, table, first, dim, target);
    case TableType::kBFloat16:
      return copy_elements<kVector, BFloat16>(team, table, first, dim, target);
    default:
      return copy_elements<kVector, float>(team, table, first, dim, target);
  }
}

// All features have one dimension and `lookups` a batch of 1: `found` is [values, dim].
template <class Index, class Key>
__device__ void find_embeddings(const GradientFeature<Key>* features, int count,
                                const Lookups<Index>& lookups, const void* const* tables,
                                float* found) {
  const auto team = LaneTeam<kRowLanes>::of_thread(blockIdx.x, gridDim.x);
  const Index values = __ldg(lookups.offsets + count);
  for (int at = team.team; at < values; at += team.teams) {
    int begin = 0, end = count;
    while (end - begin > 1) {
      const int middle = (begin + end) / 2;
      (__ldg(lookups.offsets + middle) <= at ? begin : end) = middle;
    }
    const GradientFeature<Key> feature = features[begin];
    const long long row = __ldg(lookups.indices + at);
    float* target = found + static_cast<long long>(at) * feature.dim;
    const void* table = tables[feature.table];
    if (feature.dim % 4 == 0) {
      copy_row<4>(team, feature.type, table, row * feature.dim, feature.dim, target);
    } else {
      copy_row<1>(team, feature.type, table, row * feature.dim, feature.dim, target);
    }
  }
}

}  // namespace gnarl

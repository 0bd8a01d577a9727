// Gradients of single look-ups: which row each goes to, and what it is; and those of weights.
//
// A look-up's key is its table's first key plus its row, so that sorting by key brings together
// what is added up for a row. Gradients of outputs are float32 [batch, width], all features side by
// side.
#pragma once

#include "gnarl/embedding.cuh"

namespace gnarl {

// Of others no rows are loaded.
enum class TableType { kFloat32, kFloat16, kBFloat16, kOther };

// A feature of the model, as generated.
template <class Key>
struct GradientFeature {
  Key first_key;  // of its table's rows; kNoKey where that is not trained
  int rows;
  int table;      // its number
  int dim;
  int column;     // the first one in gradients
  TableType type;
  Pooling pooling;
  bool weighted;
};

// The key of what has no gradient; others are smaller.
template <class Key>
constexpr Key kNoKey = static_cast<Key>((1ull << (8 * sizeof(Key) - 1)) - 1);

// All look-ups of a batch, as the forward pass has them.
template <class Index>
struct Lookups {
  const Index* indices;  // [values]
  const Index* offsets;  // [features * batch + 1], of all features one after the other
  const float* weights;  // [values]; null where no feature is weighted
  int values;
  int batch;
};

// What one look-up takes from gradients: `weight` times those from `source` on, which are divided
// by `bag` first if that is positive; if it is negative, only those whose first maximum is at place
// -1 - bag of their bag.
struct alignas(16) LookupGradient {
  long long source;
  float weight;
  int bag;
};

// A part of a warp's lanes, which work together.
template <int kLanes>
struct LaneTeam {
  static_assert(kWarpThreads % kLanes == 0, "teams must not straddle warps");
  int lane;       // in the team
  int team;       // in the grid
  int teams;
  unsigned mask;  // of its lanes in the warp

  static __device__ __forceinline__ LaneTeam of_thread(int block, int blocks) {
    const int begin = threadIdx.x % kWarpThreads / kLanes * kLanes;
    return {static_cast<int>(threadIdx.x % kLanes),
            static_cast<int>((block * blockDim.x + threadIdx.x) / kLanes),
            static_cast<int>(blocks * blockDim.x / kLanes),
            kFullWarp >> (kWarpThreads - kLanes) << begin};
  }

  // Of all lanes' values, in every lane.
  __device__ __forceinline__ float sum(float value) const {
#pragma unroll
    for (int distance = 1; distance < kLanes; distance *= 2) {
      value = __fadd_rn(value, __shfl_xor_sync(mask, value, distance));
    }
    return value;
  }
};

constexpr int kBagLanes = 8;

// For each look-up its key and its bag, counted over all features.
template <class Index, class Key>
__device__ void find_keys(const GradientFeature<Key>* features, int count,
                          const Lookups<Index>& lookups, Key* keys, int* bags) {
  const auto team = LaneTeam<kBagLanes>::of_thread(blockIdx.x, gridDim.x);
  for (int bag = team.team; bag < count * lookups.batch; bag += team.teams) {
    const GradientFeature<Key> feature = features[bag / lookups.batch];
    const Index end = __ldg(lookups.offsets + bag + 1);
    for (Index at = __ldg(lookups.offsets + bag) + team.lane; at < end; at += kBagLanes) {
      const Index row = __ldg(lookups.indices + at);
      const bool goes = feature.first_key != kNoKey<Key> && row >= 0 && row < feature.rows;
      keys[at] = goes ? feature.first_key + static_cast<Key>(row) : kNoKey<Key>;
      bags[at] = bag;
    }
  }
}

// The gradients of look-ups in the order of their keys; `order`: each one's place before sorting.
template <class Index, class Key>
__device__ void find_gradients(const GradientFeature<Key>* features, int width,
                               const Lookups<Index>& lookups, const Key* keys,
                               const long long* order, const int* bags,
                               LookupGradient* gradients) {
  const auto thread = LaneTeam<1>::of_thread(blockIdx.x, gridDim.x);
  for (int at = thread.team; at < lookups.values && keys[at] != kNoKey<Key>; at += thread.teams) {
    const long long place = order[at];
    const int bag = __ldg(bags + place);
    const GradientFeature<Key> feature = features[bag / lookups.batch];
    const long long begin = __ldg(lookups.offsets + bag);
    LookupGradient found = {bag % lookups.batch * static_cast<long long>(width) + feature.column,
                            feature.weighted ? __ldg(lookups.weights + place) : 1.0f, 0};
    if (feature.pooling == Pooling::kMean) {
      found.bag = static_cast<int>(__ldg(lookups.offsets + bag + 1) - begin);
    } else if (feature.pooling == Pooling::kMax) {
      found.bag = static_cast<int>(begin - place) - 1;
    }
    gradients[at] = found;
  }
}

__device__ __forceinline__ float load_element(TableType type, const void* table, long long at) {
  switch (type) {
    case TableType::kFloat16:
      return to_float(static_cast<const Float16*>(table)[at]);
    case TableType::kBFloat16:
      return to_float(static_cast<const BFloat16*>(table)[at]);
    default:
      return static_cast<const float*>(table)[at];
  }
}

// The place of each first maximum in its bag, where the gradient is that it has: [batch, width].
template <class Index, class Key>
__device__ void find_first_maxima(const GradientFeature<Key>* features, int count, int width,
                                  const Lookups<Index>& lookups, const void* const* tables,
                                  int* places) {
  const auto team = LaneTeam<kWarpThreads>::of_thread(blockIdx.x, gridDim.x);
  for (int bag = team.team; bag < count * lookups.batch; bag += team.teams) {
    const GradientFeature<Key> feature = features[bag / lookups.batch];
    if (feature.pooling != Pooling::kMax || feature.first_key == kNoKey<Key>) continue;
    const void* table = tables[feature.table];
    const Index begin = __ldg(lookups.offsets + bag), end = __ldg(lookups.offsets + bag + 1);
    int* target = places + bag % lookups.batch * static_cast<long long>(width) + feature.column;
    for (int column = team.lane; column < feature.dim; column += kWarpThreads) {
      float highest = 0.0f;
      int place = 0;
      for (Index at = begin; at < end; ++at) {
        const long long row = __ldg(lookups.indices + at);
        const float value = load_element(feature.type, table, row * feature.dim + column);
        if (at > begin && !(value > highest)) continue;
        highest = value;
        place = static_cast<int>(at - begin);
      }
      target[column] = place;
    }
  }
}

// Gradients of weights, [values]: products of rows and gradients; 0 where there are no weights.
template <class Index, class Key>
__device__ void find_weight_gradients(const GradientFeature<Key>* features, int count, int width,
                                      const Lookups<Index>& lookups, const void* const* tables,
                                      const float* gradients, float* found) {
  const auto team = LaneTeam<kBagLanes>::of_thread(blockIdx.x, gridDim.x);
  for (int bag = team.team; bag < count * lookups.batch; bag += team.teams) {
    const GradientFeature<Key> feature = features[bag / lookups.batch];
    const void* table = tables[feature.table];
    const Index begin = __ldg(lookups.offsets + bag), end = __ldg(lookups.offsets + bag + 1);
    const float* source =
        gradients + bag % lookups.batch * static_cast<long long>(width) + feature.column;
    const bool mean = feature.pooling == Pooling::kMean;
    const float divisor = mean ? static_cast<float>(end - begin) : 1.0f;
    for (Index at = begin; at < end; ++at) {
      float product = 0.0f;
      const long long row = __ldg(lookups.indices + at);
      if (feature.weighted && row >= 0) {
        const long long first = row * feature.dim;
        for (int column = team.lane; column < feature.dim; column += kBagLanes) {
          const float value = load_element(feature.type, table, first + column);
          product = fmaf(value, __fdiv_rn(__ldg(source + column), divisor), product);
        }
        product = team.sum(product);
      }
      if (team.lane == 0) found[at] = product;
    }
  }
}

}  // namespace gnarl

// One thread for each vector of a sample's output: for features with an index or so a sample.
//
// kVector            elements of a load
// kSamplesPerThread  samples of a thread, in flight at once
#pragma once

#include "gnarl/embedding.cuh"

namespace gnarl {

template <class K, int kBlockThreads, int kVector, int kSamplesPerThread>
struct OneHot {
  static constexpr int kVectors = K::kDim / kVector;
  static constexpr int kGroups = kBlockThreads / kVectors;  // samples side by side
  static constexpr int kSamplesPerBlock = kGroups * kSamplesPerThread;
  static_assert(kGroups > 0, "a sample must fit in a block");

  struct Shared {};

  static __device__ __forceinline__ void run(const FeatureArguments& feature, int block,
                                             int blocks, Shared&) {
    const int group = threadIdx.x / kVectors;
    if (group >= kGroups) return;
    for (int first = block * kSamplesPerBlock; first < feature.batch;
         first += blocks * kSamplesPerBlock) {
      Bag bags[kSamplesPerThread];
      Accumulator<kVector> totals[kSamplesPerThread];
      int longest = 0;
#pragma unroll
      for (int s = 0; s < kSamplesPerThread; ++s) {
        const int sample = first + s * kGroups + group;
        bags[s] = sample < feature.batch ? load_bag<K>(feature, sample) : Bag{0, 0};
        totals[s] = identity<K, kVector>();
        longest = max(longest, bags[s].length);
      }
      const int column = late((threadIdx.x % kVectors) * kVector);
#pragma unroll 1
      for (int i = 0; i < longest; ++i) {
        int rows[kSamplesPerThread];
        float weights[kSamplesPerThread];
#pragma unroll
        for (int s = 0; s < kSamplesPerThread; ++s) {
          rows[s] = kNoRow;
          weights[s] = 1.0f;
          if (i < bags[s].length) {
            rows[s] = load_row<K>(feature, bags[s].begin + i);
            weights[s] = load_weight<K>(feature, bags[s].begin + i);
          }
        }
        Stored<K, kVector> stored[kSamplesPerThread];
#pragma unroll
        for (int s = 0; s < kSamplesPerThread; ++s) {
          const RowAddress address = address_of<K>(feature, rows[s], column);
          stored[s] = load_if<K, kVector>(rows[s] != kNoRow, address);
        }
#pragma unroll
        for (int s = 0; s < kSamplesPerThread; ++s) {
          const float weight = weight_of_row<K>(rows[s], weights[s]);
          accumulate<K>(totals[s], unpack<K, kVector>(stored[s]), weight);
        }
      }
#pragma unroll
      for (int s = 0; s < kSamplesPerThread; ++s) {
        const int sample = first + s * kGroups + group;
        if (sample < feature.batch) {
          store_pooled<K>(feature, sample, column, totals[s], bags[s].length);
        }
      }
    }
  }
};

}  // namespace gnarl

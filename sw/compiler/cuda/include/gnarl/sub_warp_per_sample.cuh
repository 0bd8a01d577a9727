// Some lanes of a warp for each sample, for rows that need only a few.
//
// kVector   elements of a load
// kThreads  lanes of a sample; where a row needs fewer, rows lie side by side in them
// kUnroll   such rows in flight one after the other
#pragma once

#include "gnarl/lane_group.cuh"

namespace gnarl {

template <class K, int kBlockThreads, int kVector, int kThreads, int kUnroll>
struct SubWarpPerSample {
  static constexpr int kSamplesPerBlock = kBlockThreads / kThreads;

  static constexpr int kLanes = power_of_two_at_least(K::kDim / kVector);  // a row's
  static constexpr int kRows = kLanes < kThreads ? kThreads / kLanes : 1;

  struct Shared {};

  static __device__ __forceinline__ void run(const FeatureArguments& feature, int block,
                                             int blocks, Shared&) {
    using Group = LaneGroup<K, kThreads, kVector, kRows, kUnroll>;
    for (int first = block * kSamplesPerBlock; first < feature.batch;
         first += blocks * kSamplesPerBlock) {
      const int sample = first + threadIdx.x / kThreads;
      const Bag bag = sample < feature.batch ? load_bag<K>(feature, sample) : Bag{0, 0};
      int longest = bag.length;
#pragma unroll
      for (int distance = kThreads; distance < kWarpThreads; distance *= 2) {
        longest = max(longest, __shfl_xor_sync(kFullWarp, longest, distance));
      }
      Group::pool(feature, sample, bag, longest);
    }
  }
};

}  // namespace gnarl

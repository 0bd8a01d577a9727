// A warp for each sample.
//
// kVector  elements of a load
// kRows    rows side by side: each has 32 / kRows lanes, and their sums are combined in the end
// kUnroll  such rows in flight one after the other
#pragma once

#include "gnarl/lane_group.cuh"

namespace gnarl {

template <class K, int kBlockThreads, int kVector, int kRows, int kUnroll>
struct WarpPerSample {
  static constexpr int kSamplesPerBlock = kBlockThreads / kWarpThreads;

  struct Shared {};

  static __device__ __forceinline__ void run(const FeatureArguments& feature, int block,
                                             int blocks, Shared&) {
    using Group = LaneGroup<K, kWarpThreads, kVector, kRows, kUnroll>;
    int sample = block * kSamplesPerBlock + threadIdx.x / kWarpThreads;
    for (; sample < feature.batch; sample += blocks * kSamplesPerBlock) {
      const Bag bag = load_bag<K>(feature, sample);
      Group::pool(feature, sample, bag, bag.length);
    }
  }
};

}  // namespace gnarl

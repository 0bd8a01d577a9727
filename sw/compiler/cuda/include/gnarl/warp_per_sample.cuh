// A warp for each sample, or a few samples in turn.
//
// kVector   elements of a load
// kRows     rows side by side: each has 32 / kRows lanes, and their sums are combined in the end
// kUnroll   such rows in flight one after the other
// kSamples  consecutive samples of a warp
#pragma once

#include "gnarl/lane_group.cuh"

namespace gnarl {

template <class K, int kBlockThreads, int kVector, int kRows, int kUnroll, int kSamples>
struct WarpPerSample {
  static constexpr int kSamplesPerBlock = kBlockThreads / kWarpThreads * kSamples;

  struct Shared {};

  static __device__ __forceinline__ void run(const FeatureArguments& feature, int block,
                                             int blocks, Shared&) {
    using Group = LaneGroup<K, kWarpThreads, kVector, kRows, kUnroll>;
    int first = block * kSamplesPerBlock + threadIdx.x / kWarpThreads * kSamples;
    for (; first < feature.batch; first += blocks * kSamplesPerBlock) {
      Group::template pool_samples<kSamples>(feature, first);
    }
  }
};

}  // namespace gnarl

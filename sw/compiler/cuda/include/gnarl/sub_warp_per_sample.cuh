// Some lanes of a warp for each sample, or a few samples in turn, for rows that need only a few.
//
// kVector   elements of a load
// kThreads  lanes of a sample; where a row needs fewer, rows lie side by side in them
// kUnroll   such rows in flight one after the other
// kSamples  consecutive samples of these lanes
#pragma once

#include "gnarl/lane_group.cuh"

namespace gnarl {

template <class K, int kBlockThreads, int kVector, int kThreads, int kUnroll, int kSamples>
struct SubWarpPerSample {
  static constexpr int kSamplesPerBlock = kBlockThreads / kThreads * kSamples;

  static constexpr int kLanes = power_of_two_at_least(K::kDim / kVector);  // a row's
  static constexpr int kRows = kLanes < kThreads ? kThreads / kLanes : 1;

  struct Shared {};

  static __device__ __forceinline__ void run(const FeatureArguments& feature, int block,
                                             int blocks, Shared&) {
    using Group = LaneGroup<K, kThreads, kVector, kRows, kUnroll>;
    for (int first = block * kSamplesPerBlock; first < feature.batch;
         first += blocks * kSamplesPerBlock) {
      Group::template pool_samples<kSamples>(feature, first + threadIdx.x / kThreads * kSamples);
    }
  }
};

}  // namespace gnarl

// A group of lanes of a warp that pools one bag after the other: what warp_per_sample.cuh and
// sub_warp_per_sample.cuh have in common.
//
// The group's lanes fetch indices side by side and hand them out by shuffles. All groups of a warp
// go through as many rounds as the longest of their bags needs, so they never diverge; in the
// rounds beyond its own bag a group loads nothing.
#pragma once

#include "gnarl/embedding.cuh"

namespace gnarl {

// kThreads  lanes of the group; a power of two
// kVector   elements of a load
// kRows     rows side by side; a power of two. Each has kThreads / kRows lanes; where that is less
//           than a row needs, a lane has several vectors of every row
// kUnroll   rounds of such rows in flight; a power of two
template <class K, int kThreads, int kVector, int kRows, int kUnroll>
struct LaneGroup {
  static constexpr int kLanes = kThreads / kRows;  // of a row
  static constexpr int kChunks = ceil_div(K::kDim / kVector, kLanes);
  // As many chunks at a time as keep the loads in flight within 32 elements of a lane.
  static constexpr int kMostChunks = 32 / (kVector * kUnroll) > 0 ? 32 / (kVector * kUnroll) : 1;
  static constexpr int kPassChunks = kChunks < kMostChunks ? kChunks : kMostChunks;
  static constexpr int kStride = kLanes * kVector;  // columns from a lane's chunk to its next

  static constexpr int kRound = kRows * kUnroll;                           // indices of a round
  static constexpr int kFetched = kRound > kThreads ? kRound : kThreads;   // and of a fetch
  static constexpr int kHeld = kFetched / kThreads;                        // by each lane

  static_assert(kRows == 1 || kChunks == 1, "rows side by side must fit in their lanes");

  // Lane t of the group holds the rows and weights at positions t, t + kThreads, ... of a fetch.
  struct Fetch {
    int rows[kHeld];
    float weights[kHeld];
  };

  static __device__ __forceinline__ Fetch fetch(const FeatureArguments& feature, const Bag& bag,
                                                int first) {
    Fetch result;
#pragma unroll
    for (int h = 0; h < kHeld; ++h) {
      const int at = first + h * kThreads + threadIdx.x % kThreads;
      result.rows[h] = kNoRow;
      result.weights[h] = 1.0f;
      if (at < bag.length) {
        result.rows[h] = load_row<K>(feature, bag.begin + at);
        result.weights[h] = load_weight<K>(feature, bag.begin + at);
      }
    }
    return result;
  }

  // Pools and stores kSamples samples from `first` on, those that the batch has. The next one's
  // first indices are on their way while one is pooled, and the offsets of the one after that. All
  // lanes of the warp must call it, with a sample for each group.
  template <int kSamples>
  static __device__ __forceinline__ void pool_samples(const FeatureArguments& feature, int first) {
    const Index begin = offset(feature, first);
    Index end = offset(feature, first + 1);
    Index ahead = kSamples > 1 ? offset(feature, first + 2) : 0;
    Bag bag{begin, static_cast<int>(end - begin)};
    Fetch fetched = fetch(feature, bag, 0);
#pragma unroll 1
    for (int s = 0; s < kSamples; ++s) {
      const Bag now = bag;
      const Fetch held = fetched;
      if constexpr (kSamples > 1) {
        bag = {end, s + 1 < kSamples ? static_cast<int>(ahead - end) : 0};
        end = ahead;
        ahead = offset(feature, first + s + 3);
        fetched = fetch(feature, bag, 0);
      }
      pool(feature, first + s, now, longest(now.length), held);
    }
  }

 private:
  // Samples beyond the batch have empty bags.
  static __device__ __forceinline__ Index offset(const FeatureArguments& feature, int sample) {
    return __ldg(feature.offsets + min(sample, feature.batch));
  }

  // Of the warp's groups.
  static __device__ __forceinline__ int longest(int length) {
#pragma unroll
    for (int distance = kThreads; distance < kWarpThreads; distance *= 2) {
      length = max(length, __shfl_xor_sync(kFullWarp, length, distance));
    }
    return length;
  }

  // Pools the bag and stores output[sample]. `longest`: the greatest length of the warp's bags;
  // `fetched`: the bag's first indices.
  static __device__ __forceinline__ void pool(const FeatureArguments& feature, int sample,
                                              const Bag& bag, int longest, const Fetch& fetched) {
    const int thread = threadIdx.x % kThreads;
    const int row_of_lane = thread / kLanes;
#pragma unroll 1
    for (int pass = 0; pass < kChunks; pass += kPassChunks) {
      const int column = late((thread % kLanes + pass * kLanes) * kVector);
      Accumulator<kVector> totals[kPassChunks];
#pragma unroll
      for (int c = 0; c < kPassChunks; ++c) totals[c] = identity<K, kVector>();
      Fetch next = pass == 0 ? fetched : fetch(feature, bag, 0);
#pragma unroll 1
      for (int first = 0; first < longest; first += kFetched) {
        const Fetch held = next;
        next = fetch(feature, bag, first + kFetched);
#pragma unroll 1
        for (int at = 0; at < kFetched && first + at < longest; at += kRound) {
          int rows[kUnroll];
          float weights[kUnroll];
#pragma unroll
          for (int u = 0; u < kUnroll; ++u) {
            const int from = at + u * kRows;  // the round's u-th rows were fetched there
            const int h = kHeld == 1 ? 0 : u * kRows / kThreads;
            rows[u] = __shfl_sync(kFullWarp, held.rows[h], from + row_of_lane, kThreads);
            weights[u] = 1.0f;
            if constexpr (K::kWeighted) {
              weights[u] = __shfl_sync(kFullWarp, held.weights[h], from + row_of_lane, kThreads);
            }
          }
          pool_round<K, kVector, kPassChunks, kStride>(feature, rows, weights, column, totals);
        }
      }
      if constexpr (kRows > 1) combine_lanes<K, kVector, kLanes, kThreads>(totals[0], kFullWarp);
      if (row_of_lane != 0 || sample >= feature.batch) continue;
#pragma unroll
      for (int c = 0; c < kPassChunks; ++c) {
        const int at = column + c * kStride;
        if (at < K::kDim) store_pooled<K>(feature, sample, at, totals[c], bag.length);
      }
    }
  }
};

}  // namespace gnarl

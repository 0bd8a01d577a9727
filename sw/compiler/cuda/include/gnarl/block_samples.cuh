// A block for a few samples: for large rows and long bags.
//
// Each sample has a team of kBlockThreads / kSamples threads. A row needs some of them, or all for
// several vectors each; so the team pools a few rows side by side, and combines them in the end.
//
// kVector   elements of a load
// kSamples  samples of a block; their teams must be whole warps
// kUnroll   rows in flight for each thread
// kStage    0: threads load indices straight from global memory, those of the next round ahead;
//           1: a team loads indices, and weights, side by side and keeps them in shared memory,
//              the next tile on its way while this one's rows are pooled;
//           2: so, by asynchronous copies
#pragma once

#include "gnarl/async_copy.cuh"
#include "gnarl/embedding.cuh"

namespace gnarl {

// What shared memory keeps of an index: asynchronous copies cannot convert it to a row.
template <bool kAsIs>
struct KeptIndex {
  using Type = int;
};
template <>
struct KeptIndex<true> {
  using Type = Index;
};

template <class K, int kBlockThreads, int kVector, int kSamples, int kUnroll, int kStage>
struct BlockSamples {
  using Kept = typename KeptIndex<kStage == 2>::Type;

  static constexpr int kTeam = kBlockThreads / kSamples;
  static constexpr int kVectors = K::kDim / kVector;

  // Threads of a row: a power of two, so that lanes of a warp combine by shuffles.
  static constexpr int kEnough = power_of_two_at_least(kVectors);
  static constexpr int kLanes = kEnough < kTeam ? kEnough : kTeam;
  static constexpr int kChunks = ceil_div(kVectors, kLanes);
  static constexpr int kStride = kLanes * kVector;  // columns from a thread's chunk to its next
  static constexpr int kRows = kTeam / kLanes;      // side by side
  static constexpr int kRound = kRows * kUnroll;

  // What is left to combine once warps have combined what they can; all but a team's first pass
  // through shared memory.
  static constexpr int kPartials = kLanes < kWarpThreads ? kTeam / kWarpThreads : kRows;
  static constexpr int kPartialThreads = kSamples * (kPartials - 1) * kLanes;
  static constexpr bool kCombine = kPartials > 1;

  static_assert(kTeam % kWarpThreads == 0, "a sample must have whole warps");
  static_assert(kStage == 0 || kRound <= kTeam, "a round must fit in a tile");

  // Two tiles, of an index and its weight for each thread of the block.
  // As large for indices of 32 bits as of 64.
  struct alignas(kStage == 2 ? 8 : 4) Tiles {
    union {
      Kept indices[kStage ? 2 * kBlockThreads : 1];
      char room[kStage == 2 ? 16 * kBlockThreads : 1];
    };
    float weights[kStage && K::kWeighted ? 2 * kBlockThreads : 1];
  };

  union Shared {  // never both at a time
    Tiles tiles;
    float partials[kCombine ? kVector : 1][kCombine ? kPartialThreads : 1];
  };

  using Totals = Accumulator<kVector>[kChunks];

  static __device__ __forceinline__ void run(const FeatureArguments& feature, int block,
                                             int blocks, Shared& shared) {
    const int thread = threadIdx.x % kTeam;
    for (int first = block * kSamples; first < feature.batch; first += blocks * kSamples) {
      if (first != block * kSamples) __syncthreads();  // until shared memory is no longer read
      const int sample = first + threadIdx.x / kTeam;
      const Bag bag = sample < feature.batch ? load_bag<K>(feature, sample) : Bag{0, 0};
      const int column = late((thread % kLanes) * kVector);
      Totals totals;
#pragma unroll
      for (int c = 0; c < kChunks; ++c) totals[c] = identity<K, kVector>();
      if constexpr (kStage == 0) {
        pool_straight(feature, bag, thread, column, totals);
      } else {
        pool_tiles(feature, bag, thread, column, totals, shared);
      }
      if constexpr (kRows > 1) combine_rows(totals[0], thread, shared);
      if (thread >= kLanes || sample >= feature.batch) continue;
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        const int at = column + c * kStride;
        if (at < K::kDim) store_pooled<K>(feature, sample, at, totals[c], bag.length);
      }
    }
  }

 private:
  // The rows and weights of a thread in one round.
  struct Round {
    int rows[kUnroll];
    float weights[kUnroll];
  };

  static __device__ __forceinline__ void pool_straight(const FeatureArguments& feature,
                                                       const Bag& bag, int thread, int column,
                                                       Totals& totals) {
    Round next = load_round(feature, bag, thread / kLanes);
#pragma unroll 1
    for (int at = 0; at < bag.length; at += kRound) {
      const Round round = next;
      next = load_round(feature, bag, at + kRound + thread / kLanes);
      pool_round<K, kVector, kChunks, kStride>(feature, round.rows, round.weights, column, totals);
    }
  }

  static __device__ __forceinline__ Round load_round(const FeatureArguments& feature,
                                                     const Bag& bag, int first) {
    Round round;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int at = first + u * kRows;
      round.rows[u] = kNoRow;
      round.weights[u] = 1.0f;
      if (at < bag.length) {
        round.rows[u] = load_row<K>(feature, bag.begin + at);
        round.weights[u] = load_weight<K>(feature, bag.begin + at);
      }
    }
    return round;
  }

  // The next tile comes in while one is pooled; the barrier after that also votes whether some team
  // has rows left.
  static __device__ __forceinline__ void pool_tiles(const FeatureArguments& feature,
                                                    const Bag& bag, int thread, int column,
                                                    Totals& totals, Shared& shared) {
    finish_copy(shared.tiles, 0, begin_copy(feature, bag, thread, shared.tiles, 0));
    bool more = barrier_any(bag.length > 0);
    for (int first = 0, tile = 0; more; first += kTeam, tile = kBlockThreads - tile) {
      const int other = kBlockThreads - tile;
      const int next = first + kTeam;
      const Incoming incoming = begin_copy(feature, bag, next + thread, shared.tiles, other);
      const int count = min(kTeam, bag.length - first);
#pragma unroll 1
      for (int at = 0; at < count; at += kRound) {
        const int from = at + thread / kLanes;
        const Round round = read_round(feature, bag, first, from, count, shared.tiles, tile);
        pool_round<K, kVector, kChunks, kStride>(feature, round.rows, round.weights, column,
                                                 totals);
      }
      finish_copy(shared.tiles, other, incoming);
      more = barrier_any(next < bag.length);
    }
  }

  static __device__ __forceinline__ bool barrier_any(bool condition) {
    if constexpr (kSamples > 1) return __syncthreads_or(condition);
    __syncthreads();
    return condition;
  }

  // What a thread has loaded of a tile but not yet stored.
  struct Incoming {
    int row;
    float weight;
  };

  // Of the bag's index `at`, if it has so many, to this thread's place in a tile.
  static __device__ __forceinline__ Incoming begin_copy(const FeatureArguments& feature,
                                                        const Bag& bag, int at, Tiles& tiles,
                                                        int tile) {
    Incoming incoming{kNoRow, 1.0f};
    if (at < bag.length) {
      if constexpr (kStage == 2) {
        copy_async(&tiles.indices[tile + threadIdx.x], feature.indices + bag.begin + at);
        if constexpr (K::kWeighted) {
          copy_async(&tiles.weights[tile + threadIdx.x], feature.weights + bag.begin + at);
        }
      } else {
        incoming.row = load_row<K>(feature, bag.begin + at);
        incoming.weight = load_weight<K>(feature, bag.begin + at);
      }
    }
    if constexpr (kStage == 2) commit_copies();
    return incoming;
  }

  static __device__ __forceinline__ void finish_copy(Tiles& tiles, int tile,
                                                     const Incoming& incoming) {
    if constexpr (kStage == 2) {
      wait_for_copies();
    } else {
      tiles.indices[tile + threadIdx.x] = incoming.row;
      if constexpr (K::kWeighted) tiles.weights[tile + threadIdx.x] = incoming.weight;
    }
  }

  // From a tile that has `count` of the team's indices, `first` being the bag's first of them.
  static __device__ __forceinline__ Round read_round(const FeatureArguments& feature,
                                                     const Bag& bag, int first, int from, int count,
                                                     const Tiles& tiles, int tile) {
    const int team = tile + threadIdx.x / kTeam * kTeam;
    Round round;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int at = from + u * kRows;
      round.rows[u] = kNoRow;
      round.weights[u] = 1.0f;
      if (at < count) {
        if constexpr (kStage == 2) {
          round.rows[u] =
              checked_row<K>(feature, bag.begin + first + at, tiles.indices[team + at]);
        } else {
          round.rows[u] = tiles.indices[team + at];
        }
        if constexpr (K::kWeighted) round.weights[u] = tiles.weights[team + at];
      }
    }
    return round;
  }

  // Leaves the sample's total in the team's first kLanes threads.
  static __device__ __forceinline__ void combine_rows(Accumulator<kVector>& total, int thread,
                                                      Shared& shared) {
    if constexpr (kLanes < kWarpThreads) {
      combine_lanes<K, kVector, kLanes, kWarpThreads>(total, kFullWarp);
    }
    if constexpr (kCombine) {
      constexpr int kSpan = kLanes < kWarpThreads ? kWarpThreads : kLanes;  // threads of a partial
      const int partial = thread / kSpan;
      float* const partials =
          &shared.partials[0][threadIdx.x / kTeam * (kPartials - 1) * kLanes + thread % kLanes];
      if (partial > 0 && thread % kSpan < kLanes) {
#pragma unroll
        for (int k = 0; k < kVector; ++k) {
          partials[k * kPartialThreads + (partial - 1) * kLanes] = total.values[k];
        }
      }
      __syncthreads();
      if (thread >= kLanes) return;
#pragma unroll 4
      for (int p = 0; p < kPartials - 1; ++p) {
        Accumulator<kVector> other;
#pragma unroll
        for (int k = 0; k < kVector; ++k) {
          other.values[k] = partials[k * kPartialThreads + p * kLanes];
        }
        combine<K>(total, other);
      }
    }
  }
};

}  // namespace gnarl

// Several blocks for each sample: for bags of thousands of indices.
//
// kVector  elements of a load
// kParts   blocks that share a sample, at most
// kUnroll  rows of a thread, in flight at once
//
// All threads of a block pool its share of the bag, groups of lanes over rows. Each block leaves
// its partial in the workspace; the last one to arrive combines them, in the order of the shares.
// A bag is split so far only that every share keeps all threads busy; one that is too short for
// two shares is pooled and stored by its first block alone.
#pragma once

#include "gnarl/partials.cuh"
#include "gnarl/pool_rows.cuh"

namespace gnarl {

template <class K, int kBlockThreads, int kVector, int kParts, int kUnroll>
struct SplitSample {
  using Lanes = RowLanes<K, kVector>;
  static constexpr int kLanes = Lanes::kLanes;
  static constexpr int kRows = kBlockThreads / kLanes;  // side by side
  static constexpr int kLeastShare = kRows * kUnroll;

  // What blocks leave of a sample. Its size does not depend on the batch, so that the counters'
  // places do not either.
  struct alignas(16) Partials {
    float totals[kParts][K::kDim];
    int arrived;
  };

  struct Shared {
    WarpTotals<kBlockThreads, kVector, kLanes> totals;
    int last;
  };

  static __device__ __forceinline__ void run(const FeatureArguments& feature, int block,
                                             int blocks, Shared& shared) {
    for (int task = block; task < feature.batch * kParts; task += blocks) {
      const int sample = task / kParts;
      const int part = task % kParts;
      const Bag bag = load_bag<K>(feature, sample);
      const int parts = max(1, min(kParts, bag.length / kLeastShare));
      if (part >= parts) continue;
      auto& partials = static_cast<Partials*>(feature.workspace)[sample];
      pool_share(feature, sample, bag, part, parts, partials, shared);
      if (parts > 1 && arrives_last(&partials.arrived, parts, shared.last)) {
        finish(feature, sample, bag.length, parts, partials);
      }
    }
  }

 private:
  // Stores the bag if it has one part, else this part's partial.
  static __device__ __forceinline__ void pool_share(const FeatureArguments& feature, int sample,
                                                    const Bag& bag, int part, int parts,
                                                    Partials& partials, Shared& shared) {
    const int share = ceil_div(bag.length, parts);
    const int begin = part * share;
    const int end = min(begin + share, bag.length);
#pragma unroll 1
    for (int tile = 0; tile < Lanes::kTiles; ++tile) {
      const int column = Lanes::column(tile);
      Accumulator<kVector> total = identity<K, kVector>();
      if (column < K::kDim) {
        pool_rows<K, kVector, kUnroll>(feature, TableInGlobal<K>{feature}, bag.begin,
                                       begin + static_cast<int>(threadIdx.x) / kLanes, end, kRows,
                                       column, total);
      }
      combine_block<K>(total, shared.totals);
      if (threadIdx.x < kLanes && column < K::kDim) {
        if (parts == 1) {
          store_pooled<K>(feature, sample, column, total, bag.length);
        } else {
          store_partial(partials.totals[part] + column, total);
        }
      }
    }
  }

  static __device__ __forceinline__ void finish(const FeatureArguments& feature, int sample,
                                                int length, int parts, Partials& partials) {
    for (int vector = threadIdx.x; vector < Lanes::kVectors; vector += kBlockThreads) {
      const int column = vector * kVector;
      Accumulator<kVector> total = take_partial<kVector>(partials.totals[0] + column);
#pragma unroll 4
      for (int part = 1; part < parts; ++part) {
        combine<K>(total, take_partial<kVector>(partials.totals[part] + column));
      }
      store_pooled<K>(feature, sample, column, total, length);
    }
  }
};

}  // namespace gnarl

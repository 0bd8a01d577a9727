// Equal shares of the indices for all threads, whatever bags they are of: for bags of very unequal
// length.
//
// kVector  elements of a load
// kValues  consecutive indices of a tile, which a block takes at a time
// kUnroll  rows of a thread, in flight at once
//
// Groups of lanes take equal runs of the tile's rows. A group stores the bags that lie inside its
// run; what it has of others is carried to the groups after it, first inside a warp by a segmented
// scan, then from warp to warp. Bags that cross tiles leave their partials in the workspace, and
// the last of their tiles to arrive combines these in order. An empty bag belongs to the tile that
// has its position.
#pragma once

#include "gnarl/partials.cuh"
#include "gnarl/pool_rows.cuh"

namespace gnarl {

template <class K, int kBlockThreads, int kVector, int kValues, int kUnroll>
struct ReduceByKey {
  using Lanes = RowLanes<K, kVector>;
  static constexpr int kLanes = Lanes::kLanes;
  static constexpr int kWarps = kBlockThreads / kWarpThreads;
  static constexpr int kRun = kValues / (kBlockThreads / kLanes);  // positions of a group
  static_assert(kRun > 0 && kRun % kUnroll == 0, "a run is whole rounds");

  // Runs are padded, so that groups of a warp read different banks at a time.
  static constexpr int kPitch = kRun + 1;
  static constexpr int kSlots = kBlockThreads / kLanes * kPitch;

  static constexpr int kNone = -1;

  // What a tile leaves: of the bag that crosses its end, and of the one that crosses its begin and
  // ends in it. Counts the tiles of the former bag that have arrived, if that bag begins here.
  struct alignas(16) Partials {
    float open[K::kDim];
    float closed[K::kDim];
    int arrived;
  };

  struct Shared {
    int rows[kSlots];
    int ends[kSlots];  // the bag whose last index is there, or kNone
    float weights[K::kWeighted ? kSlots : 1];
    WarpTotals<kBlockThreads, kVector, kLanes> totals;
    int warp_has_end[kWarps];
    int open;    // the bag that crosses the tile's end, or kNone
    int closed;  // the bag that crosses the tile's begin and ends in it, or kNone
    int last;
  };

  static __device__ __forceinline__ void run(const FeatureArguments& feature, int block,
                                             int blocks, Shared& shared) {
    const Index begin = offset(feature, 0);
    const Index end = offset(feature, feature.batch);
    const int tiles = max(tile_of(end - begin - 1) + 1, 1);
    for (int number = block; number < tiles; number += blocks) {
      Tile tile;
      tile.begin = begin + static_cast<Index>(number) * kValues;
      tile.end = end - tile.begin < kValues ? end : tile.begin + kValues;
      tile.last = number == tiles - 1;
      __syncthreads();  // the tile before has been read
      stage(feature, tile, shared);
      const int first = number > 0 ? first_bag(feature, tile.begin) : 0;
      __syncthreads();
      if (__syncthreads_or(mark_ends(feature, tile, first, shared))) {
        store_empty(feature, tile, first);
      }
      auto* partials = static_cast<Partials*>(feature.workspace);
      pool_tile(feature, partials[number], shared);
#pragma unroll 1
      for (int side = 0; side < 2; ++side) {
        finish_if_last(feature, side ? shared.open : shared.closed, begin, partials, shared);
      }
    }
  }

 private:
  struct Tile {
    Index begin;  // in the batch's indices
    Index end;
    bool last;

    // Whether a bag that begins there is of a later tile.
    __device__ __forceinline__ bool is_before(Index position) const {
      return position >= end && !last;
    }
  };

  static __device__ __forceinline__ Index offset(const FeatureArguments& feature, int sample) {
    return __ldg(feature.offsets + sample);
  }

  // That of the feature's index with this number; -1 for -1.
  static __device__ __forceinline__ int tile_of(Index number) {
    return number < 0 ? -1 : static_cast<int>(number / kValues);
  }

  static __device__ __forceinline__ int slot(int position) {
    return position / kRun * kPitch + position % kRun;
  }

  // Rows and weights of the tile to shared memory; no bag ends yet.
  static __device__ __forceinline__ void stage(const FeatureArguments& feature, const Tile& tile,
                                               Shared& shared) {
    const int values = static_cast<int>(tile.end - tile.begin);
#pragma unroll 4
    for (int at = threadIdx.x; at < kValues; at += kBlockThreads) {
      const int to = slot(at);
      shared.rows[to] = at < values ? load_row<K>(feature, tile.begin + at) : kNoRow;
      shared.ends[to] = kNone;
      if constexpr (K::kWeighted) {
        shared.weights[to] = at < values ? load_weight<K>(feature, tile.begin + at) : 0.0f;
      }
    }
    if (threadIdx.x == 0) shared.open = shared.closed = kNone;
  }

  // The last sample whose bag begins before a position, or 0: each round all threads look at
  // offsets that are equally far apart.
  static __device__ __forceinline__ int first_bag(const FeatureArguments& feature,
                                                  Index position) {
    int low = 0;  // bags that begin before the position are at least so many,
    int high = feature.batch;  // and at most
    while (low < high) {
      const int step = ceil_div(high - low, kBlockThreads);
      const int probe = low + (static_cast<int>(threadIdx.x) + 1) * step - 1;
      low += step * __syncthreads_count(probe < high && offset(feature, probe) < position);
      high = min(high, low + step - 1);
    }
    return max(low - 1, 0);
  }

  // Notes where bags end. Whether the thread has seen an empty bag of this tile.
  static __device__ __forceinline__ bool mark_ends(const FeatureArguments& feature,
                                                   const Tile& tile, int first, Shared& shared) {
    bool empty = false;
    for (int bag = first + threadIdx.x; bag < feature.batch; bag += kBlockThreads) {
      const Index begin = offset(feature, bag);
      if (tile.is_before(begin)) break;
      const Index end = offset(feature, bag + 1);
      if (begin == end) {
        empty |= begin >= tile.begin;
      } else if (end > tile.end) {
        shared.open = bag;
      } else if (end > tile.begin) {
        shared.ends[slot(static_cast<int>(end - 1 - tile.begin))] = bag;
        if (begin < tile.begin) shared.closed = bag;
      }
    }
    return empty;
  }

  static __device__ __forceinline__ void store_empty(const FeatureArguments& feature,
                                                     const Tile& tile, int first) {
    for (int at = threadIdx.x;; at += kBlockThreads) {
      const int bag = first + at / Lanes::kVectors;
      if (bag >= feature.batch) break;
      const Index begin = offset(feature, bag);
      if (tile.is_before(begin)) break;
      if (begin >= tile.begin && offset(feature, bag + 1) == begin) {
        store_pooled<K>(feature, bag, at % Lanes::kVectors * kVector, identity<K, kVector>(), 0);
      }
    }
  }

  // A bag that is not empty.
  static __device__ __forceinline__ void store_bag(const FeatureArguments& feature, int bag,
                                                   int column,
                                                   const Accumulator<kVector>& total) {
    const int length = K::kPooling == Pooling::kMean ? load_bag<K>(feature, bag).length : 1;
    store_pooled<K>(feature, bag, column, total, length);
  }

  // Stores the bags that lie in the tile, and the tile's partials.
  static __device__ __forceinline__ void pool_tile(const FeatureArguments& feature,
                                                   Partials& partials, Shared& shared) {
    const int lane = threadIdx.x % kWarpThreads;
    const int warp = threadIdx.x / kWarpThreads;
#pragma unroll 1
    for (int turn = 0; turn < Lanes::kTiles; ++turn) {
      const int column = Lanes::column(turn);
      Run run;
      run.walk(feature, column, shared);
      Carry carry{run.rest, run.first_bag != kNone};
      const Carry before = scan_warp(carry, lane);
      if constexpr (kWarps > 1) {
        if (turn > 0) __syncthreads();  // the totals of the turn before have been read
        if (lane >= kWarpThreads - kLanes) {
          shared.totals.store(warp, lane % kLanes, carry.total);
        }
        if (lane == kWarpThreads - 1) shared.warp_has_end[warp] = carry.has_end;
        __syncthreads();
      }
      Carry from_warps = carry_into(warp, lane, shared);
      if (column >= K::kDim) continue;
      if (shared.open != kNone && threadIdx.x >= kBlockThreads - kLanes) {
        Carry tile = from_warps;
        tile.append(carry);
        store_partial(partials.open + column, tile.total);
      }
      if (run.first_bag != kNone) {
        from_warps.append(before);
        combine<K>(from_warps.total, run.first);
        if (run.first_bag == shared.closed) {
          store_partial(partials.closed + column, from_warps.total);
        } else {
          store_bag(feature, run.first_bag, column, from_warps.total);
        }
      }
    }
  }

  // What a group has pooled of its run.
  struct Run {
    int first_bag;  // the first that ends in the run, or kNone
    Accumulator<kVector> first;  // of that bag
    Accumulator<kVector> rest;   // of the one that goes on after the run

    __device__ __forceinline__ void walk(const FeatureArguments& feature, int column,
                                         const Shared& shared) {
      const bool idle = column >= K::kDim;
      const int begin = static_cast<int>(threadIdx.x) / kLanes * kPitch;
      first_bag = kNone;
      first = rest = identity<K, kVector>();
#pragma unroll 1
      for (int round = begin; round < begin + kRun; round += kUnroll) {
        const TableInGlobal<K> table{feature};
        Stored<K, kVector> stored[kUnroll];
        int rows[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          rows[u] = idle ? kNoRow : shared.rows[round + u];
          stored[u] = table.template load<kVector>(rows[u], column);
        }
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          const float weight = K::kWeighted ? shared.weights[round + u] : 1.0f;
          accumulate<K>(rest, unpack<K, kVector>(stored[u]), weight_of_row<K>(rows[u], weight));
          const int bag = shared.ends[round + u];
          if (bag == kNone) continue;
          if (first_bag == kNone) {
            first_bag = bag;
            first = rest;
          } else if (!idle) {
            store_bag(feature, bag, column, rest);
          }
          rest = identity<K, kVector>();
        }
      }
    }
  };

  // What consecutive runs hand on to the next.
  struct Carry {
    Accumulator<kVector> total;  // of the bag that goes on
    int has_end;                 // whether any bag ends in them, so that the total begins there

    __device__ __forceinline__ void append(const Carry& next) {
      if (next.has_end) {
        *this = next;
      } else {
        combine<K>(total, next.total);
      }
    }

    __device__ __forceinline__ Carry from_lanes_below(int distance) const {
      Carry other;
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        other.total.values[k] = __shfl_up_sync(kFullWarp, total.values[k], distance);
      }
      other.has_end = __shfl_up_sync(kFullWarp, has_end, distance);
      return other;
    }
  };

  static __device__ __forceinline__ Carry nothing() { return {identity<K, kVector>(), 0}; }

  // Makes `carry` that of the warp's runs up to the lane's own; gives that of the runs before it.
  static __device__ __forceinline__ Carry scan_warp(Carry& carry, int lane) {
#pragma unroll
    for (int distance = kLanes; distance < kWarpThreads; distance *= 2) {
      Carry sum = carry.from_lanes_below(distance);
      sum.append(carry);
      if (lane >= distance) carry = sum;
    }
    if constexpr (kLanes == kWarpThreads) return nothing();
    const Carry before = carry.from_lanes_below(kLanes);
    return lane < kLanes ? nothing() : before;
  }

  // That of the warps before.
  static __device__ __forceinline__ Carry carry_into(int warp, int lane, const Shared& shared) {
    Carry carry = nothing();
#pragma unroll 1  // few rounds; unrolled they would take 30 registers
    for (int other = 0; other < warp; ++other) {
      carry.append({shared.totals.load(other, lane % kLanes), shared.warp_has_end[other]});
    }
    return carry;
  }

  // Combines a bag's partials if all its tiles have left theirs.
  static __device__ __forceinline__ void finish_if_last(const FeatureArguments& feature, int sample,
                                                        Index begin, Partials* partials,
                                                        Shared& shared) {
    if (sample == kNone) return;
    const Bag bag = load_bag<K>(feature, sample);
    const int first = tile_of(bag.begin - begin);
    Partials* const of_bag = partials + first;
    const int tiles = tile_of(bag.begin - begin + bag.length - 1) - first + 1;
    if (!arrives_last(&of_bag->arrived, tiles, shared.last)) return;
#pragma unroll 1
    for (int turn = 0; turn < Lanes::kTiles; ++turn) {
      const int column = Lanes::column(turn);
      Accumulator<kVector> total = identity<K, kVector>();
      if (column < K::kDim) {
#pragma unroll 4
        for (int at = threadIdx.x / kLanes; at < tiles; at += kBlockThreads / kLanes) {
          float* partial = at == tiles - 1 ? of_bag[at].closed : of_bag[at].open;
          combine<K>(total, take_partial<kVector>(partial + column));
        }
      }
      combine_block<K>(total, shared.totals);
      if (threadIdx.x < kLanes && column < K::kDim) {
        store_pooled<K>(feature, sample, column, total, bag.length);
      }
    }
  }
};

}  // namespace gnarl

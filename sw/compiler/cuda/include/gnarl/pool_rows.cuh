// How templates spread rows over threads, and their inner loop: it pools rows of a bag with several
// loads in flight.
#pragma once

#include "gnarl/embedding.cuh"

namespace gnarl {

// The vectors of a row side by side on kLanes lanes of a warp, so that groups of that many lanes
// combine by shuffles. Lanes past the row's end idle; rows longer than a warp take kTiles turns.
template <class K, int kVector>
struct RowLanes {
  static constexpr int kVectors = K::kDim / kVector;
  static constexpr int kLanes =
      kVectors < kWarpThreads ? power_of_two_at_least(kVectors) : kWarpThreads;
  static constexpr int kTiles = ceil_div(kVectors, kLanes);

  // This thread's first element in a turn; at least kDim if it idles.
  static __device__ __forceinline__ int column(int tile) {
    return (tile * kLanes + static_cast<int>(threadIdx.x) % kLanes) * kVector;
  }
};

// A feature's table where it always is.
template <class K>
struct TableInGlobal {
  const FeatureArguments& feature;

  // Nothing for kNoRow.
  template <int kVector>
  __device__ __forceinline__ Stored<K, kVector> load(int row, int column) const {
    return load_if<K, kVector>(row != kNoRow, address_of<K>(feature, row, column));
  }
};

// Pools the rows at begin + first, begin + first + stride, ... below begin + end: the vectors at
// `column` of them. kUnroll rows at a time are on their way, and the indices of the next ones.
template <class K, int kVector, int kUnroll, class Table>
__device__ __forceinline__ void pool_rows(const FeatureArguments& feature, const Table& table,
                                          Index begin, int first, int end, int stride,
                                          int column, Accumulator<kVector>& total) {
  int rows[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int at = first + u * stride;
    rows[u] = at < end ? load_row<K>(feature, begin + at) : kNoRow;
  }
#pragma unroll 1
  for (int round = first; round < end; round += kUnroll * stride) {
    Stored<K, kVector> stored[kUnroll];
    float weights[kUnroll];
    int next[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      stored[u] = table.template load<kVector>(rows[u], column);
      const bool present = rows[u] != kNoRow;
      weights[u] = present ? load_weight<K>(feature, begin + round + u * stride) : 0.0f;
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int at = round + (kUnroll + u) * stride;
      next[u] = at < end ? load_row<K>(feature, begin + at) : kNoRow;
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      accumulate<K>(total, unpack<K, kVector>(stored[u]), weights[u]);
      rows[u] = next[u];
    }
  }
}

// Room to combine what the warps of a block have pooled, kLanes vectors each. Elements of a vector
// are kLanes floats apart, so that lanes side by side use banks side by side.
template <int kBlockThreads, int kVector, int kLanes>
struct WarpTotals {
  static constexpr int kWarps = kBlockThreads / kWarpThreads;

  float values[kWarps][kVector][kLanes];

  __device__ __forceinline__ void store(int warp, int lane, const Accumulator<kVector>& total) {
#pragma unroll
    for (int k = 0; k < kVector; ++k) values[warp][k][lane] = total.values[k];
  }

  __device__ __forceinline__ Accumulator<kVector> load(int warp, int lane) const {
    Accumulator<kVector> total;
#pragma unroll
    for (int k = 0; k < kVector; ++k) total.values[k] = values[warp][k][lane];
    return total;
  }
};

// Combines over all rows side by side in a block. All threads take part; threads 0 .. kLanes-1
// have the result. The order depends on nothing but the kinds.
template <class K, int kBlockThreads, int kVector, int kLanes>
__device__ __forceinline__ void combine_block(Accumulator<kVector>& total,
                                              WarpTotals<kBlockThreads, kVector, kLanes>& room) {
  combine_lanes<K, kVector, kLanes, kWarpThreads>(total, kFullWarp);
  constexpr int kWarps = kBlockThreads / kWarpThreads;
  if constexpr (kWarps > 1) {
    const int warp = threadIdx.x / kWarpThreads;
    const int lane = threadIdx.x % kWarpThreads;
    __syncthreads();  // what the room held has been read
    if (warp > 0 && lane < kLanes) room.store(warp, lane, total);
    __syncthreads();
    if (warp == 0 && lane < kLanes) {
#pragma unroll
      for (int other = 1; other < kWarps; ++other) combine<K>(total, room.load(other, lane));
    }
  }
}

}  // namespace gnarl

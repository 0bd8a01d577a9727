// Entries of a product of dense matrices, where a sparse matrix has some (SDDMM):
//
//   output[e] = sum over k of (samples[e] * left[rows[e]][k]) * right[columns[e]][k]
//
// Entries are dealt to groups of lanes, whatever rows they are in, so that long rows take no longer
// than short ones. Neighbours share the left matrix's row, which the first of them brings into L1.
#pragma once

#include "gnarl/embedding.cuh"

namespace gnarl {

// kDim      columns of either matrix
// kVector   elements of a load; divides kDim
// kLanes    lanes of a group; a power of two, at most 32
// kUnroll   entries of a group in flight, each with a load from either matrix
template <class Table, int kDim, int kBlockThreads, int kVector, int kLanes, int kUnroll>
struct SampledProduct {
  static_assert(kDim % kVector == 0, "vectors must not straddle rows");
  static constexpr int kGroups = kBlockThreads / kLanes;
  static constexpr int kEntries = kGroups * kUnroll;  // of a block's round
  static constexpr int kStride = kLanes * kVector;    // columns from a lane's load to its next

  static __device__ __forceinline__ void run(const int* rows, const int* columns,
                                             const float* samples, const Table* left,
                                             const Table* right, Table* output,
                                             long long entries) {
    const int lane = threadIdx.x % kLanes;
    const int group = threadIdx.x / kLanes;
    for (long long first = static_cast<long long>(blockIdx.x) * kEntries; first < entries;
         first += static_cast<long long>(gridDim.x) * kEntries) {
      const Table* of_left[kUnroll];
      const Table* of_right[kUnroll];
      float weights[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        // Beyond the last entry it is computed once more, and not stored.
        const long long entry = min(first + u * kGroups + group, entries - 1);
        of_left[u] = left + static_cast<long long>(__ldg(rows + entry)) * kDim;
        of_right[u] = right + static_cast<long long>(__ldg(columns + entry)) * kDim;
        weights[u] = __ldg(samples + entry);
      }
      float totals[kUnroll] = {};
#pragma unroll 1
      for (int column = lane * kVector; column < kDim; column += kStride) {
        Pack<Table, kVector> one[kUnroll];
        Pack<Table, kVector> other[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          one[u] = load_pack<kVector>(of_left[u] + column);
          other[u] = load_pack<kVector>(of_right[u] + column);
        }
        // Elements outside: the first products need all loads, which so stay together.
#pragma unroll
        for (int v = 0; v < kVector; ++v) {
#pragma unroll
          for (int u = 0; u < kUnroll; ++u) {
            totals[u] = fmaf(weights[u] * to_float(one[u].elements[v]),
                             to_float(other[u].elements[v]), totals[u]);
          }
        }
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
        for (int distance = kLanes / 2; distance > 0; distance /= 2) {
          totals[u] += __shfl_xor_sync(kFullWarp, totals[u], distance, kLanes);
        }
        const long long entry = first + u * kGroups + group;
        if (lane == 0 && entry < entries) output[entry] = from_float<Table>(totals[u]);
      }
    }
  }
};

}  // namespace gnarl

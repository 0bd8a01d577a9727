// Bags of an index or so: as many of them side by side as a warp has room for rows, and several such
// sets in flight. Longer bags are pooled as well, but slowly.
//
// kVector  elements of a load
#pragma once

#include "gnarl/warp_bags.cuh"

namespace gnarl {

template <class K, int kVector>
struct ShortBags {
  using Loaded = typename LaneRows<K, kVector>::Loaded;
  static constexpr int kSets = 4;

  static __device__ __forceinline__ void run(const WarpTask& task) {
    const LanePlace place = LanePlace::of<kVector>(task);
    const int column = min(place.column, task.feature.dim - kVector);
    const LaneRows<K, kVector> table(task, column);
    const int end = min(task.sample + task.samples, task.batch);
#pragma unroll 1
    for (int first = task.sample; first < end; first += kSets * place.bags()) {
      pool(task, table, place, first + place.bag(), end);
    }
  }

 private:
  static __device__ __forceinline__ void pool(const WarpTask& task,
                                              const LaneRows<K, kVector>& table,
                                              const LanePlace& place, int first, int end) {
    const int bags = place.bags();
    Index begins[kSets];
    int lengths[kSets];
    int longest = 0;
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      const int sample = first + s * bags;
      begins[s] = 0;
      lengths[s] = 0;
      if (sample < end) {
        begins[s] = __ldg(task.offsets + sample);
        lengths[s] = static_cast<int>(__ldg(task.offsets + sample + 1) - begins[s]);
      }
      longest = max(longest, lengths[s]);
    }
    Accumulator<kVector> totals[kSets];
#pragma unroll
    for (int s = 0; s < kSets; ++s) totals[s] = identity<K, kVector>();
#pragma unroll 1
    for (int i = 0; i < longest; ++i) add(task, table, begins, lengths, i, totals);
    if (place.column >= task.feature.dim) return;
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      const int sample = first + s * bags;
      if (sample < end) {
        unsigned char* const output = Outputs<K>::further_on(
            task.feature, Outputs<K>::of_sample(task, sample), place.column);
        Outputs<K>::template store<kVector>(task.feature, output, totals[s].values, lengths[s]);
      }
    }
  }

  // The i-th row of each set's bag.
  static __device__ __forceinline__ void add(const WarpTask& task,
                                             const LaneRows<K, kVector>& table,
                                             const Index (&begins)[kSets],
                                             const int (&lengths)[kSets], int i,
                                             Accumulator<kVector> (&totals)[kSets]) {
    LookUp found[kSets];
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      found[s] = look_up_if<K>(i < lengths[s], task, task.indices + begins[s] + i);
    }
    Loaded loaded[kSets];
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      loaded[s] = table.load_if_present(i < lengths[s], found[s].row);
    }
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      accumulate<K>(totals[s], unpack<K, kVector>(loaded[s]), found[s].weight);
    }
  }
};

}  // namespace gnarl

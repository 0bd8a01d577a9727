// Gradients of rows: sums of those of look-ups, which come sorted by row.
//
// Entries are cut into segments of kSegment, whatever their keys. A run of equal keys that lies in
// one segment is added up there, and the optimizer's step taken. Of one that goes on in other
// segments each leaves its sum in a slot; slots are the entries of the next launch, in the same
// order. So the order of additions depends on nothing but the look-ups, and a row that all of them
// go to takes as many launches as the logarithm of their number.
#pragma once

#include "gnarl/optimizers.cuh"

namespace gnarl {

constexpr int kSegment = 32;

// The trained tables, in the order of keys.
template <class Key>
struct TrainedTables {
  const Key* first_keys;     // [tables + 1]: of each one's rows; the last: where keys end
  const int* dims;           // [tables]
  void* const* elements;     // [tables]: where rows, or their gradients, begin; null: not wanted
  float* const* states;      // [tables, Optimizer::kStates], where the optimizer has any
  const float* learning_rate;
};

// Sums of parts of runs: two for each segment, of the run that began before it and of the one that
// goes on after it.
template <class Key>
struct Slots {
  Key* keys;      // [slots]; kNoKey: unused
  float* values;  // [slots, stride]
  int stride;
};

// Entries of the first launch: look-ups.
struct LookupEntries {
  static constexpr bool kSorted = true;
  using Head = LookupGradient;
  const LookupGradient* entries;
  const float* gradients;
  const int* first_maxima;

  __device__ __forceinline__ Head head(int entry) const { return entries[entry]; }

  template <class C>
  __device__ __forceinline__ void load(const Head& found, int lane, int dim,
                                       RowVectors<C>& vectors) const {
    for_vectors<C>(lane, dim, [&](int chunk, int column) {
      const auto pack = load_pack<C::kVector>(gradients + found.source + column);
#pragma unroll
      for (int k = 0; k < C::kVector; ++k) vectors.values[chunk][k] = pack.elements[k];
    });
  }

  template <class C>
  __device__ __forceinline__ void finish(const Head& found, int lane, int dim,
                                         RowVectors<C>& vectors) const {
    for_vectors<C>(lane, dim, [&](int chunk, int column) {
#pragma unroll
      for (int k = 0; k < C::kVector; ++k) {
        float& value = vectors.values[chunk][k];
        if (found.bag > 0) {
          value = __fdiv_rn(value, static_cast<float>(found.bag));
        } else if (found.bag < 0) {
          const int place = __ldg(first_maxima + found.source + column + k);
          value = place == -1 - found.bag ? value : 0.0f;
        }
        value = __fmul_rn(found.weight, value);
      }
    });
  }
};

// Entries of later launches: what slots of the one before hold.
struct SlotEntries {
  static constexpr bool kSorted = false;
  using Head = const float*;
  const float* values;
  int stride;

  __device__ __forceinline__ Head head(int entry) const {
    return values + static_cast<long long>(entry) * stride;
  }

  template <class C>
  __device__ __forceinline__ void load(Head source, int lane, int dim,
                                       RowVectors<C>& vectors) const {
    for_vectors<C>(lane, dim, [&](int chunk, int column) {
      const auto pack = load_pack<C::kVector>(source + column);
#pragma unroll
      for (int k = 0; k < C::kVector; ++k) vectors.values[chunk][k] = pack.elements[k];
    });
  }

  template <class C>
  __device__ __forceinline__ void finish(Head, int, int, RowVectors<C>&) const {}
};

// The last of tables [begin, end) whose keys do not begin after `key`.
template <class Key>
__device__ __forceinline__ int find_table(const Key* first_keys, int begin, int end, Key key) {
  while (end - begin > 1) {
    const int middle = (begin + end) / 2;
    (__ldg(first_keys + middle) <= key ? begin : end) = middle;
  }
  return begin;
}

template <class C, class Key>
__device__ __forceinline__ void store_slot(const Slots<Key>& slots, int slot, int lane, int dim,
                                           const RowVectors<C>& sums) {
  float* target = slots.values + static_cast<long long>(slot) * slots.stride;
  for_vectors<C>(lane, dim, [&](int chunk, int column) {
    store_floats(target + column, sums.values[chunk]);
  });
}

// Adds up the runs whose keys are of the class's tables. All blocks do all of it, whatever their
// number. `keys`: of entries, where kNoKey lies anywhere if they are not kSorted.
template <class C, class Optimizer, class Entries, class Key>
__device__ void sum_runs(const TrainedTables<Key>& tables, const Entries& entries, const Key* keys,
                         int count, const Slots<Key>& slots, int block, int blocks) {
  constexpr int kUnroll = C::kChunks < 4 ? 4 / C::kChunks : 1;
  const auto team = LaneTeam<C::kLanes>::of_thread(block, blocks);
  const Key low = __ldg(tables.first_keys + C::kBegin), high = __ldg(tables.first_keys + C::kEnd);
  const int segments = ceil_div(count, kSegment);
  for (int segment = team.team; segment < segments; segment += team.teams) {
    const int begin = segment * kSegment, end = min(begin + kSegment, count);
    const Key before = begin > 0 ? keys[begin - 1] : kNoKey<Key>;
    const Key after = end < count ? keys[end] : kNoKey<Key>;
    const Key first = keys[begin], last = keys[end - 1];
    if (C::kBegin == 0 && segments > 1 && team.lane == 0) {  // one class does so for all of them
      slots.keys[2 * segment] = first == before ? first : kNoKey<Key>;
      slots.keys[2 * segment + 1] = last == after ? last : kNoKey<Key>;
    }
    if (Entries::kSorted && (last < low || first >= high)) continue;
    int table = -1;
    RowVectors<C> sums = {};
    for (int at = begin; at < end; at += kUnroll) {
      Key own[kUnroll];
      int table_of[kUnroll], dims[kUnroll];
      RowVectors<C> vectors[kUnroll];
      typename Entries::Head heads[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        own[u] = at + u < end ? keys[at + u] : kNoKey<Key>;
        heads[u] = entries.head(min(at + u, end - 1));
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (own[u] < low || own[u] >= high) continue;
        if (table < 0) table = find_table(tables.first_keys, C::kBegin, C::kEnd, own[u]);
        while (own[u] >= __ldg(tables.first_keys + table + 1)) ++table;
        table_of[u] = table;
        dims[u] = __ldg(tables.dims + table);
        entries.template load<C>(heads[u], team.lane, dims[u], vectors[u]);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (own[u] < low || own[u] >= high) continue;
        entries.template finish<C>(heads[u], team.lane, dims[u], vectors[u]);
        for_vectors<C>(team.lane, dims[u], [&](int chunk, int) {
#pragma unroll
          for (int k = 0; k < C::kVector; ++k) {
            sums.values[chunk][k] =
                __fadd_rn(sums.values[chunk][k], vectors[u].values[chunk][k]);
          }
        });
        if (at + u + 1 < end && keys[at + u + 1] == own[u]) continue;
        const bool began_before = before == own[u], goes_on = after == own[u];
        if (began_before || goes_on) {
          store_slot<C>(slots, 2 * segment + !began_before, team.lane, dims[u], sums);
          sums = {};
          if (began_before && goes_on) {
            store_slot<C>(slots, 2 * segment + 1, team.lane, dims[u], sums);
          }
        } else {
          const long long row = own[u] - __ldg(tables.first_keys + table_of[u]);
          auto* elements = static_cast<typename C::Table*>(tables.elements[table_of[u]]);
          if (elements != nullptr) {
            Optimizer::template step<C>(
                team,
                RowOfTable<C>{elements + row * dims[u],
                              tables.states + table_of[u] * Optimizer::kStates, row, dims[u],
                              table_of[u]},
                sums, tables.learning_rate);
          }
          sums = {};
        }
      }
    }
  }
}

}  // namespace gnarl

// A warp for a bag, or for a few bags side by side: whatever the row's dimension, whatever the bag's
// length.
//
// A bag is pooled in rounds of kRoundLoads loads of each lane. What a round adds up is added to what
// the rounds before it have, so that pieces of a bag that different warps pool, round by round, come
// to the same bits as one warp does. Which bags lie beside a bag changes nothing for it either.
//
// kVector  elements of a load
#pragma once

#include "gnarl/warp_bags.cuh"

namespace gnarl {

constexpr int kRoundLoads = 8;
constexpr int kRoundLog2 = 3;

// The rounds of bags side by side, from a lane's view. kAlone: whether a bag has the warp for itself.
template <class K, int kVector, bool kAlone>
class BagRounds {
 public:
  using Total = Accumulator<kVector>;

  __device__ __forceinline__ BagRounds(const WarpTask& task, const LanePlace& place)
      : task_(task), table_(task, min(place.column, task.feature.dim - kVector)),
        aside_(place.aside), row_(place.row()) {}

  // Of so many rows of a bag side by side.
  __device__ __forceinline__ int rounds_of(int length) const {
    return most_of_warp((length + (kRoundLoads << aside_) - 1) >> (kRoundLog2 + aside_));
  }

  __device__ __forceinline__ int round_indices() const { return kRoundLoads << aside_; }

  // Adds up the bag of so many indices from `begin` on.
  __device__ __forceinline__ void pool(Index begin, int length, Total& total) const {
    int full;
    if constexpr (kAlone) {
      length = most_of_warp(length);  // which all lanes have
      full = length >> (kRoundLog2 + aside_);
    } else {
      full = least_of_warp(length >> (kRoundLog2 + aside_));
    }
    if (full > 0) add_full(at(begin, kAlone ? 4 * row_ : row_), full, total);
    int left = length - (full << (kRoundLog2 + aside_));
    const Index* next = at(begin, (full << (kRoundLog2 + aside_)) + row_);
    if constexpr (kAlone) {
      if (left > 0) combine<K>(total, sum_of_part(next, left));
    } else {
#pragma unroll 1
      while (most_of_warp(left) > 0) {
        combine<K>(total, sum_of_part(next, left));
        left -= round_indices();
        next = advanced(next, kRoundLoads);
      }
    }
  }

 private:
  using Table = LaneRows<K, kVector>;

  // A lane has in full rounds two runs of four indices, of which few addresses need computing; with
  // other bags beside it one of every 2^aside, as in rounds that are not full.
  static constexpr bool kRuns = kAlone;

  __device__ __forceinline__ const Index* at(Index begin, int place) const {
    if constexpr (sizeof(Index) == sizeof(int)) {
      return further(task_.indices, static_cast<int>(begin) + place, sizeof(Index));
    }
    return task_.indices + (begin + place);
  }

  // So many times 2^aside indices further on.
  __device__ __forceinline__ const Index* advanced(const Index* at, int times) const {
    return further(at, 1 << aside_, times * static_cast<int>(sizeof(Index)));
  }

  __device__ __forceinline__ void add_full(const Index* at, int rounds, Total& total) const {
    LookUp found[kRoundLoads];
    fetch(at, found);
#pragma unroll 1
    for (; rounds > 0; --rounds) {
      typename Table::Loaded loaded[kRoundLoads];
      float weights[kRoundLoads];
#pragma unroll
      for (int u = 0; u < kRoundLoads; ++u) {
        loaded[u] = table_.load(found[u].row);
        weights[u] = found[u].weight;
      }
      if (rounds > 1) {
        at = advanced(at, kRoundLoads);
        fetch(at, found);
      }
#pragma unroll
      for (int u = 0; u < kRoundLoads; ++u) use_late(loaded[u].elements);
      Total sum = first_of(loaded[kRoundLoads - 1], weights[kRoundLoads - 1]);
#pragma unroll
      for (int u = kRoundLoads - 2; u >= 0; --u) {
        accumulate<K>(sum, unpack<K, kVector>(loaded[u]), weights[u]);
      }
      combine<K>(total, sum);
    }
  }

  __device__ __forceinline__ void fetch(const Index* at, LookUp (&found)[kRoundLoads]) const {
    const Index* const second = kRuns ? advanced(at, 4) : at;
#pragma unroll
    for (int u = 0; u < kRoundLoads; ++u) {
      const Index* const own = !kRuns ? advanced(at, u) : u < 4 ? at + u : second + (u - 4);
      found[u] = look_up<K>(task_, own);
    }
  }

  static __device__ __forceinline__ Total first_of(const typename Table::Loaded& loaded,
                                                   float weight) {
    Total sum = unpack<K, kVector>(loaded);
    if constexpr (K::kWeighted) {
#pragma unroll
      for (int k = 0; k < kVector; ++k) sum.values[k] *= weight;
    }
    return sum;
  }

  // The sum of a round of which some bag has but a part, or nothing: so many indices are left.
  __device__ __forceinline__ Total sum_of_part(const Index* at, int left) const {
    // Loads that this lane has rows for.
    const int own = (left - row_ + (1 << aside_) - 1) >> aside_;
    const int first = (left + (1 << aside_) - 1) >> aside_;
    const int loads = kAlone ? first : most_of_warp(first);
    if (loads > 4) return sum_of<8>(at, own);
    if (loads > 2) return sum_of<4>(at, own);
    if (loads > 1) return sum_of<2>(at, own);
    return sum_of<1>(at, own);
  }

  template <int kLoads>
  __device__ __forceinline__ Total sum_of(const Index* at, int own) const {
    LookUp found[kLoads];
#pragma unroll
    for (int u = 0; u < kLoads; ++u) found[u] = look_up_if<K>(u < own, task_, advanced(at, u));
    typename Table::Loaded loaded[kLoads];
#pragma unroll
    for (int u = 0; u < kLoads; ++u) loaded[u] = table_.load_if_present(u < own, found[u].row);
    Total sum = first_of(loaded[kLoads - 1], found[kLoads - 1].weight);
#pragma unroll
    for (int u = kLoads - 2; u >= 0; --u) {
      accumulate<K>(sum, unpack<K, kVector>(loaded[u]), found[u].weight);
    }
    return sum;
  }

  const WarpTask& task_;
  Table table_;
  int aside_;  // log2 of a bag's rows side by side
  int row_;
};

template <class K, int kVector>
struct PooledBags {
  static __device__ __forceinline__ void run(const WarpTask& task) {
    const LanePlace place = LanePlace::of<kVector>(task);
    if (place.lanes + place.aside == kWarpLog2) {
      pool<true>(task, place);
    } else {
      pool<false>(task, place);
    }
  }

 private:
  using Total = Accumulator<kVector>;

  // The rounds of bags side by side that the task's piece of them has.
  struct Piece {
    int round;
    int end;
    int pieces;  // that have rounds
    int shared;  // rounds of all of them
  };

  // Whole bags one after the other, or of bags that are cut the rounds of a piece, each by itself;
  // then, if it is the last piece to come, what all pieces have left, with the rest of the bags.
  template <bool kAlone>
  static __device__ __forceinline__ void pool(const WarpTask& task, const LanePlace& place) {
    const BagRounds<K, kVector, kAlone> rounds(task, place);
    const BagEnd<K, kVector> end{task, place};
    const int bag = kAlone ? 0 : place.bag();
    const int samples = kept(min(task.samples, task.batch - task.sample));
    Index begin = __shfl_sync(kFullWarp, task.begin, bag);
    int length = static_cast<int>(__shfl_sync(kFullWarp, task.end, bag) - begin);
    int whole = length;  // for means
    unsigned char* output = Outputs<K>::of_sample(task, task.sample + bag);
    const int stride = task.feature.output_stride;
    Piece piece{0, 0, 0, 0};
    if (task.pieces > 0) {
      piece = piece_of(task, rounds.rounds_of(length));
      if (piece.end < 0) return;
    }
    int item = 0;
    Total total = identity<K, kVector>();
#pragma unroll 1
    while (true) {
      const bool is_piece = piece.round < piece.end;
      Index first = begin;
      int indices = length;
      if (is_piece) {
        const int before = piece.round * rounds.round_indices();
        first += before;
        indices = max(0, min(length - before, rounds.round_indices()));
      }
      rounds.pool(first, indices, total);
      if (is_piece) {
        store_partial(partial(task, piece.round), total);
        total = identity<K, kVector>();
        if (++piece.round < piece.end) continue;
        if (!comes_last(task, piece.pieces)) return;
#pragma unroll 4
        for (int round = 0; round < piece.shared; ++round) {
          combine<K>(total, load_partial<kVector>(partial(task, round)));
        }
        const int done = piece.shared * rounds.round_indices();
        begin += done;
        length = max(0, length - done);
        continue;
      }
      end.finish(output, item + bag < samples, whole, total.values);
      item += kAlone ? 1 : place.bags();
      if (item >= samples) return;
      begin = __shfl_sync(kFullWarp, task.begin, item + bag);
      whole = length = static_cast<int>(__shfl_sync(kFullWarp, task.end, item + bag) - begin);
      output = Outputs<K>::further_on(task.feature, output, kAlone ? stride : place.bags() * stride);
      total = identity<K, kVector>();
    }
  }

  // `end` is negative where the piece has no rounds, and 0 where it has the bags to itself.
  static __device__ __forceinline__ Piece piece_of(const WarpTask& task, int rounds) {
    const int shared = min(rounds, 1 << task.rounds);
    const int pieces = min(1 << task.pieces, shared);
    if (pieces <= 1) {
      const bool is_last = task.piece + 1 == 1 << task.pieces;
      return {0, is_last ? 0 : -1, 0, 0};
    }
    const int first = shared * task.piece >> task.pieces;
    const int end = shared * (task.piece + 1) >> task.pieces;
    return {first, first < end ? end : -1, pieces, shared};
  }

  // Where this lane's sum of a round is.
  static __device__ __forceinline__ float* partial(const WarpTask& task, int round) {
    const auto of_bag = static_cast<unsigned long long>(task.cut) << task.rounds;
    return task.partials + ((of_bag + round) * kWarpThreads + lane_number()) * kVector;
  }

  // Whether all other pieces of these bags have been stored.
  static __device__ __forceinline__ bool comes_last(const WarpTask& task, int pieces) {
    __threadfence();
    __syncwarp();
    int is_last = 0;
    if (lane_number() == 0) {
      const auto others = static_cast<unsigned>(pieces - 1);
      is_last = atomicInc(task.counter, others) == others;  // which makes it zero again
    }
    is_last = most_of_warp(is_last);
    if (is_last) __threadfence();
    return is_last != 0;
  }
};

}  // namespace gnarl

// The table in shared memory: for small tables that a batch looks up many times each.
//
// kCapacity  KiB of shared memory for the table
// kVector    elements of a load
// kThreads   lanes of a sample, a power of two; rows lie side by side in them
// kSamples   samples that a block takes at a time
//
// A block copies the whole table once. Rows at random addresses meet in the same banks: of the
// eight lanes that a 16-byte load serves at a time, two or three do if each has a row of its own,
// whatever the vectors; rows of 128 bytes, which have all banks, never do. Wide vectors save
// instructions all the same.
#pragma once

#include "gnarl/async_copy.cuh"
#include "gnarl/pool_rows.cuh"

namespace gnarl {

template <class K, int kBlockThreads, int kCapacity, int kVector, int kThreads, int kSamples>
struct TableInShared {
  using Lanes = RowLanes<K, kVector>;
  static constexpr int kLanes = Lanes::kLanes;
  static constexpr int kRows = kThreads / kLanes;          // side by side
  static constexpr int kSide = kBlockThreads / kThreads;   // samples side by side
  static constexpr int kRounds = kSamples / kSide;
  static constexpr int kUnroll = 4;  // indices of a thread, in flight at once
  static_assert(kRows > 0, "a row must fit in its sample's lanes");
  static_assert(kRounds > 0 && kSamples % kSide == 0, "samples are whole rounds");

  struct Shared {
    alignas(16) unsigned char table[kCapacity * 1024];
  };

  static __device__ __forceinline__ void run(const FeatureArguments& feature, int block,
                                             int blocks, Shared& shared) {
    const int tasks = ceil_div(feature.batch, kSamples);
    if (block >= tasks) return;
    const int rounds = ceil_div(tasks - block, blocks) * kRounds;
    begin_copy(feature, shared.table);
    Bag next = bag_of(feature, sample_of(block, blocks, 0));
    wait_for_copies();
    __syncthreads();
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      const int sample = sample_of(block, blocks, round);
      const Bag bag = next;
      next = bag_of(feature, sample_of(block, blocks, round + 1));
#pragma unroll 1
      for (int tile = 0; tile < Lanes::kTiles; ++tile) {
        pool_tile(feature, Table{shared.table}, sample, bag, Lanes::column(tile));
      }
    }
  }

 private:
  struct Table {
    const unsigned char* begin;

    // Nothing for kNoRow.
    template <int kVector_>
    __device__ __forceinline__ Stored<K, kVector_> load(int row, int column) const {
      const unsigned char* of_row = begin + row * RowsOf<K>::kBytes;
      return load_if<K, kVector_, FromShared>(row != kNoRow,
                                              {of_row, of_row + bytes_of<K>(column)});
    }
  };

  static __device__ __forceinline__ void begin_copy(const FeatureArguments& feature,
                                                    unsigned char* table) {
    const auto* source = static_cast<const unsigned char*>(feature.table);
    constexpr int kOfWord = sizeof(uint4);
    const int bytes = static_cast<int>(feature.rows) * RowsOf<K>::kBytes;
    const int words = bytes / kOfWord;
#pragma unroll 4
    for (int word = threadIdx.x; word < words; word += kBlockThreads) {
      copy_async(reinterpret_cast<uint4*>(table) + word,
                 reinterpret_cast<const uint4*>(source) + word);
    }
    commit_copies();
    const int rest = words * kOfWord + threadIdx.x;
    if (rest < bytes) table[rest] = source[rest];
  }

  static __device__ __forceinline__ int sample_of(int block, int blocks, int round) {
    const int task = block + round / kRounds * blocks;
    return task * kSamples + round % kRounds * kSide + static_cast<int>(threadIdx.x) / kThreads;
  }

  static __device__ __forceinline__ Bag bag_of(const FeatureArguments& feature, int sample) {
    return sample < feature.batch ? load_bag<K>(feature, sample) : Bag{0, 0};
  }

  static __device__ __forceinline__ void pool_tile(const FeatureArguments& feature,
                                                   const Table& table, int sample, const Bag& bag,
                                                   int column) {
    const int row = static_cast<int>(threadIdx.x) % kThreads / kLanes;
    Accumulator<kVector> total = identity<K, kVector>();
    if (column < K::kDim) {
      pool_rows<K, kVector, kUnroll>(feature, table, bag.begin, row, bag.length, kRows, column,
                                     total);
    }
    combine_lanes<K, kVector, kLanes, kThreads>(total, kFullWarp);
    if (row == 0 && column < K::kDim && sample < feature.batch) {
      store_pooled<K>(feature, sample, column, total, bag.length);
    }
  }
};

}  // namespace gnarl

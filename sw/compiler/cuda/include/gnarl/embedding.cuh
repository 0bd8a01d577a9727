// What every schedule template builds on: kinds of features, their arguments, loads, pooling and
// stores.
//
// A template is a struct with three members (see one_hot.cuh for the shortest):
//
//   struct Shared { ... };   what a block keeps in shared memory; plain data, may be empty
//   static __device__ void run(const FeatureArguments& feature, int block, int blocks, Shared&);
//
// `run` is called by all threads of a block. The blocks 0 .. blocks-1 share the feature's work, and
// any number of them must do all of it: static thread mappings give fewer or more than asked for.
//
// The same source compiles with NVRTC and, for the emulation of a GPU on the CPU, with a host
// compiler.
#pragma once

#include "gnarl/rows.cuh"

// Bytes from a struct's begin to a field, as a constant. NVRTC has __builtin_offsetof since 13.4.
#ifdef __CUDACC_RTC__
#define GNARL_OFFSET(type, field) __INTADDR__(&((type*)0)->field)
#else
#define GNARL_OFFSET(type, field) __builtin_offsetof(type, field)
#endif

namespace gnarl {

// Of indices and offsets: 32 bits where the batch's are, half the bytes.
#ifdef GNARL_INDEX_64
using Index = long long;
#else
using Index = int;
#endif

// The first error of a launch; `state` is 0 until there is one.
struct ErrorRecord {
  int state;
  int feature;
  long long position;  // in the batch's indices
  long long index;     // the index that is out of range
};

// Notes that an index is out of range, if nothing has been noted.
__device__ __forceinline__ void note_error(ErrorRecord* error, int feature, long long position,
                                           long long index) {
  if (atomicCAS(&error->state, 0, 1) == 0) {
    error->feature = feature;
    error->position = position;
    error->index = index;
  }
}

// Where what fused kernels read and write is: the first of their parameters.
struct BatchAddresses {
  const void* const* tables;  // [features]
  const Index* indices;       // [values] of all features, one after the other
  const Index* offsets;       // [features * batch + 1]: sample s of feature f has the indices from
                              // offsets[f * batch + s] up to the next
  const float* weights;       // beside indices, or null
  void* output0;              // buffers [batch, width]
  void* output1;
  void* output2;
  unsigned char* workspace;
  ErrorRecord* error;
};

// One feature of one batch.
struct FeatureArguments {
  const void* table;     // [rows, dim], 16-byte aligned
  const Index* indices;  // [values] of all features
  const Index* offsets;  // [batch + 1]: where each sample's bag begins and ends in indices
  const float* weights;  // beside indices, or null where no feature is weighted
  void* output;          // [batch, dim] with rows output_stride elements apart
  void* workspace;       // as the template asked, 16-byte aligned; zeroes, and left as zeroes
  ErrorRecord* error;    // written by checked builds only
  int rows;
  int batch;
  int output_stride;
  int feature;           // its number, for errors
};

// When a task ran, by its multiprocessor's clock, in cycles; for the tuner.
struct BlockTime {
  unsigned long long begin;
  unsigned long long end;
};

enum class Pooling { kSum, kMean, kMax };

// What a feature's code depends on.
template <class TableType, class OutputType, Pooling kPooling_, bool kWeighted_, int kDim_,
          bool kPruned_ = false>
struct Kind {
  using Table = TableType;
  using Output = OutputType;
  static constexpr Pooling kPooling = kPooling_;
  static constexpr bool kWeighted = kWeighted_;
  static constexpr int kDim = kDim_;
  static constexpr bool kPruned = kPruned_;  // whether index -1 is no row, and no error
};

constexpr unsigned kFullWarp = 0xffffffffu;
constexpr int kWarpThreads = 32;

constexpr __host__ __device__ int ceil_div(int a, int b) { return (a + b - 1) / b; }

constexpr __host__ __device__ int power_of_two_at_least(int number) {
  int power = 1;
  while (power < number) power *= 2;
  return power;
}

// A sample's indices: [begin, begin + length).
struct Bag {
  Index begin;
  int length;
};

template <class K>
__device__ __forceinline__ Bag load_bag(const FeatureArguments& feature, int sample) {
  const Index begin = __ldg(feature.offsets + sample);
  return {begin, static_cast<int>(__ldg(feature.offsets + sample + 1) - begin)};
}

// The number, of which nothing is computed before this point: a column added to the table's address
// ahead of the loop over bags would wait for that address before the first offsets are asked for.
__device__ __forceinline__ int late(int number) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(number));
#endif
  return number;
}

// 0, which compilers do not know. What they know to be the same for all lanes they move to a uniform
// register as soon as it is loaded, and wait for it there: the table's address would come before the
// offsets are asked for.
__device__ __forceinline__ int zero_of_lane() {
  int zero = 0;
#ifdef __CUDA_ARCH__
  asm("{ .reg .u32 lane; mov.u32 lane, %%laneid; shr.u32 %0, lane, 5; }" : "=r"(zero));
#endif
  return zero;
}

// No row: what pools as nothing.
constexpr int kNoRow = -1;

// The row at a position of the indices, kNoRow for -1; in checked builds also where it is out of
// range, after noting that in the error record. Tables have fewer than 2^31 rows, so 32 bits hold
// any.
template <class K>
__device__ __forceinline__ int checked_row(const FeatureArguments& feature, Index position,
                                           Index index) {
#ifdef GNARL_CHECKED
  if (index < 0 || index >= feature.rows) {
    if (K::kPruned && index == kNoRow) return kNoRow;
    note_error(feature.error, feature.feature, position, index);
    return kNoRow;
  }
#endif
  return static_cast<int>(index);
}

template <class K>
__device__ __forceinline__ int load_row(const FeatureArguments& feature, Index position) {
  return checked_row<K>(feature, position, load_once(feature.indices + position));
}

template <class K>
__device__ __forceinline__ float load_weight(const FeatureArguments& feature, Index position) {
  if constexpr (K::kWeighted) {
    return load_once(feature.weights + position);
  }
  return 1.0f;
}

// The weight of a look-up, 0 of a pruned row: its zeroes times an infinite one would be no number.
template <class K>
__device__ __forceinline__ float weight_of_row(int row, float weight) {
  if constexpr (K::kWeighted && K::kPruned) {
    return row == kNoRow ? 0.0f : weight;
  }
  return weight;
}

// kVector consecutive elements of a row, as accumulated: in float32.
template <int kVector>
struct Accumulator {
  float values[kVector];
};

template <class K, int kVector>
__device__ __forceinline__ Accumulator<kVector> identity() {
  Accumulator<kVector> result;
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    result.values[k] = K::kPooling == Pooling::kMax ? minus_infinity<float>() : 0.0f;
  }
  return result;
}

// How the kind's tables store rows.
template <class K>
using RowsOf = Rows<typename K::Table, K::kDim>;

// kVector elements of a table as stored: what a load in flight occupies.
template <class K, int kVector>
using Stored = typename RowsOf<K>::template Vector<kVector>;

// Bytes of so many elements of a row side by side.
template <class K>
constexpr __host__ __device__ int bytes_of(int elements) {
  return elements * RowsOf<K>::kBits / 8;
}

// Where table[row][column] is; nowhere for kNoRow.
template <class K>
__device__ __forceinline__ RowAddress address_of(const FeatureArguments& feature, int row,
                                                 int column) {
  const auto* first_row = static_cast<const unsigned char*>(feature.table);
  return {below<RowsOf<K>::kBytes>(first_row, row),
          below<RowsOf<K>::kBytes>(first_row + bytes_of<K>(column), row)};
}

template <class K, int kVector>
__device__ __forceinline__ Accumulator<kVector> unpack(const Stored<K, kVector>& stored) {
  Accumulator<kVector> result;
#pragma unroll
  for (int k = 0; k < kVector; ++k) result.values[k] = stored.value(k);
  return result;
}

// Pools one more looked-up vector.
template <class K, int kVector>
__device__ __forceinline__ void accumulate(Accumulator<kVector>& total,
                                           const Accumulator<kVector>& value, float weight) {
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    if constexpr (K::kPooling == Pooling::kMax) {
      total.values[k] = fmaxf(total.values[k], value.values[k]);
    } else if constexpr (K::kWeighted) {
      total.values[k] = fmaf(weight, value.values[k], total.values[k]);
    } else {
      total.values[k] += value.values[k];
    }
  }
}

// What is absent is pooled as nothing, not skipped: a predicate that lives from the load to the
// addition would take one of the seven that a thread has, so that the loads of a round of eight rows
// could not all be in flight before the first addition. The weight of what is absent must be finite.
// `beside` is a vector of the same row that is loaded already, if there is one.
template <class K, int kVector, class Memory = FromGlobal>
__device__ __forceinline__ Stored<K, kVector> load_if(bool present, const RowAddress& address,
                                                      const Stored<K, kVector>* beside = nullptr) {
  static_assert(K::kDim % kVector == 0, "vectors must not straddle rows");
  Stored<K, kVector> stored;
  stored.template clear<K::kPooling == Pooling::kMax>();
  Memory::load_pack_if(present, address.vector, stored.elements);
  if constexpr (Stored<K, kVector>::kHasScale) {
    if (beside) {
      stored.scale_and_bias = beside->scale_and_bias;
    } else {
      Memory::load_pack_if(present, address.row + RowsOf<K>::kScale, stored.scale_and_bias);
    }
  }
  return stored;
}

// Loads table[row][column .. column + kVector). The row must not be kNoRow.
template <class K, int kVector>
__device__ __forceinline__ Stored<K, kVector> load_stored(const FeatureArguments& feature, int row,
                                                          int column) {
  return load_if<K, kVector>(true, address_of<K>(feature, row, column));
}

// Pools one round of rows: all loads are in flight before the first is waited for. A thread has
// kChunks vectors of every row, at columns kStride apart from `column` on; those beyond the row and
// those of kNoRow are absent. What totals of columns beyond the row become is undefined.
template <class K, int kVector, int kChunks, int kStride, int kRows>
__device__ __forceinline__ void pool_round(const FeatureArguments& feature,
                                           const int (&rows)[kRows], const float (&weights)[kRows],
                                           int column, Accumulator<kVector> (&totals)[kChunks]) {
  Stored<K, kVector> stored[kRows][kChunks];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    RowAddress address = address_of<K>(feature, rows[r], column);
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const bool present = rows[r] != kNoRow && column + c * kStride < K::kDim;
      stored[r][c] = load_if<K, kVector>(present, address, c ? &stored[r][0] : nullptr);
      address.vector += bytes_of<K>(kStride);
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const float weight = weight_of_row<K>(rows[r], weights[r]);
      accumulate<K>(totals[c], unpack<K, kVector>(stored[r][c]), weight);
    }
  }
}

// Pools what two groups of threads have pooled.
template <class K, int kVector>
__device__ __forceinline__ void combine(Accumulator<kVector>& total,
                                        const Accumulator<kVector>& other) {
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    total.values[k] = K::kPooling == Pooling::kMax ? fmaxf(total.values[k], other.values[k])
                                                   : total.values[k] + other.values[k];
  }
}

// Combines over lanes that differ in the bits of lane numbers from kFrom up to, not with, kTo;
// powers of two. All lanes of the mask take part, and all of them have the result.
template <class K, int kVector, int kFrom, int kTo>
__device__ __forceinline__ void combine_lanes(Accumulator<kVector>& total, unsigned mask) {
#pragma unroll
  for (int distance = kFrom; distance < kTo; distance *= 2) {
    Accumulator<kVector> other;
#pragma unroll
    for (int k = 0; k < kVector; ++k) {
      other.values[k] = __shfl_xor_sync(mask, total.values[k], distance);
    }
    combine<K>(total, other);
  }
}

// Finishes a bag of `length` indices and stores it: output[sample][column ..]. Empty bags are 0.
template <class K, int kVector>
__device__ __forceinline__ void store_pooled(const FeatureArguments& feature, int sample,
                                             int column, Accumulator<kVector> total, int length) {
#pragma unroll
  for (int k = 0; k < kVector; ++k) {
    if constexpr (K::kPooling == Pooling::kMean) {
      total.values[k] = length ? __fdiv_rn(total.values[k], static_cast<float>(length)) : 0.0f;
    } else if constexpr (K::kPooling == Pooling::kMax) {
      total.values[k] = length ? total.values[k] : 0.0f;
    }
  }
  auto* output = static_cast<typename K::Output*>(feature.output);
  store_floats<kVector>(
      output + static_cast<long long>(sample) * feature.output_stride + column, total.values);
}

}  // namespace gnarl

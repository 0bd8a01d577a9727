// What templates whose workers are warps build on: kinds of features whose rows have any dimension,
// how bags lie on the lanes of a warp, loads, combination and stores.
//
// A template is a struct with one member, called by all lanes of a warp, which does all of the task:
//
//   static __device__ void run(const WarpTask& task);
#pragma once

#include "gnarl/partials.cuh"
#include "gnarl/warp_tasks.cuh"

namespace gnarl {

// Types of outputs, each a bit of a set of them. Mirrored by OUTPUT_TYPES in warp_fusion.py.
enum OutputTypes { kFloatOutputs = 1, kFloat16Outputs = 2, kBFloat16Outputs = 4 };

// What a feature's code depends on: not its dimension, and of output types and means no more than
// which of them the model has; kPooling_ is kMax, or kSum, which may be a mean. Where a model has but
// one type nothing is asked at run time.
template <class TableType, int kOutputs_, Pooling kPooling_, bool kHasMeans_, bool kWeighted_,
          bool kPruned_ = false>
struct BagKind {
  using Table = TableType;
  static constexpr int kOutputs = kOutputs_;
  static constexpr Pooling kPooling = kPooling_;
  static constexpr bool kHasMeans = kHasMeans_;
  static constexpr bool kWeighted = kWeighted_;
  static constexpr bool kPruned = kPruned_;
  // For Rows<Table, kDim>::Vector, which does not depend on it.
  static constexpr int kDim = 16;
#ifdef GNARL_CHECKED
  static constexpr bool kMayLack = true;  // whether an index may be of no row
#else
  static constexpr bool kMayLack = kPruned;
#endif
};

constexpr int kWarpLog2 = 5;

// What a lane has of each row: kVector elements from `column` on. Lanes of one row lie side by side,
// a power of two of them, then the rows of one bag, then bags. Lanes behind a row's end do what
// its last does, and store nothing.
struct LanePlace {
  int lane;
  int lanes;   // log2 of those of a row
  int aside;   // log2 of a bag's rows side by side
  int column;

  // A slice of a row is as long as a warp's lanes have room for.
  template <int kVector>
  static __device__ __forceinline__ LanePlace of(const WarpTask& task) {
    const int lane = lane_number();
    const int lanes = task.feature.lanes;
    const int aside = min(task.feature.rows_aside + task.spread, kWarpLog2 - lanes);
    const int vector = task.slice * kWarpThreads + (lane & ((1 << lanes) - 1));
    return {lane, lanes, aside, vector * kVector};
  }

  // Side by side.
  __device__ __forceinline__ int bags() const { return kWarpThreads >> (lanes + aside); }

  __device__ __forceinline__ int bag() const { return lane >> (lanes + aside); }

  // Among the rows of its bag that are side by side.
  __device__ __forceinline__ int row() const { return (lane >> lanes) & ((1 << aside) - 1); }
};

// A lane's elements of rows of one table.
template <class K, int kVector>
struct LaneRows {
  using Loaded = Stored<K, kVector>;

  const unsigned char* vectors;  // of row 0
  int row_bytes;
  int to_scale;  // from a vector to the row's scale and bias

  __device__ __forceinline__ LaneRows(const WarpTask& task, int column)
      : vectors(task.table + bytes_of<K>(column)),
        row_bytes(task.feature.row_bytes),
        to_scale(task.feature.scale - bytes_of<K>(column)) {}

  __device__ __forceinline__ const unsigned char* address(int row) const {
    return further(vectors, row, row_bytes);
  }

  // Nothing unless it is present.
  __device__ __forceinline__ Loaded load_if_present(bool present, int row) const {
    Loaded loaded;
    loaded.template clear<K::kPooling == Pooling::kMax>();
    if (K::kMayLack) present = present && row != kNoRow;
    const unsigned char* const found = address(row);
    FromGlobal::load_pack_if(present, found, loaded.elements);
    if constexpr (Loaded::kHasScale) {
      FromGlobal::load_pack_if(present, found + to_scale, loaded.scale_and_bias);
    }
    return loaded;
  }

  // The row must not be kNoRow, unless the kind may lack rows.
  __device__ __forceinline__ Loaded load(int row) const {
    if constexpr (K::kMayLack) return load_if_present(true, row);
    Loaded loaded;
    const unsigned char* const found = address(row);
    FromGlobal::load_pack(found, loaded.elements);
    if constexpr (Loaded::kHasScale) FromGlobal::load_pack(found + to_scale, loaded.scale_and_bias);
    return loaded;
  }
};

template <class K>
__device__ __forceinline__ float combined(float one, float other) {
  return K::kPooling == Pooling::kMax ? fmaxf(one, other) : one + other;
}

// Outputs of a kind, by their addresses.
template <class K>
struct Outputs {
  static __device__ __forceinline__ bool has(const WarpFeature& feature, OutputTypes type) {
    return K::kOutputs == type || ((K::kOutputs & type) != 0 && feature.output_type == type);
  }

  // So many elements behind an address.
  static __device__ __forceinline__ unsigned char* further_on(const WarpFeature& feature,
                                                              unsigned char* output, int count) {
    const int bytes = has(feature, kFloatOutputs) ? 4 : 2;
    return const_cast<unsigned char*>(
        further(static_cast<const unsigned char*>(output), count, bytes));
  }

  static __device__ __forceinline__ unsigned char* of_sample(const WarpTask& task, int sample) {
    const int bytes = task.feature.output_stride * (has(task.feature, kFloatOutputs) ? 4 : 2);
    const auto* const first = static_cast<const unsigned char*>(task.output);
    return const_cast<unsigned char*>(further(first, sample, bytes));
  }

  // Finishes a bag of `length` indices and stores it from `output` on. Empty bags are 0.
  template <int kHeld>
  static __device__ __forceinline__ void store(const WarpFeature& feature, unsigned char* output,
                                               const float (&values)[kHeld], int length) {
    float finished[kHeld];
#pragma unroll
    for (int k = 0; k < kHeld; ++k) finished[k] = values[k];
    if constexpr (K::kPooling == Pooling::kMax) {
#pragma unroll
      for (int k = 0; k < kHeld; ++k) finished[k] = length ? values[k] : 0.0f;
    } else if (K::kHasMeans && feature.is_mean) {
#pragma unroll
      for (int k = 0; k < kHeld; ++k) {
        finished[k] = length ? __fdiv_rn(values[k], static_cast<float>(length)) : 0.0f;
      }
    }
    if (has(feature, kFloatOutputs)) {
      store_floats<kHeld>(reinterpret_cast<float*>(output), finished);
    } else if (has(feature, kFloat16Outputs)) {
      store_floats<kHeld>(reinterpret_cast<Float16*>(output), finished);
    } else {
      store_floats<kHeld>(reinterpret_cast<BFloat16*>(output), finished);
    }
  }
};

// Combines what the rows of each bag that lie side by side have pooled, and stores it. As they
// combine, rows share a bag's elements among them, so that the last have one or two each.
template <class K, int kVector>
struct BagEnd {
  const WarpTask& task;
  const LanePlace& place;

  // `output`: where those of the lane's sample begin, if there is one, of `length` indices.
  __device__ __forceinline__ void finish(unsigned char* output, bool is_sample, int length,
                                         const float (&values)[kVector]) const {
    const int columns = is_sample ? task.feature.dim : 0;
    share<kVector>(values, (1u << (place.lanes + place.aside)) >> 1, place.column,
                   {output, columns, length});
  }

 private:
  struct Target {
    unsigned char* output;
    int columns;
    int length;
  };

  template <int kHeld>
  __device__ __forceinline__ void store(const float (&values)[kHeld], int column,
                                        const Target& target) const {
    if (column >= target.columns) return;
    unsigned char* const own = Outputs<K>::further_on(task.feature, target.output, column);
    Outputs<K>::template store<kHeld>(task.feature, own, values, target.length);
  }

  // Rows that differ in the bit of lane numbers `mask`, or in lower ones, are to be combined.
  template <int kHeld>
  __device__ __forceinline__ void share(const float (&values)[kHeld], unsigned mask, int column,
                                        const Target& target) const {
    const unsigned last = 1u << place.lanes;
    if (mask < last) return store<kHeld>(values, column, target);
    if constexpr (kHeld == 1) {
      const int others = static_cast<int>(2 * mask - last);
      float value = values[0];
#pragma unroll 1
      for (; mask >= last; mask >>= 1) {
        value = combined<K>(value, __shfl_xor_sync(kFullWarp, value, static_cast<int>(mask)));
      }
      const float result[1] = {value};
      if ((place.lane & others) == 0) store<1>(result, column, target);
    } else {
      const bool is_upper = (place.lane & static_cast<int>(mask)) != 0;
      float kept[kHeld / 2];
#pragma unroll
      for (int k = 0; k < kHeld / 2; ++k) {
        const float low = values[k];
        const float high = values[k + kHeld / 2];
        const float given = is_upper ? low : high;
        const float other = __shfl_xor_sync(kFullWarp, given, static_cast<int>(mask));
        kept[k] = combined<K>(is_upper ? high : low, other);
      }
      share<kHeld / 2>(kept, mask >> 1, is_upper ? column + kHeld / 2 : column, target);
    }
  }
};

// The row that a position of the batch's indices has; see checked_row in embedding.cuh.
template <class K>
__device__ __forceinline__ int checked_row_at(const WarpTask& task, const Index* at, Index index) {
#ifdef GNARL_CHECKED
  if (index < 0 || index >= task.feature.rows) {
    if (K::kPruned && index == kNoRow) return kNoRow;
    note_error(task.error, task.feature.feature, at - task.indices, index);
    return kNoRow;
  }
#endif
  return static_cast<int>(index);
}

// A look-up's row and weight.
struct LookUp {
  int row;
  float weight;
};

template <class K>
__device__ __forceinline__ LookUp look_up(const WarpTask& task, const Index* at) {
  LookUp found{checked_row_at<K>(task, at, load_once(at)), 1.0f};
  if constexpr (K::kWeighted) found.weight = load_once(task.weights + (at - task.indices));
  found.weight = weight_of_row<K>(found.row, found.weight);
  return found;
}

// Any row, and a weight of 0, where there is none.
template <class K>
__device__ __forceinline__ LookUp look_up_if(bool present, const WarpTask& task, const Index* at) {
  Index index = 0;
  load_once_if(present, at, index);
  LookUp found{static_cast<int>(index), 0.0f};
  if (present) found.row = checked_row_at<K>(task, at, index);
  if constexpr (K::kWeighted) {
    load_once_if(present, task.weights + (at - task.indices), found.weight);
    found.weight = weight_of_row<K>(found.row, found.weight);
  }
  return found;
}

}  // namespace gnarl

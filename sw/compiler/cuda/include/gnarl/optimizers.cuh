// What is done with the gradient of a row: it is stored, or an optimizer's step is taken.
//
// An optimizer is a struct with the number of states that it keeps of a table, kStates, and a
// function that all lanes of a team call:
//
//   template <class C, class Row>
//   static __device__ void step(const LaneTeam<C::kLanes>& team, const Row& row,
//                               const RowVectors<C>& gradient, const float* learning_rate);
//
// A Row is a RowOfTable<C>, or derives from it and loads or stores elements otherwise.
//
// Arithmetic is in float32, every operation rounded once and the order of all of them fixed.
#pragma once

#include "gnarl/lookup_gradients.cuh"

namespace gnarl {

// Tables whose rows are handled alike: elements of kVector go to each of kLanes lanes in turn, at
// most kChunks times. They are the tables [kBegin, kEnd) in the order of keys.
template <class TableType, int kVector_, int kLanes_, int kChunks_, int kBegin_, int kEnd_>
struct TableClass {
  using Table = TableType;
  static constexpr int kVector = kVector_;
  static constexpr int kLanes = kLanes_;
  static constexpr int kChunks = kChunks_;
  static constexpr int kBegin = kBegin_;
  static constexpr int kEnd = kEnd_;
};

// A lane's part of a row.
template <class C>
struct RowVectors {
  float values[C::kChunks][C::kVector];
};

// Calls function(chunk, column) for each vector that a lane has of a row.
template <class C, class Function>
__device__ __forceinline__ void for_vectors(int lane, int dim, const Function& function) {
#pragma unroll
  for (int chunk = 0; chunk < C::kChunks; ++chunk) {
    const int column = (chunk * C::kLanes + lane) * C::kVector;
    if (column < dim) function(chunk, column);
  }
}

// Elements that the kernel itself may have written.
template <int kVector, class T>
__device__ __forceinline__ Accumulator<kVector> load_floats(const T* source) {
  using Vector = Pack<T, kVector>;
  Vector pack;
  pack.word = *reinterpret_cast<const decltype(pack.word)*>(source);
  Accumulator<kVector> found;
#pragma unroll
  for (int k = 0; k < kVector; ++k) found.values[k] = to_float(pack.elements[k]);
  return found;
}

// Where a row and its table's state are.
template <class C>
struct RowOfTable {
  using Table = typename C::Table;

  Table* elements;
  float* const* states;  // where each state of the table begins
  long long number;
  int dim;
  int table;  // in the order of keys

  __device__ __forceinline__ Accumulator<C::kVector> load(int column) const {
    return load_floats<C::kVector>(elements + column);
  }

  __device__ __forceinline__ void store(int column, const float (&values)[C::kVector]) const {
    store_floats(elements + column, values);
  }
};

// No optimizer: the gradient in place of the row.
struct StoreGradient {
  static constexpr int kStates = 0;

  template <class C, class Row>
  static __device__ __forceinline__ void step(const LaneTeam<C::kLanes>& team,
                                              const Row& row,
                                              const RowVectors<C>& gradient, const float*) {
    for_vectors<C>(team.lane, row.dim, [&](int chunk, int column) {
      row.store(column, gradient.values[chunk]);
    });
  }
};

// row -= rate * gradient.
template <class C, class Row>
__device__ __forceinline__ void descend(int lane, const Row& row, const RowVectors<C>& gradient,
                                        float rate) {
  for_vectors<C>(lane, row.dim, [&](int chunk, int column) {
    auto next = row.load(column);
#pragma unroll
    for (int k = 0; k < C::kVector; ++k) {
      next.values[k] = fmaf(-rate, gradient.values[chunk][k], next.values[k]);
    }
    row.store(column, next.values);
  });
}

// row -= learning_rate * gradient.
struct Sgd {
  static constexpr int kStates = 0;

  template <class C, class Row>
  static __device__ __forceinline__ void step(const LaneTeam<C::kLanes>& team,
                                              const Row& row,
                                              const RowVectors<C>& gradient,
                                              const float* learning_rate) {
    descend(team.lane, row, gradient, __ldg(learning_rate));
  }
};

// state += gradient^2; row -= learning_rate * gradient / (sqrt(state) + eps). State: [rows, dim].
template <class Eps>
struct Adagrad {
  static constexpr int kStates = 1;

  template <class C, class Row>
  static __device__ __forceinline__ void step(const LaneTeam<C::kLanes>& team,
                                              const Row& row,
                                              const RowVectors<C>& gradient,
                                              const float* learning_rate) {
    const float rate = __ldg(learning_rate);
    float* states = row.states[0] + row.number * row.dim;
    for_vectors<C>(team.lane, row.dim, [&](int chunk, int column) {
      auto next = row.load(column);
      auto state = load_floats<C::kVector>(states + column);
#pragma unroll
      for (int k = 0; k < C::kVector; ++k) {
        const float value = gradient.values[chunk][k];
        state.values[k] = __fadd_rn(state.values[k], __fmul_rn(value, value));
        const float divisor = __fadd_rn(__fsqrt_rn(state.values[k]), Eps::kValue);
        next.values[k] =
            __fadd_rn(next.values[k], __fmul_rn(-rate, __fdiv_rn(value, divisor)));
      }
      store_floats(states + column, state.values);
      row.store(column, next.values);
    });
  }
};

// The sum of gradient^2, in all lanes.
template <class C>
__device__ __forceinline__ float sum_of_squares(const LaneTeam<C::kLanes>& team,
                                                const RowOfTable<C>& row,
                                                const RowVectors<C>& gradient) {
  float squares = 0.0f;
  for_vectors<C>(team.lane, row.dim, [&](int chunk, int) {
#pragma unroll
    for (int k = 0; k < C::kVector; ++k) {
      squares = fmaf(gradient.values[chunk][k], gradient.values[chunk][k], squares);
    }
  });
  return team.sum(squares);
}

// state += mean of gradient^2; row -= learning_rate / (sqrt(state) + eps) * gradient. State:
// [rows].
template <class Eps>
struct RowWiseAdagrad {
  static constexpr int kStates = 1;

  template <class C, class Row>
  static __device__ __forceinline__ void step(const LaneTeam<C::kLanes>& team,
                                              const Row& row,
                                              const RowVectors<C>& gradient,
                                              const float* learning_rate) {
    const float squares = sum_of_squares(team, row, gradient);
    float state = 0.0f;
    if (team.lane == 0) {
      float* own = row.states[0] + row.number;
      state = __fadd_rn(*own, __fdiv_rn(squares, static_cast<float>(row.dim)));
      *own = state;
    }
    state = __shfl_sync(team.mask, state, 0, C::kLanes);
    const float divisor = __fadd_rn(__fsqrt_rn(state), Eps::kValue);
    descend(team.lane, row, gradient, __fdiv_rn(__ldg(learning_rate), divisor));
  }
};

}  // namespace gnarl

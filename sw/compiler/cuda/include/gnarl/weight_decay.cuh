// Weight decay around another optimizer. `Decay` has kValue; the first of the numbers that optimizers
// are given is the learning rate.
#pragma once

#include "gnarl/optimizers.cuh"

namespace gnarl {

// gradient += decay * row, before all else.
template <class Optimizer, class Decay>
struct WithL2 {
  static constexpr int kStates = Optimizer::kStates;

  template <class C, class Row>
  static __device__ __forceinline__ void step(const LaneTeam<C::kLanes>& team, const Row& row,
                                              const RowVectors<C>& gradient,
                                              const float* numbers) {
    RowVectors<C> decayed;
    for_vectors<C>(team.lane, row.dim, [&](int chunk, int column) {
      const auto own = row.load(column);
#pragma unroll
      for (int k = 0; k < C::kVector; ++k) {
        decayed.values[chunk][k] =
            __fadd_rn(gradient.values[chunk][k], __fmul_rn(Decay::kValue, own.values[k]));
      }
    });
    Optimizer::template step<C>(team, row, decayed, numbers);
  }
};

// A row whose elements are loaded times `factor`.
template <class Row>
struct ShrunkRow : Row {
  float factor;

  __device__ __forceinline__ auto load(int column) const {
    auto found = Row::load(column);
    for (float& value : found.values) value = __fmul_rn(factor, value);
    return found;
  }
};

// row *= 1 - learning_rate * decay, before the step, with no rounding to the table's type between.
template <class Optimizer, class Decay>
struct WithDecoupledDecay {
  static constexpr int kStates = Optimizer::kStates;

  template <class C, class Row>
  static __device__ __forceinline__ void step(const LaneTeam<C::kLanes>& team, const Row& row,
                                              const RowVectors<C>& gradient,
                                              const float* numbers) {
    const float factor = __fsub_rn(1.0f, __fmul_rn(__ldg(numbers), Decay::kValue));
    Optimizer::template step<C>(team, ShrunkRow<Row>{row, factor}, gradient, numbers);
  }
};

}  // namespace gnarl

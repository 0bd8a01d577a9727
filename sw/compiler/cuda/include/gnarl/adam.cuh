// Adam's steps, as optimizers.cuh has those of others. In place of the learning rate alone they are
// given three numbers: it, and 1 - beta^iteration for either beta.
//
// A trait `Adam` has kBeta1, kBeta2, kRest1 and kRest2, which are 1 less beta, and kEps.
#pragma once

#include "gnarl/optimizers.cuh"

namespace gnarl {

// A moment, moved to `value` by `rest`: beta * moment + rest * value.
__device__ __forceinline__ float moved(float moment, float value, float beta, float rest) {
  return __fadd_rn(__fmul_rn(beta, moment), __fmul_rn(rest, value));
}

// Moves the first moment of a row and takes the step. `divisor(chunk, column)`: of each element of
// a vector.
template <class Adam, class C, class Row, class Divisor>
__device__ __forceinline__ void descend_by_moment(int lane, const Row& row,
                                                  const RowVectors<C>& gradient,
                                                  const float* numbers, const Divisor& divisor) {
  const float rate = __ldg(numbers), correction = __ldg(numbers + 1);
  float* moments = row.states[0] + row.number * row.dim;
  for_vectors<C>(lane, row.dim, [&](int chunk, int column) {
    auto next = row.load(column);
    auto moment = load_floats<C::kVector>(moments + column);
    const auto divisors = divisor(chunk, column);
#pragma unroll
    for (int k = 0; k < C::kVector; ++k) {
      float& own = moment.values[k];
      own = moved(own, gradient.values[chunk][k], Adam::kBeta1, Adam::kRest1);
      const float step = __fdiv_rn(__fdiv_rn(own, correction), divisors.values[k]);
      next.values[k] = __fadd_rn(next.values[k], __fmul_rn(-rate, step));
    }
    store_floats(moments + column, moment.values);
    row.store(column, next.values);
  });
}

// What a first moment is divided by, of a second one.
template <class Adam>
__device__ __forceinline__ float moment_divisor(float second, const float* numbers) {
  return __fadd_rn(__fsqrt_rn(__fdiv_rn(second, __ldg(numbers + 2))), Adam::kEps);
}

// Both moments of each element. States: [rows, dim] each.
template <class Adam>
struct ElementWiseAdam {
  static constexpr int kStates = 2;

  template <class C, class Row>
  static __device__ __forceinline__ void step(const LaneTeam<C::kLanes>& team,
                                              const Row& row,
                                              const RowVectors<C>& gradient,
                                              const float* numbers) {
    float* seconds = row.states[1] + row.number * row.dim;
    descend_by_moment<Adam>(team.lane, row, gradient, numbers, [&](int chunk, int column) {
      auto second = load_floats<C::kVector>(seconds + column);
      auto divisors = second;
#pragma unroll
      for (int k = 0; k < C::kVector; ++k) {
        const float value = gradient.values[chunk][k];
        float& own = second.values[k];
        own = moved(own, __fmul_rn(value, value), Adam::kBeta2, Adam::kRest2);
        divisors.values[k] = moment_divisor<Adam>(own, numbers);
      }
      store_floats(seconds + column, second.values);
      return divisors;
    });
  }
};

// The second moment is that of a row's mean of gradient^2. States: [rows, dim]; [rows].
template <class Adam>
struct PartialRowWiseAdam {
  static constexpr int kStates = 2;

  template <class C, class Row>
  static __device__ __forceinline__ void step(const LaneTeam<C::kLanes>& team,
                                              const Row& row,
                                              const RowVectors<C>& gradient,
                                              const float* numbers) {
    const float squares = sum_of_squares(team, row, gradient);
    float second = 0.0f;
    if (team.lane == 0) {
      float* own = row.states[1] + row.number;
      const float mean = __fdiv_rn(squares, static_cast<float>(row.dim));
      second = moved(*own, mean, Adam::kBeta2, Adam::kRest2);
      *own = second;
    }
    second = __shfl_sync(team.mask, second, 0, C::kLanes);
    Accumulator<C::kVector> divisors;
#pragma unroll
    for (int k = 0; k < C::kVector; ++k) divisors.values[k] = moment_divisor<Adam>(second, numbers);
    descend_by_moment<Adam>(team.lane, row, gradient, numbers,
                            [&](int, int) { return divisors; });
  }
};

}  // namespace gnarl

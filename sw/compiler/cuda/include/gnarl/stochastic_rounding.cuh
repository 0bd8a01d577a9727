// Stochastic rounding to float16 around an optimizer: up or down, each the likelier the nearer it is.
//
// Random words are those of the counter-based generator Philox4x32-10 (Salmon et al., "Parallel
// Random Numbers: As Easy as 1, 2, 3", SC 2011). Its key is the seed; its counter is where the four
// elements are that share its words, their table and the iteration.
#pragma once

#include "gnarl/optimizers.cuh"

namespace gnarl {

struct RandomWords {
  unsigned words[4];

  // One of the four, without an index into registers.
  __device__ __forceinline__ unsigned pick(unsigned place) const {
    return place & 2 ? (place & 1 ? words[3] : words[2]) : (place & 1 ? words[1] : words[0]);
  }
};

__device__ __forceinline__ RandomWords philox(RandomWords counter, unsigned key0, unsigned key1) {
  unsigned(&words)[4] = counter.words;
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned long long first = 0xd2511f53ull * words[0], second = 0xcd9e8d57ull * words[2];
    words[0] = static_cast<unsigned>(second >> 32) ^ words[1] ^ key0;
    words[1] = static_cast<unsigned>(second);
    words[2] = static_cast<unsigned>(first >> 32) ^ words[3] ^ key1;
    words[3] = static_cast<unsigned>(first);
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  return counter;
}

// What lies beyond the greatest float16, and NaN, is rounded to nearest.
__device__ __forceinline__ Float16 round_stochastically(float value, unsigned random) {
  const unsigned bits = __float_as_uint(value), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x477fe000u) return from_float<Float16>(value);
  unsigned rounded;
  if (magnitude < 0x38800000u) {  // below 2^-14: to multiples of 2^-24
    const float scaled = __fmul_rn(__uint_as_float(magnitude), 0x1p24f);
    rounded = static_cast<unsigned>(scaled);
    const float rest = __fsub_rn(scaled, static_cast<float>(rounded));
    rounded += __fmul_rn(static_cast<float>(random >> 8), 0x1p-24f) < rest;
  } else {
    rounded = (magnitude - 0x38000000u + (random >> 19)) >> 13;
  }
  return {static_cast<unsigned short>((bits >> 16 & 0x8000u) | rounded)};
}

template <class T>
constexpr bool kIsFloat16 = false;
template <>
constexpr bool kIsFloat16<Float16> = true;

// A row whose elements are stored with stochastic rounding if they are float16. `Tables` has
// number(table): what the counter has for a table.
template <class Row, class Tables>
struct StochasticRow : Row {
  const float* numbers;

  template <int kVector>
  __device__ __forceinline__ void store(int column, const float (&values)[kVector]) const {
    if constexpr (kIsFloat16<typename Row::Table>) {
      const auto* words = reinterpret_cast<const unsigned*>(numbers + 3);
      const unsigned long long at = this->number * this->dim + column, four = at / 4;
      const RandomWords counter = {{static_cast<unsigned>(four), static_cast<unsigned>(four >> 32),
                                    Tables::number(this->table), __ldg(words)}};
      const RandomWords random = philox(counter, __ldg(words + 1), __ldg(words + 2));
      const unsigned first = kVector == 4 ? 0 : at % 4;
      float rounded[kVector];
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        rounded[k] = to_float(round_stochastically(values[k], random.pick(first + k)));
      }
      Row::store(column, rounded);
    } else {
      Row::store(column, values);
    }
  }
};

// The numbers are: the learning rate; two that Adam has; as words, the iteration and the two halves
// of the seed.
template <class Optimizer, class Tables>
struct WithStochasticRounding {
  static constexpr int kStates = Optimizer::kStates;

  template <class C, class Row>
  static __device__ __forceinline__ void step(const LaneTeam<C::kLanes>& team, const Row& row,
                                              const RowVectors<C>& gradient,
                                              const float* numbers) {
    Optimizer::template step<C>(team, StochasticRow<Row, Tables>{row, numbers}, gradient, numbers);
  }
};

}  // namespace gnarl

// Bags that several blocks share: each leaves its partial in the workspace, and the last of them
// pools the partials. No block waits for another.
#pragma once

#include "gnarl/embedding.cuh"

namespace gnarl {

constexpr __host__ __device__ int round_up(int number, int multiple) {
  return ceil_div(number, multiple) * multiple;
}

// The widest word of kVector floats.
template <int kVector>
using FloatWord = typename Word<(kVector < 4 ? kVector : 4) * 4>::Type;

template <int kVector>
union FloatWords {
  FloatWord<kVector> words[kVector < 4 ? 1 : kVector / 4];
  Accumulator<kVector> total;
};

template <int kVector>
__device__ __forceinline__ void store_partial(float* target, const Accumulator<kVector>& total) {
  FloatWords<kVector> pack;
  pack.total = total;
  auto* words = reinterpret_cast<FloatWord<kVector>*>(target);
#pragma unroll
  for (int w = 0; w < static_cast<int>(sizeof(pack.words) / sizeof(pack.words[0])); ++w) {
    __stcg(words + w, pack.words[w]);
  }
}

template <int kVector>
__device__ __forceinline__ Accumulator<kVector> load_partial(const float* source) {
  FloatWords<kVector> pack;
  const auto* words = reinterpret_cast<const FloatWord<kVector>*>(source);
#pragma unroll
  for (int w = 0; w < static_cast<int>(sizeof(pack.words) / sizeof(pack.words[0])); ++w) {
    pack.words[w] = __ldcg(words + w);
  }
  return pack.total;
}

// Takes a partial out of the workspace, which is left as zeroes. Another block may have written
// it, so it is read past the multiprocessor's own cache.
template <int kVector>
__device__ __forceinline__ Accumulator<kVector> take_partial(float* source) {
  FloatWords<kVector> pack;
  auto* words = reinterpret_cast<FloatWord<kVector>*>(source);
#pragma unroll
  for (int w = 0; w < static_cast<int>(sizeof(pack.words) / sizeof(pack.words[0])); ++w) {
    pack.words[w] = __ldcg(words + w);
    __stcg(words + w, FloatWord<kVector>{});
  }
  return pack.total;
}

// Called by all threads of a block when its partial is stored: whether all `expected` blocks have
// come to `counter`, so that this one has to finish. The last one leaves the counter zero.
__device__ __forceinline__ bool arrives_last(int* counter, int expected, int& shared_answer) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    const bool last = atomicAdd(counter, 1) == expected - 1;
    if (last) *counter = 0;
    shared_answer = last;
  }
  __syncthreads();
  const bool last = shared_answer != 0;
  if (last) __threadfence();
  return last;
}

}  // namespace gnarl

// The thread mapping of a fused kernel: which block works on which feature.
#pragma once

#include "gnarl/embedding.cuh"

namespace gnarl {

// The blocks that a feature's schedule wants: ceil(units * numerator / denominator), at least 1.
// Mirrored by BlockCount in sw/compiler/cuda/templates/template.py.
struct BlockCount {
  int per_value;  // units are the batch's indices, not its samples
  int numerator;
  int denominator;
};

// What a block has to do: its feature, and which of the feature's blocks it is.
struct Task {
  int feature;
  int block;
};

// When a block ran, by the device's clock, in nanoseconds; for the tuner.
struct BlockTime {
  unsigned long long begin;
  unsigned long long end;
};

__device__ __forceinline__ unsigned long long device_clock() {
#ifdef GNARL_EMULATION
  return gnarl_emulation_globaltimer();
#else
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
#endif
}

// Notes when its block began and ended, in timed builds; elsewhere it is nothing.
class BlockTimer {
 public:
#ifdef GNARL_BLOCK_TIMES
  __device__ __forceinline__ BlockTimer(BlockTime*) : begin_(device_clock()) {}

  __device__ __forceinline__ void stop(BlockTime* times) const {
    __syncthreads();
    if (threadIdx.x == 0) times[blockIdx.x] = {begin_, device_clock()};
  }

 private:
  unsigned long long begin_;
#else
  __device__ __forceinline__ BlockTimer(BlockTime*) {}
  __device__ __forceinline__ void stop(BlockTime*) const {}
#endif
};

}  // namespace gnarl

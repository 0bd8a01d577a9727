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

// When a block ran, by its multiprocessor's clock, in cycles; for the tuner.
struct BlockTime {
  unsigned long long begin;
  unsigned long long end;
};

__device__ __forceinline__ unsigned long long device_clock() {
  return static_cast<unsigned long long>(clock64());
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

template <int kBlockThreads>
struct TaskMapShared {
  int ends[kBlockThreads];  // of this block's features: their tasks and those before, added up
  int begin;                // tasks of the features of blocks before this one
};

__device__ __forceinline__ int wanted_blocks(const BlockCount& count,
                                             const FeatureArguments& feature) {
  const long long units = count.per_value ? feature.values : feature.batch;
  const long long blocks = (units * count.numerator + count.denominator - 1) / count.denominator;
  return blocks > 1 ? static_cast<int>(blocks) : 1;
}

// The thread mapping, made on the device: the same tasks as the host's in contiguous order.
// ceil(features / kBlockThreads) blocks have kBlockThreads features each. Every block adds up by
// itself how many tasks are before its own, so that none waits for another.
template <int kBlockThreads>
__device__ __forceinline__ void map_tasks(const BlockCount* counts,
                                          const FeatureArguments* arguments, int features,
                                          Task* tasks, int* feature_blocks,
                                          TaskMapShared<kBlockThreads>& shared) {
  const int thread = threadIdx.x;
  const int first = blockIdx.x * kBlockThreads;
  if (thread == 0) shared.begin = 0;
  __syncthreads();
  int before = 0;
  for (int f = thread; f < first; f += kBlockThreads) {
    before += wanted_blocks(counts[f], arguments[f]);
  }
  atomicAdd(&shared.begin, before);
  int end = 0;
  if (first + thread < features) {
    end = wanted_blocks(counts[first + thread], arguments[first + thread]);
    feature_blocks[first + thread] = end;
  }
  shared.ends[thread] = end;
  __syncthreads();
  for (int distance = 1; distance < kBlockThreads; distance *= 2) {
    const int other = thread >= distance ? shared.ends[thread - distance] : 0;
    __syncthreads();
    end += other;
    shared.ends[thread] = end;
    __syncthreads();
  }
  const int total = shared.ends[kBlockThreads - 1];
  for (int task = thread; task < total; task += kBlockThreads) {
    int low = 0;  // the first feature that ends behind the task is from low to high
    int high = kBlockThreads - 1;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (shared.ends[middle] > task) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    tasks[shared.begin + task] = {first + low, task - (low > 0 ? shared.ends[low - 1] : 0)};
  }
}

}  // namespace gnarl

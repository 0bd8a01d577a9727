// The thread mapping of a fused kernel, made on the device: which task is what part of which feature.
#pragma once

#include "gnarl/embedding.cuh"

namespace gnarl {

// What a feature's schedule wants for a batch: ceil(units * numerator / denominator) blocks, at
// least 1; and of workspace, workspace_bytes for each workspace_units units or part of them. Units
// are the batch's samples, or the feature's indices ("values").
// Mirrored by BlockCount and Workspace in sw/compiler/cuda/templates/template.py.
struct Demand {
  int per_value;
  int numerator;
  int denominator;
  int workspace_per_value;
  int workspace_units;
  int workspace_bytes;
};

// What there is to do: a feature, and which of its blocks.
struct alignas(8) Task {
  int feature;
  int block;
};

// What a feature is given: blocks, and room from this byte of the workspace on.
struct alignas(16) Share {
  long long workspace;
  int blocks;
  int reserved;
};

// How far a launch is. Followed by an int for each queue: how many of its tasks were taken. These and
// `ended` are zeroes, and left as zeroes.
struct QueueState {
  int count;      // tasks
  int per_queue;  // besides those that blocks begin with, rounded up
  int ended;      // blocks
  int reserved;
};

// Of the places in the workspace, bytes.
constexpr int kWorkspaceAlignment = 256;

template <int kBlockThreads>
struct TaskMapShared {
  long long workspace_ends[kBlockThreads];  // as ends, of room in the workspace
  int ends[kBlockThreads];  // of this block's features: their tasks and those before, added up
  unsigned long long workspace_begin;  // of the features of blocks before this one
  int begin;                           // tasks of those
};

struct Wanted {
  long long workspace;
  int blocks;
};

__device__ __forceinline__ Wanted wanted(const Demand& demand, const Index* offsets, int batch,
                                         int feature) {
  long long values = 0;
  if (demand.per_value || demand.workspace_per_value) {
    const Index* const begin = offsets + static_cast<long long>(feature) * batch;
    values = __ldg(begin + batch) - __ldg(begin);
  }
  const long long units = demand.per_value ? values : batch;
  const long long blocks =
      (units * demand.numerator + demand.denominator - 1) / demand.denominator;
  const long long of_workspace = demand.workspace_per_value ? values : batch;
  const long long pieces =
      (of_workspace + demand.workspace_units - 1) / demand.workspace_units;
  const long long bytes = max(pieces, 1LL) * demand.workspace_bytes;
  return {(bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment,
          blocks > 1 ? static_cast<int>(blocks) : 1};
}

// The same tasks as the host's in contiguous order. ceil(features / kBlockThreads) blocks have
// kBlockThreads features each. Every block adds up by itself what is before its own, so that none
// waits for another. `blocks`, `queues`: of the launch that is mapped.
template <int kBlockThreads>
__device__ __forceinline__ void map_tasks(const Demand* demands, const Index* offsets, int batch,
                                          int features, int blocks, int queues, Task* tasks,
                                          Share* shares, QueueState* state,
                                          TaskMapShared<kBlockThreads>& shared) {
  const int thread = threadIdx.x;
  const int first = blockIdx.x * kBlockThreads;
  if (thread == 0) {
    shared.begin = 0;
    shared.workspace_begin = 0;
  }
  __syncthreads();
  Wanted before{0, 0};
  for (int f = thread; f < first; f += kBlockThreads) {
    const Wanted one = wanted(demands[f], offsets, batch, f);
    before.blocks += one.blocks;
    before.workspace += one.workspace;
  }
  atomicAdd(&shared.begin, before.blocks);
  atomicAdd(&shared.workspace_begin, static_cast<unsigned long long>(before.workspace));
  const int own = first + thread;
  Wanted end{0, 0};
  if (own < features) end = wanted(demands[own], offsets, batch, own);
  const Wanted mine = end;
  shared.ends[thread] = end.blocks;
  shared.workspace_ends[thread] = end.workspace;
  __syncthreads();
  for (int distance = 1; distance < kBlockThreads; distance *= 2) {
    const bool more = thread >= distance;
    const int blocks = more ? shared.ends[thread - distance] : 0;
    const long long workspace = more ? shared.workspace_ends[thread - distance] : 0;
    __syncthreads();
    end.blocks += blocks;
    end.workspace += workspace;
    shared.ends[thread] = end.blocks;
    shared.workspace_ends[thread] = end.workspace;
    __syncthreads();
  }
  if (own < features) {
    const long long workspace = static_cast<long long>(shared.workspace_begin) + end.workspace;
    shares[own] = {workspace - mine.workspace, mine.blocks, 0};
    if (own == features - 1) {
      const int count = shared.begin + end.blocks;
      state->count = count;
      state->per_queue = ceil_div(max(count - blocks, 0), queues);
    }
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
